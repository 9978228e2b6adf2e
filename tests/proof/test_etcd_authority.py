"""The authority of a real etcd is replaced in three deployments, one member after the other, under writes."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from blueprint.stackfile.certificate_generations import Generations
from blueprint.version_steps import problems
from tests.proof.etcd_machines import Master, Masters, certify, masters, until

pytestmark = pytest.mark.waits

DEPLOYMENTS = (
    Generations(uses=1, trusts=(1, 2)),
    Generations(uses=2, trusts=(1, 2)),
    Generations(uses=2, trusts=(2,)),
)


@pytest.fixture
def three(tmp_path: Path, etcd_programs: list[Path]) -> Generator[list[Master]]:
    """Three members of a running etcd."""
    with masters(tmp_path, etcd_programs) as made:
        yield started(made)


def started(made: Masters) -> list[Master]:
    found = made.render(1, 2, 3)
    for command in ("start", "join", "votes"):
        for each in found:
            each.run(command)
    return found


def deploy(master: Master, generations: Generations) -> None:
    """Gives a member other certificates as `apply` does: files, the question to the quorum, the restart."""
    certify(master, generations)
    master.run("may-stop")
    master.systemctl("stop")
    master.systemctl("start")
    until(lambda: master.succeeds("votes"))


def written(master: Master, key: str, value: str) -> bool:
    """Whether a member acknowledges a write."""
    try:
        master.etcdctl("--command-timeout=5s", "put", key, value)
    except subprocess.CalledProcessError:
        return False
    return True


@contextmanager
def writes(found: list[Master]) -> Generator[list[str]]:
    """Yields values of acknowledged writes, each through the first member that answers, while others restart.

    A write that fails is repeated once: it may have met the election of a leader. "" for one that fails again.
    """
    acknowledged: list[str] = []
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            number += 1
            done = any(written(each, f"key{number}", str(number)) for each in (*found, *found))
            acknowledged.append(str(number) if done else "")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield acknowledged
    finally:
        over.set()
        writer.join()


def test_an_authority_is_replaced_and_no_write_is_lost(three: list[Master]) -> None:
    deployed = Generations()
    with writes(three) as acknowledged:
        for wanted in DEPLOYMENTS:
            recorded, planned = ({"authority etcd": str(each)} for each in (deployed, wanted))
            assert problems(recorded, planned, is_live=True) == []
            for master in three:
                deploy(master, wanted)
            deployed = wanted
    assert len(acknowledged) > 9
    assert "" not in acknowledged
    values = three[2].etcdctl("get", "--prefix", "key", "--print-value-only").split()
    assert set(values) == set(acknowledged)
    # Who has a certificate of the first generation only is refused.
    certify(three[0], Generations())
    assert not written(three[0], "key", "old")


def test_a_generation_that_others_do_not_trust_cuts_a_member_off(three: list[Master]) -> None:
    """What the rule authority-trusted-before-use refuses."""
    assert problems({}, {"authority etcd": str(DEPLOYMENTS[1])}, is_live=True)
    first, second, _ = three
    certify(first, DEPLOYMENTS[1])
    first.systemctl("stop")
    first.systemctl("start")
    assert not written(first, "key", "cut off")
    assert written(second, "key", "goes on")
