"""Routers and networks of machines, by an answer of MariaDB 10.11 to the query with tables of the columns it reads."""

from __future__ import annotations

import pytest

from operations.living.answers import Answer
from operations.maintenance import network_services
from operations.maintenance.network_services import QUERY, NetworkServices

SAID = """\
router\tr1\tnet1\t1\t6861
router\tr1\tnet2\t1\t6861
router\tr3\tnet1\t1\t
router\tr3\tnet3\t0\t
router\tr5\tnet1\t1\t756E6B6E6F776E
router\tr5\tnet2\t0\t756E6B6E6F776E
router\tr2\tnet1\tNULL\t706C61696E096E6F740A6861
network\tn1\tnet1\t1\t626F7468
network\tn1\tnet2\t1\t626F7468
network\tn2\tnet1\t1\t
end
"""


def found(*hosts: str, said: str = SAID) -> NetworkServices:
    return network_services.read(Answer({"neutron": said}), hosts)


def test_only_an_agent_elsewhere_that_is_able_takes_over() -> None:
    assert [(each.kind, each.called, each.has_another) for each in found("net1").found] == [
        ("network", "both (n1)", True),
        ("network", " (n2)", False),
        ("router", "ha (r1)", True),
        ("router", r"plain\tnot\nha (r2)", False),
        ("router", " (r3)", False),
        ("router", "unknown (r5)", False),
    ]


def test_agents_that_leave_together_do_not_take_over() -> None:
    assert not any(each.has_another for each in found("net1", "net2").found)
    assert [(each.id, each.has_another) for each in found("net2").found] == [("n1", True), ("r1", True), ("r5", True)]
    assert found("net9").found == ()


@pytest.mark.parametrize("said", ["", SAID.removesuffix("end\n"), "router\tr1\nend\n", "router\tr\th\t1\tzz\nend\n"])
def test_what_is_not_complete_is_not_read(said: str) -> None:
    assert found("net1", said=said).found == ()
    assert found("net1", said=said).problem.startswith("routers and networks were not read: ")


def test_a_member_that_does_not_answer_is_said() -> None:
    answer = Answer(problem="it has no pod")
    assert network_services.read(answer, ["a"]).problem == "routers and networks were not read: it has no pod"


def test_the_query_is_one_line_without_substitutions() -> None:
    assert not {"`", "$", "\n", '"'} & set(QUERY)
