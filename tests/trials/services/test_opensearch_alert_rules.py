"""Faults of OpenSearch as the exporters of its members tell them, in the real promtool with the rendered rules."""

from __future__ import annotations

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from openstack.monitoring import opensearch_alerts
from openstack.monitoring.quorums import SEARCH
from tests.stacks import STACKS
from tests.trials.services.promtool import Metrics, raised, rules, rules_of
from trials.services.testbed import ServiceMachine

NODES = "elasticsearch_cluster_health_number_of_nodes"


def told(members: int = 3, **colors: str) -> Metrics:
    """What all members tell. `colors`: the values of colors that the health has had; of others they are 0."""
    metrics = Metrics(SEARCH, [f"{SEARCH}-{number}" for number in range(members)]).each(NODES, f"{members}x200")
    for color in ("green", "yellow", "red"):
        metrics.each(opensearch_alerts.HEALTH, colors.get(color, "0x200"), color=color)
    return metrics


def of(metrics: Metrics, member: int, metric: str) -> dict[str, str]:
    """The series of a member's metric."""
    name = f'member="{SEARCH}-{member}"'
    (line,) = [each for each in metrics.lines if each["series"].startswith(f"{metric}{{") and name in each["series"]]
    return line


def test_indices_that_are_not_available_are_named_at_the_second_evaluation(tool: ServiceMachine) -> None:
    """Also if only one member still answers."""
    metrics = told(red="0x19 1x180")
    for member in range(2):
        of(metrics, member, NODES)["values"] = "3x19 stale"
    assert raised(tool, rules(3), metrics, "5m") == {}
    red = ("critical", f"{SEARCH}: some indices are not available (red)")
    assert raised(tool, rules(3), metrics, "5m15s")["OpensearchRed"] == red


def test_replicas_without_a_place_are_named_after_half_an_hour(tool: ServiceMachine) -> None:
    metrics = told(yellow="1x200")
    assert raised(tool, rules(3), metrics, "29m") == {}
    said = f"{SEARCH}: replicas of some indices have no place (yellow)"
    assert raised(tool, rules(3), metrics, "31m") == {"OpensearchYellow": ("warning", said)}


def test_a_member_that_its_exporter_cannot_ask_is_lost(tool: ServiceMachine) -> None:
    """It is paused, or knows no elected manager: the exporter answers, and the member's own metrics are missing."""
    metrics = told()
    of(metrics, 1, NODES)["values"] = "3x19 stale"
    ((name, (_, said)),) = raised(tool, rules(3), metrics, "5m15s").items()
    assert (name, said) == ("QuorumMemberSilent", f"{SEARCH}: 2 of 3 members are left, 2 are needed; lost: {SEARCH}-1")


def test_a_member_in_a_cluster_of_its_own_is_lost(tool: ServiceMachine) -> None:
    metrics = told()
    of(metrics, 2, NODES)["values"] = "1x200"
    assert raised(tool, rules(3), metrics, "1m")["QuorumMemberSilent"][1].endswith(f"lost: {SEARCH}-2")


def test_one_member_has_no_place_for_replicas(tool: ServiceMachine) -> None:
    """Its indices are yellow as long as it is alone, which raises no alert. Without it, the quorum is lost."""
    alone = rules_of(plan(load_file(STACKS["one-server"])))
    metrics = told(1, yellow="1x200")
    assert raised(tool, alone, metrics, "45m") == {}
    metrics.gone(metrics.members[0])
    assert set(raised(tool, alone, metrics, "5m15s")) == {"QuorumLost"}
