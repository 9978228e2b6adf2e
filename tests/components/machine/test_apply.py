"""`apply` of a machine's tree, run by `sh` below a temporary root, with fake programs that only take notes."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from components.machine import File, MemberQuorum, Parts, Question, Step, Unit, directory
from components.templates import fill

ETCD = MemberQuorum(
    "etcd", may_stop='[ -f "$ROOT/spare" ] || { echo "2 of 3 needed"; exit 1; }', is_back='[ -f "$ROOT/back" ]'
)
SERVICE = Unit("etcd.service", disrupts=ETCD)
FILE = File("/etc/etcd/etcd.env", "NAME=a\n", restarts=SERVICE)
UNIT = File("/etc/systemd/system/etcd.service", "[Unit]\n", restarts=SERVICE)
MAKE = Step("make", "Makes a file.", check='[ -f "$ROOT/made" ]', apply=': >"$ROOT/made"\necho make >>"$ROOT/log"')


@dataclass
class Machine:
    """A root, the machine's tree, and fake programs."""

    directory: Path
    active: list[str] = field(default_factory=lambda: ["etcd.service"])

    def __post_init__(self) -> None:
        programs = self.directory / "bin"
        programs.mkdir()
        self.root.mkdir()
        systemctl = programs / "systemctl"
        systemctl.write_text(
            "#!/bin/sh\n"
            'if [ "$1" = is-active ]; then shift 2; case " $ACTIVE " in *" $1 "*) exit 0 ;; *) exit 3 ;; esac; fi\n'
            'echo "systemctl $*" >>"$ROOT/log"\n'
        )
        systemctl.chmod(0o755)
        for mark in ("spare", "back"):
            (self.root / mark).touch()

    @property
    def root(self) -> Path:
        return self.directory / "root"

    @property
    def tree(self) -> Path:
        return self.directory / "machines" / "ctl1"

    def render(self, parts: Parts, secrets: Mapping[str, str] | None = None) -> None:
        """Writes the tree as the render target does."""
        shutil.rmtree(self.tree, ignore_errors=True)
        for path, text in fill(directory.entries(parts, {}), {}).items():
            file = self.tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755 if text.startswith("#!") else 0o644)
        for path, text in (secrets or {}).items():
            file = self.directory / "secrets/machines/ctl1" / path[1:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def apply(self, *words: str, code: int = 0, stdin: str = "") -> list[str]:
        """Runs `apply`, which must end with the exit code `code`. Returns its output."""
        environment = {"PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}", "ACTIVE": " ".join(self.active)}
        done = subprocess.run(
            ["sh", self.tree / "apply", "--root", self.root, "--wait", "1", *words],
            env=environment, check=False, capture_output=True, text=True, input=stdin,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return [line.removeprefix("ctl1: ") for line in (done.stdout + done.stderr).splitlines()]

    def log(self) -> list[str]:
        """What was done with the machine's programs since the last time."""
        file = self.root / "log"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines

    def file(self, path: str) -> Path:
        return self.root / path.removeprefix("/")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_first_run_does_everything_and_the_second_nothing(machine: Machine) -> None:
    machine.active = []
    machine.render(Parts((FILE, UNIT), (MAKE,)))
    assert machine.apply() == [
        "install /etc/etcd/etcd.env", "install /etc/systemd/system/etcd.service", "apply step 01-make",
        "3 changes made",
    ]  # fmt: skip
    assert machine.file(FILE.path).read_text() == "NAME=a\n"
    assert machine.log() == ["systemctl daemon-reload", "make"]
    before = machine.file(FILE.path).stat()
    assert machine.apply() == ["nothing to change"]
    assert machine.log() == []
    assert machine.file(FILE.path).stat().st_ino == before.st_ino


def test_a_dry_run_says_the_same_and_changes_nothing(machine: Machine) -> None:
    machine.render(Parts((FILE,), (MAKE,)))
    said = machine.apply("--dry-run")
    assert said == ["would install /etc/etcd/etcd.env", "would apply step 01-make", "2 changes to make"]
    assert sorted(path.name for path in machine.root.iterdir()) == ["back", "spare"]


def test_a_question_is_asked_before_the_first_file_changes(machine: Machine) -> None:
    asks = """\
grep -qx NAME=a "$HERE/root/etc/etcd/etcd.env" && [ "$(cat "$SECRETS/etc/key")" = new ] || echo "other files"
[ -f "$ROOT/spare" ] || { echo "node7 would be cut off" && exit 1; }"""
    parts = Parts((FILE, File("/etc/key", "", mode=0o600, secret=True)), (MAKE,), (Question("nodes", "Asks.", asks),))
    machine.render(parts, {"/etc/key": "new"})
    (machine.root / "spare").unlink()
    assert machine.apply(code=1) == ["stopped before any file is changed: node7 would be cut off"]
    assert not machine.file(FILE.path).exists()
    assert not machine.file("/made").exists()
    assert "would install /etc/key" in machine.apply("--dry-run"), "nothing is asked"
    (machine.root / "spare").touch()
    assert "install /etc/key" in machine.apply()
    assert machine.file("/etc/key").read_text() == "new"


@pytest.mark.parametrize("drift", ["content", "mode", "removed", "a link"])
def test_drift_is_repaired_and_restarts_what_reads_the_file(machine: Machine, drift: str) -> None:
    machine.render(Parts((FILE,)))
    machine.apply()
    machine.log()
    file = machine.file(FILE.path)
    {
        "content": lambda: file.write_text("NAME=b\n"),
        "mode": lambda: file.chmod(0o600),
        "removed": file.unlink,
        "a link": lambda: (file.rename(file.with_name("other")), file.symlink_to("other")),
    }[drift]()
    assert machine.apply() == ["install /etc/etcd/etcd.env", "restart etcd.service", "2 changes made"]
    assert (file.read_text(), file.stat().st_mode & 0o777, file.is_symlink()) == ("NAME=a\n", 0o644, False)
    assert machine.log() == ["systemctl restart etcd.service"]


def test_a_quorum_that_cannot_spare_the_member_stops_the_run(machine: Machine) -> None:
    machine.render(Parts((FILE,), (MAKE,)))
    (machine.root / "spare").unlink()
    said = machine.apply(code=3)
    assert said[-1] == "stopped before: restart etcd.service. 2 of 3 needed"
    assert machine.log() == []
    (machine.root / "spare").touch()
    assert machine.apply() == ["restart etcd.service", "apply step 01-make", "2 changes made"]
    assert machine.log() == ["systemctl restart etcd.service", "make"]


def test_a_step_that_disrupts_asks_its_quorum(machine: Machine) -> None:
    step = Step("upgrade", "Stops the member.", MAKE.check, MAKE.apply, disrupts=ETCD)
    machine.render(Parts((), (step,)))
    (machine.root / "spare").unlink()
    assert machine.apply(code=3) == ["stopped before: step 01-upgrade. 2 of 3 needed"]
    assert machine.log() == []
    (machine.root / "spare").touch()
    machine.apply()
    assert machine.log() == ["make"]


def test_a_member_that_does_not_come_back_is_an_error_and_is_awaited_again(machine: Machine) -> None:
    machine.render(Parts((FILE,)))
    (machine.root / "back").unlink()
    assert machine.apply(code=1)[-1] == "this machine's member of etcd is not healthy after 1 s"
    (machine.root / "back").touch()
    assert machine.apply() == ["restart etcd.service", "1 changes made"]


def test_an_interrupted_run_is_continued(machine: Machine) -> None:
    """Killed between the file and the restart: the next run finds nothing to copy, and restarts all the same."""
    machine.render(Parts((FILE,), (MAKE,)))
    kill = machine.directory / "bin" / "systemctl"
    whole = kill.read_text()
    kill.write_text(whole + 'kill -9 "$PPID"\n')
    machine.apply(code=-9)
    machine.log()
    kill.write_text(whole)
    assert machine.apply() == ["restart etcd.service", "apply step 01-make", "2 changes made"]


def test_files_that_left_the_tree_are_removed_and_others_stay(machine: Machine) -> None:
    machine.render(Parts((FILE, UNIT)))
    machine.apply()
    stranger = machine.file("/etc/etcd/mine")
    stranger.touch()
    machine.render(Parts((FILE,)))
    machine.log()
    assert machine.apply() == ["remove /etc/systemd/system/etcd.service", "1 changes made"]
    assert machine.log() == ["systemctl daemon-reload"]
    assert not machine.file(UNIT.path).exists()
    assert stranger.exists()
    assert machine.apply() == ["nothing to change"]


def test_a_step_whose_check_still_fails_is_an_error(machine: Machine) -> None:
    machine.render(Parts((), (Step("idle", "Does nothing.", "false", "true"),)))
    assert machine.apply(code=1)[-1] == "step 01-idle was applied, and its check still fails"


def test_steps_run_after_those_that_they_name(machine: Machine) -> None:
    def step(name: str, *after: str) -> Step:
        return Step(name, "Notes its name.", f'[ -f "$ROOT/{name}" ]', f': >"$ROOT/{name}"', after)

    machine.render(Parts((), (step("c", "b"), step("a"), step("b", "a"))))
    assert machine.apply() == ["apply step 01-a", "apply step 02-b", "apply step 03-c", "3 changes made"]


def test_secret_files_come_from_their_own_directory_and_stay_closed(machine: Machine) -> None:
    key = File("/etc/etcd/pki/server.key", "", mode=0o600, secret=True)
    machine.render(Parts((key,)))
    assert "is missing in" in machine.apply(code=1)[-1]
    machine.render(Parts((key,)), {key.path: "abc"})
    assert machine.apply() == ["install /etc/etcd/pki/server.key", "1 changes made"]
    assert machine.file(key.path).read_text() == "abc"
    assert machine.file(key.path).stat().st_mode & 0o777 == 0o600
    assert machine.file("/etc/etcd/pki").stat().st_mode & 0o777 == 0o755
    assert not any("abc" in path.read_text() for path in machine.tree.rglob("*") if path.is_file())


def archive(files: Mapping[str, str]) -> str:
    """A tar archive of files in base64."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return base64.encodebytes(packed.getvalue()).decode()


def test_secret_files_come_on_standard_input_and_leave_nothing(machine: Machine) -> None:
    key = File("/etc/etcd/pki/server.key", "", mode=0o600, secret=True)
    machine.render(Parts((key,)))
    machine.file("/run").mkdir()
    stdin = archive({"etc/etcd/pki/server.key": "abc"})
    assert machine.apply("--secrets", "-", stdin=stdin) == ["install /etc/etcd/pki/server.key", "1 changes made"]
    assert machine.file(key.path).read_text() == "abc"
    assert list(machine.file("/run").iterdir()) == []
    assert machine.apply("--secrets", "-", stdin=stdin) == ["nothing to change"]
    assert "is missing in" in machine.apply("--secrets", "-", stdin=archive({}), code=1)[-1]
    assert machine.apply("--secrets", "-", stdin="nothing like it!", code=1)[-1].endswith(
        "standard input is not an archive of secret files"
    )
    assert list(machine.file("/run").iterdir()) == []


def test_a_run_stops_before_a_step(machine: Machine) -> None:
    """So that machines that wait for each other can all be started first."""
    wait = Step("wait", "Waits.", check='[ -f "$ROOT/others" ]', apply="exit 1", after=("make",), awaits_others=True)
    last = Step("last", "Makes another file.", check='[ -f "$ROOT/last" ]', apply=': >"$ROOT/last"', after=("wait",))
    parts = Parts((FILE,), (MAKE, wait, last))
    assert parts.meeting == "wait"
    machine.active = []
    machine.render(parts)
    assert machine.apply("--before", "wait") == ["install /etc/etcd/etcd.env", "apply step 01-make", "2 changes made"]
    assert machine.apply("--before", "wait") == ["nothing to change"]
    machine.file("/others").touch()
    assert machine.apply() == ["apply step 03-last", "1 changes made"]


def test_an_incomplete_directory_is_refused(machine: Machine) -> None:
    """A file that is missing, another version of one, and the checksums of another version."""
    machine.active = []
    machine.render(Parts((FILE, UNIT)))
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(machine.tree)}\n"
        for path in sorted(machine.tree.rglob("*"))
        if path.is_file()
    ]
    checksums = machine.tree / "checksums"
    checksums.write_text("".join(lines))
    expected = hashlib.sha256(checksums.read_bytes()).hexdigest()
    changed = machine.tree / "root/etc/etcd/etcd.env"
    changed.write_text("NAME=b\n")
    assert machine.apply("--expect", expected, code=1)[-1].endswith("incomplete or another version; copy it again")
    assert not machine.file(FILE.path).exists()
    changed.write_text(str(FILE.content))
    assert machine.apply("--expect", "0" * 64, code=1)[-1].endswith("incomplete or another version; copy it again")
    assert machine.apply("--expect", expected)[-1] == "2 changes made"
    (machine.tree / "root/etc/systemd/system/etcd.service").unlink()
    machine.apply("--expect", expected, code=1)


def test_scripts_need_no_mode(machine: Machine) -> None:
    """SFTP does not keep it."""
    machine.render(Parts((FILE,), (Step("stop", "Stops.", check=MAKE.check, apply=MAKE.apply, disrupts=ETCD),)))
    for path in machine.tree.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
    assert machine.apply()[1:] == ["restart etcd.service", "apply step 01-stop", "3 changes made"]


def test_two_runs_at_once_are_refused(machine: Machine) -> None:
    machine.render(Parts((FILE,)))
    machine.apply()
    with subprocess.Popen(["flock", machine.file("/var/lib/quorate-apply/lock"), "sleep", "60"]) as other:
        while (
            subprocess.run(["flock", "-n", machine.file("/var/lib/quorate-apply/lock"), "true"], check=False).returncode
            == 0
        ):
            pass
        assert machine.apply(code=4) == ["another run is in progress"]
        other.kill()


@pytest.mark.parametrize("words", [["--fast"], ["--secrets"]])
def test_wrong_usage(machine: Machine, words: list[str]) -> None:
    machine.render(Parts())
    machine.apply(*words, code=2)


@pytest.mark.parametrize(
    ("path", "mode", "secret"), [("etc/a", 0o644, False), ("/etc/../a", 0o644, False), ("/a b", 0o644, False),
                                 ("/etc/key", 0o644, True)]
)  # fmt: skip
def test_files_that_no_machine_can_have_are_errors(path: str, mode: int, *, secret: bool) -> None:
    with pytest.raises(ValueError, match=path.replace(".", r"\.")):
        File(path, "", mode=mode, secret=secret)
