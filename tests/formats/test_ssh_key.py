"""Tests of derived SSH keys, with OpenSSH."""

from __future__ import annotations

import subprocess
from pathlib import Path

from formats.ssh_key import derived


def test_openssh_reads_a_derived_key(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(derived("secret").private, encoding="utf-8")
    file.chmod(0o600)
    done = subprocess.run(["ssh-keygen", "-y", "-f", file], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == derived("secret").public


def test_a_secret_gives_one_key() -> None:
    assert derived("secret") == derived("secret")
    assert derived("another").public != derived("secret").public
