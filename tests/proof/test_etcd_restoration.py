"""`quorate restore etcd` with real members of etcd: of a copy, of one member's data, and interrupted anywhere."""

from __future__ import annotations

import subprocess
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from blueprint.plan.nodes import Node
from cluster.pod_exec import CommandOutput
from console.errors import UserError
from operations.restoration import etcd_machines, etcd_restoration, etcd_source
from operations.restoration.etcd_machines import EtcdMachine
from operations.restoration.etcd_restoration import RestorationStep
from operations.root_shell import Shell
from tests.proof.etcd_machines import Master, masters, until
from tests.proof.test_etcd_members import members, started

pytestmark = pytest.mark.waits

COPY = "20261129T120000Z"


@pytest.fixture
def three(tmp_path: Path, etcd_programs: list[Path]) -> Generator[list[Master]]:
    """A cluster of three members, which has a value."""
    with masters(tmp_path, etcd_programs) as made:
        found = started(made, 1, 2, 3)
        found[0].etcdctl("put", "written", "before")
        yield found


def shell_of(made: Sequence[Master], unreached: Sequence[str] = ()) -> Shell:
    """Returns what runs scripts on masters, as SSH does."""
    by_name = {each.name: each for each in made}

    def run(node: Node, script: str, seconds: float) -> CommandOutput:
        if node.name in unreached:
            return CommandOutput("", "no route to host", None)
        done = subprocess.run(
            ["sh", "-c", f"exec 2>&1\n{script}"],
            env=by_name[node.name].environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            timeout=seconds,
            check=False,
        )
        return CommandOutput(done.stdout, "", done.returncode)

    return run


def seen(made: Sequence[Master], shell: Shell) -> tuple[EtcdMachine, ...]:
    return etcd_machines.look([each.node for each in made], shell)


def todo(made: Sequence[Master], shell: Shell, wanted: str = "", dead: Sequence[str] = ()) -> list[RestorationStep]:
    source = etcd_source.chosen(seen(made, shell), wanted, dead)
    return list(etcd_restoration.steps(source, [each.node for each in made if each.name not in dead], ()))


def restore(made: Sequence[Master], shell: Shell, wanted: str = "", dead: Sequence[str] = ()) -> None:
    etcd_restoration.run(todo(made, shell, wanted, dead), shell, print)


def copied(master: Master) -> None:
    """Makes a copy with a record of its content."""
    directory = master.root / "var/lib/etcd-backup"
    directory.mkdir(exist_ok=True)
    master.etcdctl("snapshot", "save", str(directory / f"{COPY}.db"))
    (directory / f"{COPY}.content").write_text("2 1 0\n")


def value(asked: Master) -> str:
    return asked.etcdctl("get", "written", "--print-value-only").strip()


def test_all_members_are_lost_and_a_copy_is_left(three: list[Master]) -> None:
    first, second, third = three
    copied(second)
    first.etcdctl("put", "written", "after the copy")
    for each in three:
        each.lose_disk()
    shell = shell_of(three)
    assert [each.has_data for each in seen(three, shell)] == [False, False, False]
    restore(three, shell)
    assert members(third).keys() == {"master1", "master2", "master3"}
    assert {value(each) for each in three} == {"before"}
    assert [each.begun for each in seen(three, shell)] == ["", "", ""]
    assert all(each.votes and each.has_data for each in seen(three, shell))


def test_one_of_three_has_its_data(three: list[Master]) -> None:
    """It needs no copy, and what it had received is not lost."""
    first, second, third = three
    copied(first)
    second.etcdctl("put", "written", "last")
    until(lambda: value(second) == "last")
    for each in (first, third):
        each.lose_disk()
    shell = shell_of(three)
    (alone,) = [each for each in seen(three, shell) if each.has_data]
    assert (alone.name, alone.votes) == ("master2", False)
    assert alone.revision is not None
    restore(three, shell)
    assert members(third).keys() == {"master1", "master2", "master3"}
    assert {value(each) for each in three} == {"last"}
    assert not (second.root / "etc/etcd/start.env").exists(), "the next start would remove the others"


@pytest.mark.heavy
def test_a_dead_machine_is_left_out(three: list[Master]) -> None:
    first, second, third = three
    third.kill()
    second.lose_disk()
    shell = shell_of(three, unreached=["master3"])
    with pytest.raises(UserError, match="master3 was not asked: no route to host"):
        todo(three, shell)
    restore(three, shell, dead=["master3"])
    assert members(first).keys() == {"master1", "master2"}
    assert value(second) == "before"


def test_a_cluster_whose_majority_has_its_data_is_kept(three: list[Master]) -> None:
    first, second, third = three
    copied(first)
    third.lose_disk()
    with pytest.raises(UserError, match=r"etcd has a majority \(master1, master2 answer\): nothing is lost"):
        todo(three, shell_of(three))
    for each in (first, second):
        each.kill()
    with pytest.raises(UserError, match="master1, master2 have the data of their members"):
        todo(three, shell_of(three))


@pytest.mark.heavy
def test_a_running_cluster_goes_back_to_a_copy_that_is_named(three: list[Master]) -> None:
    first, second, third = three
    copied(second)
    first.etcdctl("put", "written", "by mistake")
    restore(three, shell_of(three), f"master2:{COPY}")
    assert members(third).keys() == {"master1", "master2", "master3"}
    assert {value(each) for each in three} == {"before"}
    for each in three:
        assert list((each.root / "var/lib/etcd").glob("aside-*")), "the data that was there is kept"


@pytest.mark.heavy
@pytest.mark.parametrize("steps", [3, 4, 5], ids=["stopped", "one member", "two members"])
def test_an_interrupted_run_goes_on(three: list[Master], steps: int) -> None:
    """What was written to the new cluster meanwhile is kept, and members that have joined are not stopped again."""
    first, second, third = three
    copied(first)
    for each in three:
        each.lose_disk()
    shell = shell_of(three)
    etcd_restoration.run(todo(three, shell)[:steps], shell, print)
    if steps > 3:
        first.etcdctl("put", "written", "meanwhile")
    before = first.pid()
    restore(three, shell)
    assert members(third).keys() == {"master1", "master2", "master3"}
    assert value(second) == ("meanwhile" if steps > 3 else "before")
    assert steps == 3 or first.pid() == before


@pytest.mark.heavy
def test_a_restoration_that_broke_off_while_it_copied_starts_again(three: list[Master]) -> None:
    first, second, _ = three
    copied(first)
    for each in three:
        each.lose_disk()
    shell = shell_of(three)
    etcd_restoration.run(todo(three, shell)[:3], shell, print)
    data = first.root / "var/lib/etcd"
    (data / "restoration").write_text(f"begun {COPY}\n")
    (data / "restored/member").mkdir(parents=True)
    (data / "member").mkdir()
    with pytest.raises(UserError, match=f"a restoration from master1:{COPY} has begun: go on with that"):
        todo(three, shell, "master2")
    restore(three, shell)
    assert value(second) == "before"
