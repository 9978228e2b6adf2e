"""From which member's data a Galera goes on, and every reason why it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from console.errors import UserError
from openstack.scripts.galera.decision import NO_UUID
from operations.restoration import galera_members
from operations.restoration.galera_members import GaleraMember
from operations.restoration.galera_survivor import chosen

UUID = "0b0b0b0b-0000-4000-8000-000000000001"
LOST = tuple(GaleraMember(f"mysqld-{each}", f"ctl{each}", "i/o timeout") for each in (0, 1))
LEFT = GaleraMember("mysqld-2", "ctl2", uuid=UUID, seqno=100)
DEAD = ("ctl0", "ctl1")


def refused(*members: GaleraMember, wanted: str = "", dead: tuple[str, ...] = DEAD) -> str:
    with pytest.raises(UserError) as raised:
        chosen(members, wanted, dead)
    return str(raised.value)


def test_the_most_advanced_one_unless_another_is_named() -> None:
    one, more = replace(LEFT, name="mysqld-1", seqno=99), LOST[0]
    assert chosen([more, one, LEFT], "", DEAD[:1]) == LEFT
    assert chosen([more, one, LEFT], "mysqld-1", DEAD[:1]) == one


def test_who_was_not_asked_must_be_dead() -> None:
    assert refused(*LOST, LEFT, dead=("ctl0",)) == (
        "  - mysqld-1 on ctl1 was not asked: i/o timeout. It may have newer data, or serve. Start ctl1; or if it is "
        "off and stays off, add --dead ctl1"
    )
    assert "Name its machine with --dead if" in refused(LOST[0], replace(LOST[1], node=""), LEFT)


def test_dead_machines_are_those_of_lost_members() -> None:
    assert "--dead ctl9: no member is there" in refused(*LOST, LEFT, dead=(*DEAD, "ctl9"))
    assert "--dead ctl2: mysqld-2 answers there" in refused(*LOST, LEFT, dead=(*DEAD, "ctl2"))


def test_no_data_no_going_on() -> None:
    incomplete = replace(LEFT, uuid=NO_UUID)
    assert "no member has complete data: restore a backup" in refused(*LOST, incomplete)
    assert "mysqld-2 has no complete data" in refused(*LOST, incomplete, wanted="mysqld-2")
    foreign = replace(LEFT, name="mysqld-1", uuid=UUID.replace("0b", "0c"))
    assert "mysqld-1, mysqld-2 have data of several clusters" in refused(LOST[0], foreign, LEFT, dead=DEAD[:1])


def test_nobody_is_lost() -> None:
    whole = [replace(LEFT, name=f"mysqld-{each}") for each in range(3)]
    assert "all members answer, and none is lost" in refused(*whole, dead=())
    assert chosen(whole, "mysqld-1", ()) == whole[1], "by the user's word, as with data of two clusters"
    assert "in a primary component" in refused(*whole[:2], replace(LEFT, primary=True), wanted="mysqld-1", dead=())


def test_an_answer_that_is_none_is_a_problem() -> None:
    for said in ("", "[]", '"x"', '{"uuid": "x"}', "Traceback"):
        assert galera_members.read("mysqld-2", "ctl2", said).problem
    found = galera_members.read("mysqld-2", "ctl2", '{"phase": "starting", "uuid": "", "view": ["a"]}')
    assert not found.has_data
    assert found.view == ("a",)
    assert found.served is None
