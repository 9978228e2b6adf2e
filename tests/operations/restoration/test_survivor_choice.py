"""From which member's data a quorum goes on, and every reason why it does not; and what members say of theirs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from console.errors import UserError
from operations.restoration import survivor_programs
from operations.restoration.survivor_choice import chosen
from operations.restoration.survivors import Survivor

UUID = "0b0b0b0b-0000-4000-8000-000000000001"
LOST = tuple(Survivor(f"mysqld-{each}", f"ctl{each}", "i/o timeout") for each in (0, 1))
LEFT = Survivor("mysqld-2", "ctl2", data=f"{UUID}:100", cluster=UUID, position=100)
DEAD = ("ctl0", "ctl1")


def refused(*members: Survivor, wanted: str = "", dead: tuple[str, ...] = DEAD) -> str:
    with pytest.raises(UserError) as raised:
        chosen(members, wanted, dead)
    return str(raised.value)


def test_the_most_advanced_one_unless_another_is_named() -> None:
    one, more = replace(LEFT, name="mysqld-1", position=99), LOST[0]
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
    incomplete = replace(LEFT, data="")
    assert "no member that answers has complete data: restore a backup" in refused(*LOST, incomplete)
    assert "mysqld-2 has no complete data" in refused(*LOST, incomplete, wanted="mysqld-2")
    foreign = replace(LEFT, name="mysqld-1", cluster=UUID.replace("0b", "0c"))
    assert "mysqld-1, mysqld-2 have data of several clusters" in refused(LOST[0], foreign, LEFT, dead=DEAD[:1])


def test_nobody_is_lost() -> None:
    whole = [replace(LEFT, name=f"mysqld-{each}") for each in range(3)]
    assert "all members answer, and none is lost" in refused(*whole, dead=())
    assert chosen(whole, "mysqld-1", ()) == whole[1], "by the user's word, as with data of two clusters"
    assert "mysqld-2 has a majority" in refused(*whole[:2], replace(LEFT, serves=True), wanted="mysqld-1", dead=())


def test_some_go_on_alone_only() -> None:
    one = replace(LEFT, name="mysqld-1", node="ctl1")
    with pytest.raises(UserError, match="mysqld-1, mysqld-2 answer, and only one may"):
        chosen([LOST[0], one, LEFT], "", DEAD[:1], alone=True)
    assert chosen([*LOST, LEFT], "", DEAD, alone=True) == LEFT


@pytest.mark.parametrize("said", ["", "[]", '"x"', '{"uuid": "x"}', "Traceback", '{"value": {"listed": []}}'])
def test_an_answer_that_is_none_is_no_data(said: str) -> None:
    for read in (survivor_programs.galera, survivor_programs.rabbitmq):
        with pytest.raises((ValueError, KeyError)):
            read(said)


def test_what_a_member_of_galera_says() -> None:
    found = survivor_programs.galera('{"phase": "starting", "uuid": "", "view": ["a"], "does": "no answer from b"}')
    assert (found.data, found.together, found.served) == ("", ("a",), None)
    assert found.does == "its database waits: no answer from b"


def test_what_a_member_of_rabbitmq_says() -> None:
    nodes = [f"rabbit@rabbitmq-{each}.rabbitmq-members.openstack.svc" for each in range(3)]
    value = {"khepri": True, "listed": nodes, "running": nodes[2:], "quorum": 35, "streams": 4}
    found = survivor_programs.rabbitmq(json.dumps({"value": value}) + "\n1796051792.5\n")
    assert (found.does, found.data, found.serves) == ("1 of 3 members run", "35 quorum queues, 4 streams", False)
    assert found.together == ("rabbitmq-0", "rabbitmq-1", "rabbitmq-2")
    assert found.served is not None
    value |= {"khepri": False, "running": nodes[1:]}
    found = survivor_programs.rabbitmq(json.dumps({"value": value}))
    assert (found.data, found.serves, found.served) == ("", True, None)
    assert "Mnesia" in found.does
