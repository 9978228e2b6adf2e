"""A clone that is handed over to another directory of this host, by the real ssh, sshd and rsync.

`make setup` on the other machine links the environment of the clone here.
"""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from commands.handover import handover_command
from commands.handover.handover_command import HandoverRequest
from console.errors import UserError
from files import handover_record
from operations.operation_lease import whoami
from tests.engine.clones import Clone, Ended
from tests.fakes import script
from tests.local_sshd import HOST, LocalSshd

_SETUP = """\
[ "$*" = setup ] || exit 9
if [ ! -e .venv ]; then
mkdir -p .venv/bin
for each in {venv}/* {venv}/bin/*; do
    case $each in
        */.venv/bin|*/bin/quorate) ;;
        */bin/*) ln -s "$each" .venv/bin/ ;;
        *) ln -s "$each" .venv/ ;;
    esac
done
.venv/bin/python -c "
from pathlib import Path
from toolchain import environment
environment.write_launcher(Path.cwd() / '.venv', Path.cwd())"
fi
"""
"""What `make` does on the other machine: links the environment {venv}, and writes the command `quorate`."""
_RSYNC = """\
case " $* " in *" --dry-run "*) exec {rsync} "$@" ;; esac
echo pass >>{notes}
case $(grep -c . {notes}) in
    {first}) {rsync} "$@"; kill -9 $PPID ;;
    {second}) {rsync} --exclude=/build/.state/.pulumi/ "$@"; kill -9 $PPID ;;
    *) exec {rsync} "$@" ;;
esac
"""
"""An rsync that kills its caller: at the end of one pass, and in another one, of which it has done a part."""
_RUN = """\
import sys
from pathlib import Path
sys.path[0] = "."
from commands.handover import handover_command
handover_command.run(Path.cwd(), handover_command.HandoverRequest(sys.argv[1]))
"""
_OWN = {".venv", "__pycache__", "handover.json", "handover.lock", "locks", ".engine.json"}


@dataclass(frozen=True)
class ClonePair:
    """A clone, the place for it on the other machine, and how to get there."""

    here: Clone
    there: Clone
    server: LocalSshd

    @property
    def to(self) -> str:
        return f"{HOST}:{self.there.root}"

    @property
    def back(self) -> str:
        """The clone here, as the other machine reaches it."""
        return f"{HOST}:{self.here.root}"

    @property
    def me(self) -> str:
        """The clone here, by the name that it has for itself."""
        return f"{whoami()}:{self.here.root}"

    @property
    def phases(self) -> tuple[str, str]:
        """What both clones are, of their records."""
        return phase(self.here), phase(self.there)

    def handover(self, to: str | None = None, *, plan: bool = False, abort: bool = False) -> Ended:
        """Hands the clone here over in this process; without `to`, to the other machine."""
        wanted = "" if abort else self.to if to is None else to
        return hand_over(self.here, self.server, HandoverRequest(wanted, plan, abort))

    def killed(self) -> int:
        """Runs `quorate handover` here in a process of its own, and returns how it ended."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
        return subprocess.run(
            [sys.executable, "-c", _RUN, self.to],
            cwd=self.here.root,
            env=kept | {"PATH": self.server.path} | {**self.here.variables},
            stdin=subprocess.DEVNULL,
            check=False,
        ).returncode

    def make_kills(self, first: int, second: int) -> None:
        """Has rsync kill its caller after the pass `first`, and in the pass `second`."""
        notes = self.server.here / "notes"
        notes.write_text("")
        script(
            self.server.here, "rsync", _RSYNC.format(rsync="/usr/bin/rsync", notes=notes, first=first, second=second)
        )

    def make_setup(self, also: str = "") -> None:
        """Writes the `make` of the other machine."""
        write_setup(self.server.there, self.here, also)


def write_setup(directory: Path, clone: Clone, also: str = "") -> None:
    """Writes a `make` that sets another clone up with the environment of this one, and does more."""
    script(directory, "make", f"{_SETUP.format(venv=clone.root / '.venv')}{also}")


def hand_over(clone: Clone, server: LocalSshd, request: HandoverRequest) -> Ended:
    """Hands a clone over in this process, with the variables of the clone and no other ones of Pulumi."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output):
        for name in [each for each in os.environ if each.startswith("PULUMI_")]:
            patch.delenv(name)
        for name, value in {"PATH": server.path, **clone.variables}.items():
            patch.setenv(name, value)
        try:
            code = handover_command.run(clone.root, request)
        except UserError as error:
            return Ended(1, f"{output.getvalue()}{error}\n")
    return Ended(code, output.getvalue())


def phase(clone: Clone) -> str:
    """What a clone is, of its record; "" without one."""
    found = handover_record.read(clone.root)
    return found.phase if found else ""


def content(root: Path) -> dict[str, tuple[str, bytes]]:
    """Mode and content of all files that are handed over."""
    return {
        str(path.relative_to(root)): (stat.filemode(path.lstat().st_mode), path.read_bytes())
        for path in root.rglob("*")
        if path.is_file() and _OWN.isdisjoint(path.relative_to(root).parts)
    }
