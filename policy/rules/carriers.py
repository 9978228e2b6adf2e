"""Programs that carry packets and guests of a compute, which outlive changes of the agents that use them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.facts.pods import Pods, pods
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

_CARRIER = re.compile(r"(?:.*[-_/])?(?:openvswitch|ovs-vswitchd|ovsdb-server|libvirtd?)(?:-(?:vswitchd|db|db-server))?")
"""Matches images and containers that run Open vSwitch or libvirtd, such as nova-libvirt and openvswitch-vswitchd."""
_AGENT = re.compile(r"neutron-.*-agent|nova-compute(?:-.*)?")
"""Matches images and containers of the agents of Neutron and Nova."""


def _names(each: Pods) -> set[str]:
    """Returns the names of the images and of the containers that run as long as the pod."""
    return each.names | {container.at("name").text() for container in each.lasting_containers()}


def _carries(_facts: Facts, each: Pods) -> bool:
    return any(_CARRIER.fullmatch(name) for name in _names(each))


@rule(
    id="carriers-have-own-pods",
    title="Open vSwitch and libvirtd are in other pods than the agents of Neutron and Nova",
    severity=Severity.HIGH,
    rationale="A pod restarts as a whole. Beside an agent, each option of Neutron or Nova restarts the switch "
    "too, which stops the packets of virtual machines, or libvirtd, which then answers no request of Nova.",
    sources=(RuleSource("project", "Computes", 1),),
    remediation="Run ovsdb-server, ovs-vswitchd and libvirtd each as a DaemonSet of its own beside the agents.",
    subjects=pods,
    applies=_carries,
    not_applicable_reason="the stack has no pod with Open vSwitch or libvirtd",
    since="0.7.0",
)
def carriers_have_own_pods(_facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Reads names of images and containers."""
    if agents := {name for name in _names(each) if _AGENT.fullmatch(name)}:
        yield RuleProblem(f"{join_names(agents)} restarts with it", "a pod of its own")
