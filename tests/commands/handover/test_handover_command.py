"""`quorate handover` by the real ssh, sshd and rsync, with an engine that only opens states.

tests/engine/test_handover.py has the real engine.
"""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from commands import command_line
from commands.engine.passphrase import FILE, VALUE
from commands.handover import destination
from commands.handover.destination import Destination
from commands.handover.handover_command import HandoverRequest
from console.errors import UserError
from files import handover_record
from files.handover_record import COPYING, GIVEN, IN_CHARGE, INCOMING, LOCKED, HandoverRecord
from tests.clone_pair import ClonePair, content, hand_over, phase
from tests.engine.clones import Clone
from tests.fakes import script
from tests.local_sshd import HOST, LocalSshd, local_sshd
from tests.stacks import ROOT, SOURCES, STACKS
from toolchain.engine import MANIFEST, Engine
from toolchain.install import STATE

STACK = "lab"
PASSPHRASE = "a" * 64
PULUMI = f"""\
case "$*" in *"stack export --show-secrets"*) ;; *) echo "unexpected: $*" >&2; exit 9 ;; esac
given=${{PULUMI_CONFIG_PASSPHRASE-$(cat "$PULUMI_CONFIG_PASSPHRASE_FILE")}}
[ "$given" = {PASSPHRASE} ] || {{ echo "error: incorrect passphrase" >&2; exit 1; }}
stack=${{*##*--stack }}
state=$(echo "${{PULUMI_BACKEND_URL#file://}}/.pulumi/stacks/quorate/$stack.json" | sed 's/%20/ /g')
[ -s "$state" ] || {{ echo "error: no stack named '$stack'" >&2; exit 1; }}
echo '{{"deployment": {{"resources": [{{}}, {{}}]}}}}'
"""
PYTHONS = ("python3", *(f"python3.{minor}" for minor in range(11, 15)))
DRY = 'case "$*" in *--checksum*) {then} ;; esac\nexec /usr/bin/rsync "$@"'
"""An rsync with another comparison."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[LocalSshd]:
    with local_sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def pair(tmp_path: Path, server: LocalSshd) -> Generator[ClonePair]:
    root = tmp_path / "clone"
    root.mkdir()
    for name in SOURCES:
        (root / name).symlink_to(ROOT / name)
    shutil.copy(STACKS["one-server"], root / f"Pulumi.{STACK}.yaml")
    (root / ".venv" / "bin").mkdir(parents=True)
    for name in ("lib", "pyvenv.cfg", "bin/python"):
        (root / ".venv" / name).symlink_to(ROOT / ".venv" / name)
    script(tmp_path / "engine", "pulumi", PULUMI)
    Engine("path", "3", str(tmp_path / "engine"), None).save(root / ".venv" / MANIFEST)
    state = root / STATE / ".pulumi/stacks/quorate" / f"{STACK}.json"
    state.parent.mkdir(parents=True)
    state.write_text('{"version": 3}')
    kept = root / "build" / STACK / ".passphrase"
    kept.parent.mkdir()
    kept.write_text(PASSPHRASE + "\n")
    kept.chmod(0o600)
    found = ClonePair(Clone(root, STACK), Clone(tmp_path / "over there" / "clone", STACK), server)
    found.make_setup()
    yield found
    for left in (server.here / "rsync", *(server.there / name for name in ("df", *PYTHONS))):
        left.unlink(missing_ok=True)


def refused(clone: Clone) -> str:
    """Returns why a clone changes no stack."""
    with pytest.raises(UserError) as why:
        handover_record.require_in_charge(clone.root)
    return str(why.value)


@pytest.mark.parametrize(
    "words",
    [
        ["up"],
        ["refresh"],
        ["destroy"],
        ["action"],
        ["maintenance", "virt1"],
        ["replace", "ctl01"],
        ["restore", "etcd"],
    ],
    ids=lambda words: words[0],
)
def test_what_changes_a_stack_is_refused_in_a_clone_that_was_handed_over(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command_line, "ROOT", tmp_path)
    handover_record.write(tmp_path, HandoverRecord("1", GIVEN, "vm1:/cloud", "ada@desk", "2026-11-29"))
    assert command_line.main(words) == 1
    said = capsys.readouterr().err
    assert "This clone was handed over to vm1:/cloud: ada@desk began it at 2026-11-29. Run the command there." in said
    assert said.endswith("Nothing was changed.\n")


def test_the_command_needs_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["handover"]) == 1
    assert "Name the machine: `quorate handover HOST`" in capsys.readouterr().err


def test_a_plan_changes_nothing(pair: ClonePair) -> None:
    before = content(pair.here.root)
    done = pair.handover(plan=True)
    assert done.code == 0, done.output
    assert f"  - {STACK}: opens here, 2 resources\n" in done.output
    assert "  5. compare all files" in done.output
    assert f"`quorate handover {pair.me}`" in done.output
    assert (content(pair.here.root), pair.phases, pair.there.root.exists()) == (before, ("", ""), False)


def test_a_handover_that_is_killed_twice(pair: ClonePair) -> None:
    before = content(pair.here.root)
    pair.make_kills(first=1, second=3)
    assert pair.killed() == -9
    assert pair.phases == (COPYING, INCOMING)
    assert f"is a copy of {pair.me}, which is in charge" in refused(pair.there)
    assert pair.killed() == -9
    assert pair.phases == (LOCKED, INCOMING)
    assert f"is being handed over to {pair.to}, whose last pass copies it" in refused(pair.here)
    done = pair.handover()
    assert done.code == 0, done.output
    assert f"   {STACK}: 2 resources\n" in done.output
    assert f"{pair.to} is in charge." in done.output
    assert PASSPHRASE not in done.output
    assert pair.phases == (GIVEN, IN_CHARGE)
    assert content(pair.there.root) == content(pair.here.root) == before
    assert f"was handed over to {pair.to}" in refused(pair.here)
    assert (pair.handover().code, pair.phases) == (1, (GIVEN, IN_CHARGE))


def test_the_way_back_is_the_same_command_on_the_other_machine(pair: ClonePair) -> None:
    assert pair.handover().code == 0
    assert len(pair.here.locks()) == 1
    (pair.there.root / "new.txt").write_text("new")
    (pair.there.root / f"Pulumi.{STACK}.yaml").chmod(0o640)
    done = hand_over(pair.there, pair.server, HandoverRequest(pair.back))
    assert done.code == 0, done.output
    assert pair.phases == (IN_CHARGE, GIVEN)
    assert content(pair.here.root) == content(pair.there.root)
    assert pair.here.locks() == []
    assert "was handed over" in refused(pair.there)


def test_it_can_be_aborted_before_the_last_step_only(pair: ClonePair) -> None:
    script(pair.server.here, "rsync", DRY.format(then="exit 12"))
    done = pair.handover()
    assert (done.code, "exited with 12" in done.output) == (1, True)
    assert (pair.phases, len(pair.here.locks())) == ((LOCKED, INCOMING), 1)
    other = pair.handover(f"{HOST}:/elsewhere")
    assert f"A handover to {pair.to} is under way" in other.output
    done = pair.handover(abort=True)
    assert done.code == 0, done.output
    assert (pair.phases, pair.here.locks()) == ((IN_CHARGE, INCOMING), [])
    assert "No handover is under way" in pair.handover(abort=True).output
    (pair.server.here / "rsync").unlink()
    assert pair.handover().code == 0
    done = pair.handover(abort=True)
    assert (done.code, "was handed over to" in done.output) == (1, True)
    assert pair.phases == (GIVEN, IN_CHARGE)


def test_a_kill_between_both_records_leaves_none_in_charge(pair: ClonePair) -> None:
    assert pair.handover().code == 0
    given = handover_record.read(pair.there.root)
    assert given
    handover_record.write(pair.there.root, replace(given, phase=INCOMING))
    refused(pair.here)
    refused(pair.there)
    done = pair.handover()
    assert (done.code, pair.phases) == (0, (GIVEN, IN_CHARGE)), done.output
    handover_record.write(pair.there.root, replace(given, phase=INCOMING))
    assert pair.handover(abort=True).code == 0
    assert pair.phases == (IN_CHARGE, INCOMING)


def test_an_update_that_runs_is_waited_for(pair: ClonePair) -> None:
    lock = pair.here.root / STATE / ".pulumi/locks/organization/quorate" / STACK / "1.json"
    lock.parent.mkdir(parents=True)
    owner = {"pid": 7, "username": "ada", "hostname": "elsewhere", "timestamp": "2026-01-01T00:00:00Z"}
    lock.write_text(json.dumps(owner))
    done = pair.handover()
    assert done.code == 1
    assert f"An update of stack {STACK} runs (process 7 of ada@elsewhere)" in done.output
    assert (pair.phases, pair.here.locks()) == ((COPYING, INCOMING), [lock])
    lock.unlink()
    assert pair.handover().code == 0


def test_what_changes_during_the_last_pass_is_found(pair: ClonePair) -> None:
    file = pair.here.root / "notes.txt"
    file.write_text("old")
    script(pair.server.here, "rsync", DRY.format(then=f'printf new >"{file}"'))
    done = pair.handover()
    assert done.code == 1
    assert "1 files or directories differ" in done.output
    assert "notes.txt\n" in done.output
    assert pair.phases == (LOCKED, INCOMING)


def test_a_file_of_the_same_size_and_time_with_other_content_is_found(pair: ClonePair) -> None:
    """What the passes do not copy: rsync looks at size and time."""
    file = pair.here.root / "notes.txt"
    file.write_text("old")
    twin = pair.there.root / "notes.txt"
    pair.make_setup(f'if [ -e "{twin}" ]; then printf bad >"{twin}"; touch -r "{file}" "{twin}"; fi')
    done = pair.handover()
    assert (done.code, "notes.txt\n" in done.output) == (1, True), done.output


def test_a_state_that_the_other_machine_does_not_open(pair: ClonePair) -> None:
    """Its passphrase is damaged after the comparison."""
    damaged = pair.there.build / ".passphrase"
    pair.make_setup(f'[ ! -e "{pair.there.build}.opening" ] || echo wrong >"{damaged}"')
    script(pair.server.here, "rsync", DRY.format(then=f'mkdir "{pair.there.build}.opening"; exit 0'))
    done = pair.handover()
    assert done.code == 1
    assert "incorrect passphrase" in done.output
    assert f"The states of {STACK} were not opened on {HOST}" in done.output
    assert pair.phases == (LOCKED, INCOMING)


def test_a_file_with_the_passphrase_outside_of_the_clone_goes_along(
    pair: ClonePair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both machines are one here: the file that is looked for there, and written, is another one beside it."""
    outside, there = tmp_path / "keys" / "passphrase", tmp_path / "keys" / "there" / "passphrase"
    outside.parent.mkdir()
    (pair.here.build / ".passphrase").rename(outside)
    look = destination.LOOK.read_text().replace("file=$2", f"file='{there}'")
    monkeypatch.setattr(destination, "LOOK", tmp_path / "look.sh")
    destination.LOOK.write_text(look)
    write = Destination.write_private

    def write_there(to: Destination, path: Path, text: str) -> None:
        write(to, there if path == outside else path, text)

    monkeypatch.setattr(Destination, "write_private", write_there)
    own = replace(pair, here=replace(pair.here, variables={FILE: str(outside)}))
    there.parent.write_text("no directory")
    said = own.handover(plan=True).output
    assert f"{outside}, is copied to the same path" in said
    assert f"{outside} cannot be written on {HOST} by this login" in said
    assert (own.handover().code, own.phases) == (1, ("", ""))
    there.parent.unlink()
    done = own.handover()
    assert done.code == 0, done.output
    assert (there.read_text(), stat.S_IMODE(there.stat().st_mode)) == (PASSPHRASE + "\n", 0o600)
    assert PASSPHRASE not in done.output


def test_a_passphrase_that_is_there_stays_as_it_is(pair: ClonePair, tmp_path: Path) -> None:
    """A login may read it in a directory in which it cannot write."""
    outside = tmp_path / "passphrase"
    (pair.here.build / ".passphrase").rename(outside)
    outside.chmod(0o640)
    own = replace(pair, here=replace(pair.here, variables={FILE: str(outside)}))
    done = own.handover()
    assert done.code == 0, done.output
    assert stat.S_IMODE(outside.stat().st_mode) == 0o640


def test_a_passphrase_in_the_clone_has_another_path_there(pair: ClonePair) -> None:
    own = replace(pair, here=replace(pair.here, variables={FILE: str(pair.here.build / ".passphrase")}))
    said = own.handover(plan=True).output
    assert f"is in the clone: set {FILE}={pair.there.build}/.passphrase on {HOST}." in said
    assert VALUE + " is in no file" not in said


def test_a_passphrase_in_the_environment_goes_nowhere(pair: ClonePair) -> None:
    (pair.here.build / ".passphrase").unlink()
    own = replace(pair, here=replace(pair.here, variables={VALUE: PASSPHRASE}))
    done = own.handover()
    assert done.code == 0, done.output
    assert f"{VALUE} is in no file: set it on {HOST} yourself." in done.output
    assert PASSPHRASE not in done.output
    assert not [name for name, (_, text) in content(pair.there.root).items() if PASSPHRASE.encode() in text]


def test_all_that_is_in_the_way_is_said_at_once(pair: ClonePair) -> None:
    script(pair.server.there, "df", 'printf "head\\nfs 9 9 1024 9 /\\n"')
    for name in PYTHONS:
        script(pair.server.there, name, "exit 1")
    (pair.here.root / ".git").write_text("gitdir: elsewhere\n")
    (pair.here.build / ".passphrase").unlink()
    done = pair.handover()
    assert done.code == 1
    assert [line[4:44] for line in done.output.splitlines() if line.startswith("  - ")] == [
        text[:40]
        for text in (
            "This directory is a worktree of another clone.",
            f"The state of {STACK} cannot be opened here: no passphrase",
            f"{HOST} has no Python 3.11 or newer with venv: install it there",
            f"{pair.to} has 1.0 MiB free",
        )
    ]
    assert "has 1.0 MiB free; 2048." in done.output
    assert done.output.endswith("Nothing was changed.\n")
    assert phase(pair.here) == ""
    assert pair.handover(plan=True).code == 3


def test_a_directory_with_other_content_is_left_alone(pair: ClonePair) -> None:
    (pair.there.root / "own").mkdir(parents=True)
    done = pair.handover()
    assert done.code == 1
    assert f"{pair.to} has other content, such as own: name a directory that is empty" in done.output
    assert [each.name for each in pair.there.root.iterdir()] == ["own"]


def test_programs_that_are_missing_there(pair: ClonePair) -> None:
    for name in ("awk", "cat", "cut", "df", "dirname", "sh"):
        (pair.server.there / "few").mkdir(exist_ok=True)
        (pair.server.there / "few" / name).symlink_to(str(shutil.which(name)))
    pair.server.write_shell(f"{pair.server.there}/few")
    try:
        done = pair.handover()
    finally:
        pair.server.write_shell()
    assert f"{HOST} has no rsync, make, git: install the packages there." in done.output
    assert f"{HOST} has no Python 3.11 or newer" in done.output
    assert pair.phases == ("", "")


def test_another_clone_there_is_not_overwritten(pair: ClonePair, tmp_path: Path) -> None:
    assert pair.handover().code == 0
    before = content(pair.there.root)
    third = replace(pair, here=Clone(tmp_path / "third", STACK))
    shutil.copytree(pair.here.root, third.here.root, symlinks=True)
    (third.here.root / handover_record.FILE).unlink()
    done = third.handover()
    assert done.code == 1
    assert f"{third.to} has the clone of another handover, with {pair.me}" in done.output
    assert content(pair.there.root) == before


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("unknown-host.invalid", "ssh does not reach unknown-host.invalid: "),
        ("a b", "'a b' is no HOST, USER@HOST or HOST:/DIRECTORY"),
        ("vm1:relative", "'vm1:relative' is no HOST"),
        ("", "Name the machine: `quorate handover HOST`"),
    ],
)
def test_a_host_that_is_none(pair: ClonePair, to: str, said: str) -> None:
    done = pair.handover(to)
    assert (done.code, said in done.output) == (1, True), done.output
    assert phase(pair.here) == ""


def test_the_clone_itself_is_no_destination(pair: ClonePair) -> None:
    assert f"  - {pair.back} is this clone itself." in pair.handover(pair.back).output


def test_another_backend_is_refused(pair: ClonePair) -> None:
    done = replace(pair, here=replace(pair.here, variables={"PULUMI_BACKEND_URL": "s3://states"})).handover()
    assert "PULUMI_BACKEND_URL is s3://states: only states in build/.state are handed over." in done.output


def test_a_damaged_record_stops_every_change(pair: ClonePair) -> None:
    (pair.here.root / handover_record.FILE).write_text("{")
    assert f"{handover_record.FILE} is damaged" in refused(pair.here)
    assert pair.handover().code == 1
