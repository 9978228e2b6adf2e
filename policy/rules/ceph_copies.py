"""Copies of Ceph's data: how many acknowledge a write, and on how many servers they can be."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.configuration import ConfigMap, sections
from policy.facts.kubernetes.workload import Workload
from policy.facts.product_defaults import POOL_MIN_SIZE, POOL_SIZE, Default
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Malformed
from policy.rule import RuleProblem, RuleSource, rule
from policy.rules.osd_nodes import OSD
from policy.wording import join_names, pluralize

FILE = "ceph.conf"
LEAST_COPIES = 2
"""Copies that must have a write before it is acknowledged: the failure of the one server with it would lose it."""


def _option(config: ConfigMap, default: Default) -> str | None:
    """Returns the value of an option in any section of ceph.conf; None if it is not set."""
    parser = sections(config.files[FILE])
    pairs = (pair for section in parser.sections() for pair in parser.items(section))
    return {name.strip().replace(" ", "_").replace("-", "_"): value for name, value in pairs}.get(default.setting)


def _number(config: ConfigMap, default: Default) -> int:
    written = (_option(config, default) or default.value).strip()
    if not written.isdecimal():
        raise Malformed(f"{default.setting} is '{written}', not a whole number")
    return int(written)


def _keeps_copies(_facts: Facts, config: ConfigMap) -> bool:
    """Whether a ConfigMap configures Ceph's pools with more copies than the least."""
    if FILE not in config.files:
        return False
    given = _option(config, POOL_SIZE) is not None or _option(config, POOL_MIN_SIZE) is not None
    return given and _number(config, POOL_SIZE) > LEAST_COPIES


@rule(
    id="ceph-acknowledges-two-copies",
    title="Ceph acknowledges a write with at least two copies",
    severity=Severity.CRITICAL,
    rationale="With osd_pool_default_min_size 1, a pool goes on with one copy of three. What it acknowledges then is "
    "on one disk: the loss of this disk loses it, although two other copies return.",
    sources=(RuleSource("project", "Storage", 4),),
    remediation="Remove osd_pool_default_min_size from ceph.conf, or set it to 2 (quorate:services.ceph-mon.config).",
    subjects=lambda facts: facts.config_maps,
    applies=_keeps_copies,
    not_applicable_reason="no ConfigMap of the stack configures Ceph pools of three copies or more",
    parameters={POOL_MIN_SIZE.setting: LEAST_COPIES},
    since="0.7.0",
)
def ceph_acknowledges_two_copies(_facts: Facts, config: ConfigMap) -> Iterator[RuleProblem]:
    """Reads ceph.conf. With 0, the default, Ceph needs more than half of the copies."""
    least = _number(config, POOL_MIN_SIZE)
    if 0 < least < LEAST_COPIES:
        yield RuleProblem(POOL_MIN_SIZE.actual(str(least)), f"{LEAST_COPIES} or more")


def _copies(facts: Facts) -> int:
    """Returns the copies of each object: the most that a ceph.conf of the stack sets, or Ceph's default."""
    found = [_number(each, POOL_SIZE) for each in facts.config_maps if FILE in each.files]
    return max(found, default=int(POOL_SIZE.value))


@rule(
    id="ceph-copies-on-servers",
    title="Ceph's OSDs are on as many servers as its pools have copies",
    severity=Severity.HIGH,
    rationale="Ceph puts each copy on another node. With fewer nodes than copies it never makes all of them. With "
    "fewer servers, the failure of one takes two copies of three along; a pool with one copy left accepts no write.",
    sources=(RuleSource("project", "Storage", 5),),
    remediation="Give more servers OSDs, or set osd_pool_default_size to the number of servers that have some.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: facts.service(workload) == OSD,
    not_applicable_reason="the stack has no ceph-osd",
    parameters={POOL_SIZE.setting: f"default {POOL_SIZE.value}"},
    since="0.7.0",
)
def ceph_copies_on_servers(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Counts the servers of the nodes on which OSDs can run. A node without a known server counts as one."""
    servers = sorted({node.server or node.name for node in facts.eligible(workload)})
    if len(servers) < (copies := _copies(facts)):
        there = f"OSDs can run on {pluralize(len(servers), 'server')}: {join_names(servers)}"
        yield RuleProblem(there, f"{copies}, one for each copy")
