"""From what etcd is restored, and why it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from console.errors import UserError
from operations.restoration import restoration_text
from operations.restoration.etcd_machines import EtcdCopy, EtcdMachine, read
from operations.restoration.etcd_restoration import steps
from operations.restoration.etcd_source import chosen
from tests.operations.maintenance.small_cloud import PLAN

ONE, TWO, THREE = PLAN.members
NOON, LATER = "20261129T120000Z", "20261129T130000Z"
EMPTY = tuple(EtcdMachine(node, state="failed") for node in (ONE, TWO, THREE))


def with_copies(machine: EtcdMachine, *names: str, revision: int | None = 7) -> EtcdMachine:
    return replace(machine, copies=tuple(EtcdCopy(machine.name, name, revision, 2**20) for name in names))


def refusal(machines: Sequence[EtcdMachine], wanted: str = "", dead: Sequence[str] = ()) -> str:
    with pytest.raises(UserError) as caught:
        chosen(machines, wanted, dead)
    return str(caught.value)


def test_the_lines_of_a_machine_are_read() -> None:
    said = ("state inactive", "data 812 1764417600", "made data", f"copy {NOON} 700 1048576", "copy odd - 5")
    found = read(ONE, said)
    assert found == EtcdMachine(
        ONE,
        state="inactive",
        has_data=True,
        revision=812,
        written=datetime(2025, 11, 29, 12, tzinfo=UTC),
        begun="data",
        is_made=True,
        copies=(EtcdCopy(ONE.name, NOON, 700, 1048576), EtcdCopy(ONE.name, "odd", None, 5)),
    )
    assert found.copies[1].made is None
    assert read(ONE, ["state active", "data - -", "votes"]) == EtcdMachine(
        ONE, state="active", has_data=True, votes=True
    )


def test_the_newest_copy_of_all_machines_is_used() -> None:
    machines = (with_copies(EMPTY[0], NOON), with_copies(EMPTY[1], NOON, LATER), EMPTY[2])
    source = chosen(machines, "", [])
    assert (source.machine.name, source.name) == (TWO.name, LATER)


def test_the_data_of_a_member_comes_before_every_copy() -> None:
    machines = (with_copies(EMPTY[0], LATER), replace(EMPTY[1], has_data=True, revision=9), EMPTY[2])
    source = chosen(machines, "", [])
    assert (source.machine.name, source.name) == (TWO.name, "data")


def test_a_copy_without_a_record_is_used_only_by_name() -> None:
    machines = (with_copies(EMPTY[0], NOON, revision=None), *EMPTY[1:])
    assert "a copy with a record of its content" in refusal(machines)
    assert chosen(machines, f"{ONE.name}:{NOON}", []).name == NOON


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("mastre1", "there is no machine mastre1 that answers (did you mean 'master1'?)"),
        ("master1", "master1 has no data of a member"),
        ("master1:20200101T000000Z", f"master1 has no such copy; it has {NOON}"),
        ("master2:20200101T000000Z", "master2 has no such copy; it has none"),
    ],
)
def test_a_source_that_is_not_there_is_named(wanted: str, said: str) -> None:
    assert said in refusal((with_copies(EMPTY[0], NOON), *EMPTY[1:]), wanted)


def test_all_reasons_are_said_at_once() -> None:
    machines = (replace(EMPTY[0], problem="no route to host"), *EMPTY[1:])
    said = refusal(machines, "", ["master2", "etcd9"])
    assert len(said.splitlines()) == 4
    assert "--dead etcd9: no member is there" in said
    assert "--dead master2: it answers" in said
    assert "add --dead master1" in said
    assert "no machine has the data of a member" in said


def test_a_bare_machine_takes_no_part() -> None:
    machines = (with_copies(EMPTY[0], NOON), read(TWO, ["state bare"]), EMPTY[2])
    assert chosen(machines, "", []).name == NOON
    assert not machines[1].takes_part
    assert "master2: Quorate has not set up a member there" in restoration_text.found(machines)


def test_a_copy_that_is_gone_stops_what_has_begun() -> None:
    machines = (replace(EMPTY[0], begun=NOON), *EMPTY[1:])
    assert f"a restoration from master1:{NOON} has begun, but this copy is gone" in refusal(machines)


def test_a_new_cluster_that_is_made_is_not_stopped_again() -> None:
    machines = (replace(with_copies(EMPTY[0], NOON), begun=NOON, is_made=True), *EMPTY[1:])
    found = [f"{step.node.name} {step.does.split()[0]}" for step in steps(chosen(machines, "", []), PLAN.members, ())]
    assert found == ["master1 make", "master2 set", "master3 set", "master1 end"]


def test_the_plan_says_what_is_lost() -> None:
    machines = (with_copies(EMPTY[0], NOON, LATER), replace(EMPTY[1], problem="no route to host"), EMPTY[2])
    source = chosen(machines, "", ["master2"])
    shown = restoration_text.plan(
        source, tuple(steps(source, [ONE, THREE], [ONE])), datetime(2026, 11, 29, 14, tzinfo=UTC)
    )
    assert shown == (
        f"\nFrom the copy {LATER} on master1. Lost: all that was written after 2026-11-29 13:00 UTC (60 minutes ago).\n"
        "No API server answers meanwhile. Pods that run go on.\n"
        "It takes about 20 s with 2 masters, longer with much data "
        "(30 s with three and 2 MiB of data, 2026-11-29, containers on one host of two cores).\n"
        "\n"
        "  1. master1: stop etcd, also for the next boot\n"
        "  2. master3: stop etcd, also for the next boot\n"
        f"  3. master1: make this member the only one, with the copy {LATER}\n"
        "  4. master3: set the old data aside, and join\n"
        "  5. master1: restart the API server and kubelet\n"
        "  6. master1: end the restoration\n"
    )
