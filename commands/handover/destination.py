"""The machine to which a clone is handed over, by the programs ssh and rsync.

ssh reads the user's configuration, so that HOST may be an alias of it with port, key and jump host. It asks nothing: an
unknown host key, or a key with a passphrase that no agent has, is an error.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from console.errors import UserError
from files import handover_record
from files.handover_record import HandoverRecord

SSH = (
    "ssh",
    "-T",
    *("-o", "BatchMode=yes"),
    *("-o", "ConnectTimeout=30"),
    *("-o", "ServerAliveInterval=5"),
    *("-o", "ServerAliveCountMax=12"),
    *("-o", "LogLevel=ERROR"),
)
FAILED = 255
"""Exit code of ssh if it did not run the command (ssh(1))."""
VANISHED = 24
"""Exit code of rsync if files have vanished while it ran (rsync(1)): the source is in use."""
LIMIT = 600.0
"""Seconds after which a short command there counts as hanging. Project figure."""
OWN = (
    "/.venv*",
    "__pycache__/",
    "/.pytest_cache/",
    "/.ruff_cache/",
    "/.import_linter_cache/",
    "/.hypothesis/",
    "/sdks/",
    "/build/.scratch-*",
    "/build/.state/handover.*",
    "/build/.state/.pulumi/locks/",
    "/build/*/.engine.json",
)
"""What each machine has of its own, as patterns of rsync: environments, which contain their path, caches, locks."""
LOOK = Path(__file__).with_name("look.sh")
_ADDRESS = re.compile(r"(?P<host>(?:\w[\w.-]*@)?\w[\w.-]*)(?::(?P<path>/[^\0\n]*))?")


@dataclass(frozen=True)
class Look:
    """What the destination has."""

    programs: frozenset[str]
    """Of rsync, make, git and python."""
    writable: bool
    free: int
    used: int
    """Bytes of the directory's file system that are free, and of what the directory has already."""
    boot: str
    inode: str
    """The boot id of the machine, and device and inode of the directory; "" if it does not exist."""
    record: HandoverRecord | None
    other: str
    """The name of a file in the directory, if it has any and no record of a handover; "" if not."""
    passphrase: str
    """Whether the file with the passphrase there is the `same` or an `other` one; if there is none, "", or `denied` if
    the login cannot write one."""


@dataclass(frozen=True)
class CopiedFiles:
    """What a pass has copied: files, and their bytes."""

    files: int
    size: int


@dataclass(frozen=True)
class Destination:
    """A directory on a machine that ssh reaches."""

    host: str
    path: Path

    def __str__(self) -> str:
        return f"{self.host}:{self.path}"

    def look(self, passphrase: Path | None, digest: str) -> Look:
        """Returns what is there. `digest`: of the file with the passphrase. Raises UserError if it does not answer."""
        script = f"DIGEST={digest}\n{LOOK.read_text(encoding='utf-8')}"
        words = ["sh", "-s", "--", str(self.path), str(passphrase or "")]
        lines = self.ask(words, script, seconds=LIMIT).splitlines()
        if not lines or lines[-1] != "end":
            raise UserError(f"{self.host} answered no complete list of what it has.")
        facts = {name: value for name, _, value in (line.partition(" ") for line in lines) if name != "has"}
        record = _record(facts.get("record", ""))
        damaged = "a damaged record of a handover" if "record" in facts and not record else ""
        return Look(
            frozenset(line.removeprefix("has ") for line in lines if line.startswith("has ")),
            "writable" in facts,
            _bytes(facts.get("free", "")),
            _bytes(facts.get("used", "")),
            facts.get("boot", ""),
            facts.get("inode", ""),
            record,
            facts.get("other", damaged),
            facts.get("passphrase", ""),
        )

    def ask(self, words: Sequence[str], text: str = "", *, seconds: float | None = None) -> str:
        """Runs a command there with `text` as its standard input, and returns its output.

        Raises UserError if it fails, or does not end in time.
        """
        try:
            done = subprocess.run(
                [*SSH, "--", self.host, shlex.join(words)],
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UserError(f"{self.host} did not answer within {seconds:.0f} s.") from None
        if done.returncode == FAILED:
            raise UserError(f"ssh does not reach {self.host}: {_last(done.stderr)}\nTry `ssh {self.host} true`.")
        if done.returncode:
            raise UserError(f"A command on {self.host} exited with {done.returncode}: {_last(done.stderr)}")
        return done.stdout

    def set_up(self) -> None:
        """Runs `make setup` there; its output is shown."""
        command = f"cd {shlex.quote(str(self.path))} && make setup"
        done = subprocess.run([*SSH, "--", self.host, command], stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise UserError(f"`make setup` on {self.host} exited with {done.returncode} (see above).")

    def write_private(self, path: Path, text: str) -> None:
        """Writes a file that only its owner may read, and its directory if it is missing."""
        script = 'umask 077 && mkdir -p "$(dirname "$1")" && cat >"$1.new" && mv "$1.new" "$1"'
        self.ask(["sh", "-c", script, "sh", str(path)], text, seconds=LIMIT)

    def write_record(self, record: HandoverRecord) -> None:
        """Writes the record of the clone there."""
        self.write_private(self.path / handover_record.FILE, record.to_json())

    def copy(self, root: Path, *, in_use: bool) -> CopiedFiles:
        """Copies what differs, and deletes what the clone does not have. `in_use`: files may vanish meanwhile.

        Raises UserError if rsync fails.
        """
        done = self._rsync(root, "--delete", "--partial", "--stats", "--no-human-readable")
        if done.returncode and not (in_use and done.returncode == VANISHED):
            raise UserError(f"rsync to {self} exited with {done.returncode}: {_last(done.stderr)}")
        return CopiedFiles(
            _number(done.stdout, "Number of regular files transferred"),
            _number(done.stdout, "Total transferred file size"),
        )

    def differences(self, root: Path) -> list[str]:
        """Returns what differs there: rsync reads all files on both sides, and compares their hashes, modes and times.

        Each line is one of rsync's, with the kind of the difference and the path.
        """
        done = self._rsync(root, "--delete", "--checksum", "--dry-run", "--itemize-changes")
        if done.returncode:
            raise UserError(f"rsync to {self} exited with {done.returncode}: {_last(done.stderr)}")
        return [line for line in done.stdout.splitlines() if line.strip()]

    def _rsync(self, root: Path, *options: str) -> subprocess.CompletedProcess[str]:
        return _run_rsync(root, f"{self}/", "-e", shlex.join(SSH), *options)


def parsed(text: str, root: Path) -> Destination:
    """Returns the destination that HOST or HOST:DIRECTORY names. Raises UserError if it names none.

    Without a directory, it is that of the clone here.
    """
    found = _ADDRESS.fullmatch(text)
    if not found:
        raise UserError(
            f"{text!r} is no HOST, USER@HOST or HOST:/DIRECTORY; for other forms, add a Host to ~/.ssh/config."
        )
    return Destination(found["host"], Path(found["path"] or root))


def size(root: Path, nowhere: Path) -> CopiedFiles:
    """Returns how much a clone has that is copied. `nowhere`: an empty directory."""
    done = _run_rsync(root, f"{nowhere}/", "--dry-run", "--stats", "--no-human-readable")
    if done.returncode not in (0, VANISHED):
        raise UserError(f"rsync exited with {done.returncode}: {_last(done.stderr)}")
    return CopiedFiles(
        _number(done.stdout, "Number of regular files transferred"),
        _number(done.stdout, "Total transferred file size"),
    )


def _run_rsync(root: Path, target: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs rsync. Owners and groups are those of the login: another machine has other users."""
    always = ("--archive", "--no-owner", "--no-group", "--no-devices", "--no-specials", "--omit-dir-times")
    excluded = [f"--exclude={pattern}" for pattern in OWN]
    return subprocess.run(
        ["rsync", *always, "--protect-args", *options, *excluded, f"{root}/", target],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _record(text: str) -> HandoverRecord | None:
    try:
        return handover_record.parse(text) if text else None
    except ValueError:
        return None


def _bytes(kibibytes: str) -> int:
    return int(kibibytes) * 1024 if kibibytes.isdigit() else 0


def _number(text: str, label: str) -> int:
    """Returns a number of rsync's statistics, some of which have thousands separators; 0 if it is not there."""
    found = re.search(rf"^{label}: ([\d,.]+)", text, re.MULTILINE)
    return int(re.sub(r"\D", "", found[1])) if found else 0


def _last(messages: str) -> str:
    return next((line for line in reversed(messages.splitlines()) if line.strip()), "no message")
