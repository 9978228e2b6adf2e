"""The pack finds the addresses of networks beside management in what the program makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from policy.catalogue import BY_ID
from policy.findings import Enforcement, Finding, Verdict, resource_name
from policy.rule import evaluate
from tests.blueprint.stackfile.test_class_networks import stack, with_storage
from tests.policy import world
from tests.recording import record
from tests.stacks import full_size, parsed

OWN = {"tunnels-in-overlay-network", "ceph-in-storage-network", "migrations-in-migration-network"}


def evaluated(settings: dict[str, Any]) -> dict[str, list[Finding]]:
    """Returns the findings of every rule on a stack, as the program makes it."""
    planned = plan(parsed(settings))

    def build() -> None:
        Cloud("cloud", CloudArgs(planned, "test", Render("test"), pulumi.Output.secret("root")))

    given = [world.Given(each.type, each.name, each.inputs, after=tuple(each.depends_on)) for each in record(build)]
    facts = world.facts([world.stack(), *given])
    return {name: evaluate(rule, facts, Enforcement.MANDATORY) for name, rule in BY_ID.items()}


def of(found: Mapping[str, list[Finding]], verdict: Verdict) -> dict[str, set[str]]:
    named = {
        name: {resource_name(each.resource) for each in all_ if each.verdict is verdict} for name, all_ in found.items()
    }
    return {name: resources for name, resources in named.items() if resources}


def test_a_stack_with_all_networks_keeps_the_rules_that_it_keeps_without() -> None:
    settings = with_storage(stack())
    settings["networks"]["migration"] = {"cidr": "10.23.0.0/16"}
    settings["servers"][3]["addresses"]["migration"] = "10.23.4.1"
    found, without = evaluated(settings), evaluated(full_size("100"))
    agent = "cloud-openstack-neutron-l2-agent"
    passed = of(found, Verdict.PASS)
    assert {name: passed[name] for name in OWN} == {
        "tunnels-in-overlay-network": {agent, f"{agent}-network"},
        "ceph-in-storage-network": {"cloud-openstack-ceph-osd"},
        "migrations-in-migration-network": {"cloud-openstack-nova-compute"},
    }
    for verdict in (Verdict.FAIL, Verdict.NOT_EVALUATED):
        assert of(found, verdict) == of(without, verdict)
    assert {name for name in found if found[name][0].verdict is Verdict.NOT_APPLICABLE} == {
        name for name in without if without[name][0].verdict is Verdict.NOT_APPLICABLE
    } - OWN
