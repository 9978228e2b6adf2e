"""Members of a real etcd come, go, die and are replaced, by the script that masters run (components/k8s_master)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from operations.replacement import etcd_member
from tests.proof.etcd_machines import Master, Masters, address, interrupt, masters, until

pytestmark = pytest.mark.waits


@pytest.fixture
def made(tmp_path: Path, etcd_programs: list[Path]) -> Generator[Masters]:
    with masters(tmp_path, etcd_programs) as found:
        yield found


def members(asked: Master) -> dict[str, str]:
    """Names of the voting members, with their IDs."""
    fields = [line.split(", ") for line in asked.etcdctl("member", "list").splitlines()]
    return {name: identifier for identifier, _, name, _, _, learner in fields if learner == "false"}


def started(made: Masters, *numbers: int) -> list[Master]:
    """A new cluster of masters, which are started without an order."""
    found = made.render(*numbers)
    for each in found:
        each.run("start")
    for each in found:
        each.run("join")
        each.run("votes")
    return found


def joined(master: Master) -> str:
    """Runs the steps of a master that joins a running cluster."""
    master.run("is-started")
    return master.run("join")


def test_from_three_to_five_to_three(made: Masters) -> None:
    three = started(made, 1, 2, 3)
    before = [each.pid() for each in three]
    three[0].etcdctl("put", "written", "before")
    for numbers in ((1, 2, 3, 4), (1, 2, 3, 4, 5)):
        *_, new = made.render(*numbers)
        said = joined(new)
        assert "copied etcd's data to" in said, "a snapshot is first"
        assert not (new.root / "etc/etcd/start.env").exists()
        assert len(members(three[0])) == len(numbers)
    assert [each.pid() for each in three] == before, "no other member restarts"
    *_, four, five = made.render(1, 2, 3, 4, 5)
    made.render(1, 2, 3)
    three[0].run("is-tidy")
    for leaving in (five, four):
        leaving.run("may-leave")
        assert "copied etcd's data to" in leaving.run("leave")
        leaving.run("leave")
        assert not (leaving.root / "var/lib/etcd/member").exists()
    assert set(members(three[0])) == {"master1", "master2", "master3"}
    assert three[1].etcdctl("get", "written").split() == ["written", "before"]


def test_a_member_that_lost_its_disk_is_replaced(made: Masters) -> None:
    """The first master of the stack, whose name and address stay."""
    first, second, _ = started(made, 1, 2, 3)
    second.etcdctl("put", "written", "before")
    old = members(second)["master1"]
    first.lose_disk()
    assert "is replaced" in joined(first)
    assert members(second).keys() == {"master1", "master2", "master3"}
    assert members(second)["master1"] != old
    assert first.etcdctl("get", "written").split() == ["written", "before"]


@pytest.mark.heavy
@pytest.mark.parametrize("moment", ["after member add", "while it starts"])
def test_an_interrupted_join_goes_on(made: Masters, moment: str) -> None:
    first, *_ = started(made, 1, 2, 3)
    *_, new = made.render(1, 2, 3, 4)
    running = new.begin("join")
    until(lambda: address(4) in first.etcdctl("member", "list"))
    if moment == "while it starts":
        until((new.root / "started").exists)
    interrupt(running)
    joined(new)
    assert len(members(first)) == 4


@pytest.mark.heavy
def test_a_dead_member_that_left_the_stack_is_removed(made: Masters) -> None:
    *_, last = started(made, 1, 2, 3, 4)
    last.kill()
    first, *_ = made.render(1, 2, 3)
    first.run("is-tidy", code=1)
    (first.root / "etc/kubernetes").mkdir(parents=True)
    (first.root / "etc/kubernetes/admin.conf").touch()
    assert "removed member master4" in first.run("tidy")
    assert "delete node master4" in (first.root / "log").read_text()
    assert members(first).keys() == {"master1", "master2", "master3"}
    first.run("is-tidy")
    # The machine comes back with its data, and is a master again.
    *_, last = made.render(1, 2, 3, 4)
    last.systemctl("start")
    assert "kept the data of the removed member" in last.run("join")
    assert len(members(first)) == 4


def test_a_majority_is_kept(made: Masters) -> None:
    first, second, third = started(made, 1, 2, 3)
    for each in (first, second, third):
        each.run("may-stop")
    third.kill()
    first.run("may-stop", code=1, text="etcd needs 2 of 3 members; without this one 1 are healthy (not: master3")
    first.run("may-leave", code=3, text="etcd would have no majority without this machine's member: 1 of 2 others")
    *_, new = made.render(1, 2, 3, 4)
    new.run(
        "join",
        code=1,
        text=f"2 of them are healthy (not: master3 at https://{address(3)}:2380). With one more, 3 must be",
    )
    assert members(first).keys() == {"master1", "master2", "master3"}


def test_an_empty_master_starts_no_second_cluster(made: Masters) -> None:
    """One of three has the data and no majority; two others with empty disks would be a majority."""
    first, second, third = started(made, 1, 2, 3)
    first.etcdctl("put", "written", "before")
    second.lose_disk()
    third.lose_disk()
    for empty in (second, third):
        empty.run("start", code=1, text=f"{address(1)} has the data of a cluster whose majority does not answer")
    first.run("may-stop", code=1, text="etcd has no majority")
    first.run("leave", code=3, text="etcd has no majority")


@pytest.mark.heavy
def test_all_members_leave(made: Masters) -> None:
    first, second, third = started(made, 1, 2, 3)
    third.run("leave")
    second.run("leave")
    assert "this is etcd's last member: the cluster ends with it" in first.run("leave")
    assert list((first.root / "var/lib/etcd-backup").glob("*.db"))


@pytest.mark.heavy
def test_the_directory_of_another_machine_removes_no_member(made: Masters) -> None:
    """A machine with the tree of a master that runs elsewhere."""
    _, _, third = started(made, 1, 2, 3)
    data = third.root / "var/lib/etcd"
    data.rename(third.root / "elsewhere")
    data.mkdir()
    (third.root / "started").unlink()
    third.run("join", code=1, text="Is this the directory of another machine?")
    assert len(members(third)) == 3


def test_one_member_of_three_becomes_the_cluster_again(made: Masters) -> None:
    """docs/on-call.md: two of three members are lost for good, and the third one has its data."""
    first, second, third = started(made, 1, 2, 3)
    first.etcdctl("put", "written", "before")
    second.lose_disk()
    third.lose_disk()
    start = first.root / "etc/etcd/start.env"
    start.write_text("ETCD_FORCE_NEW_CLUSTER=true\n")
    restart(first)
    until(lambda: first.succeeds("votes"))
    start.unlink()
    assert members(first).keys() == {"master1"}
    for empty in (second, third):
        joined(empty)
    assert members(first).keys() == {"master1", "master2", "master3"}
    restart(first)
    until(lambda: third.etcdctl("get", "written").split() == ["written", "before"])
    until(lambda: len(members(first)) == 3)


def test_a_copy_becomes_the_cluster_again(made: Masters) -> None:
    """docs/on-call.md: all members are lost for good, and there is a copy of etcd's data."""
    first, second, third = started(made, 1, 2, 3)
    first.etcdctl("put", "written", "before")
    copy = first.root / "copy.db"
    first.etcdctl("snapshot", "save", str(copy))
    first.etcdctl("put", "written", "after")
    for each in (first, second, third):
        each.lose_disk()
    peer = f"https://{address(1)}:2380"
    first.etcdutl(
        "snapshot", "restore", str(copy), f"--data-dir={first.root}/restored", "--name=master1",
        f"--initial-cluster=master1={peer}", f"--initial-advertise-peer-urls={peer}",
        "--initial-cluster-token=quorate", "--bump-revision=1000000000", "--mark-compacted",
    )  # fmt: skip
    (first.root / "restored/member").rename(first.root / "var/lib/etcd/member")
    first.systemctl("start")
    until(lambda: first.succeeds("votes"))
    for empty in (second, third):
        joined(empty)
    assert members(first).keys() == {"master1", "master2", "master3"}
    assert third.etcdctl("get", "written").split() == ["written", "before"]


@pytest.mark.heavy
def test_a_fragmented_leader_passes_its_leadership_on_and_is_defragmented(made: Masters) -> None:
    masters = started(made, 1, 2, 3)
    for _ in range(30):
        masters[0].etcdctl("put", "large", "x" * 100_000)
    (leader,) = (each for each in masters if leads(each))
    assert "no defragmentation" in leader.run("defragment")
    revision = json.loads(masters[0].etcdctl("get", "large", "--write-out=json"))["header"]["revision"]
    masters[0].etcdctl("compact", str(revision))
    script = leader.root / "usr/local/lib/quorate/members"
    script.write_text(script.read_text().replace("UNUSED=104857600", "UNUSED=1000000"))
    until(lambda: "Finished defragmenting etcd member" in leader.run("defragment"))
    assert not leads(leader)
    assert "no defragmentation" in leader.run("defragment")
    others = [each for each in masters if each is not leader]
    others[0].kill()
    leader.run("defragment", code=1, text="etcd needs 2 of 3 members")


def restart(master: Master) -> None:
    """Restarts a member, as systemd does: a member that is killed may forget that its last writes were committed."""
    os.kill(int(master.pid()), signal.SIGTERM)


def leads(master: Master) -> bool:
    """Whether a member is the leader."""
    (found,) = json.loads(master.etcdctl("endpoint", "status", "--write-out=json"))
    return found["Status"]["leader"] == found["Status"]["header"]["member_id"]


def forget(by: Master, dead: Master, code: int = 0) -> str:
    """Runs the script with which `quorate replace` removes a dead member, on a master. Returns what it says."""
    pki, backup = (f"{by.root}{path}" for path in ("/etc/etcd/pki", "/var/lib/etcd-backup"))
    text = etcd_member.script(dead.node.address, by.node.address, pki, backup)
    path = f"{by.root / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", text], env={"PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_dead_member_is_forgotten_by_another_machine(made: Masters) -> None:
    first, second, third = started(made, 1, 2, 3)
    assert "answers: its machine is on" in forget(first, second, code=1)
    second.lose_disk()
    said = forget(first, second)
    assert "removed member" in said
    assert members(first).keys() == {"master1", "master3"}
    (copy,) = (first.root / "var/lib/etcd-backup").iterdir()
    first.etcdutl("snapshot", "status", str(copy))
    assert f"etcd lists no member at https://{second.node.address}:2380" in forget(first, second)
    third.kill()
    assert "etcd has no majority" in forget(first, third, code=1)
