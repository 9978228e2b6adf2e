"""Copies of Ceph's data: how many acknowledge a write, and on how many servers they can be."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.ceph_pools import OSD as PER_OSD
from policy.facts.kubernetes.ceph_pools import CephPool, ceph_pools
from policy.facts.kubernetes.configuration import ConfigMap, sections
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.facts.product_defaults import CHOOSELEAF, POOL_MIN_SIZE, POOL_SIZE, Default
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.properties import Malformed
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule
from policy.rules.osd_nodes import OSD
from policy.wording import join_names
from text.plural import pluralize

FILE = "ceph.conf"
_OVERRIDE = ("rook-config-override", "config")
"""The ConfigMap that Rook merges into ceph.conf, and its key."""
LEAST_COPIES = 2
"""Copies that must have a write before it is acknowledged: the failure of the one server with it would lose it."""


def _file(config: ConfigMap) -> str:
    """Returns the key of a ConfigMap that has a ceph.conf; "" if it has none."""
    name, key = _OVERRIDE
    if FILE in config.files:
        return FILE
    return key if config.name == name and key in config.files else ""


def _configured(facts: Facts) -> list[ConfigMap]:
    return [each for each in facts.config_maps if _file(each)]


def _option(config: ConfigMap, default: Default) -> str | None:
    """Returns the value of an option in any section of ceph.conf; None if it is not set."""
    parser = sections(config.files[_file(config)])
    pairs = (pair for section in parser.sections() for pair in parser.items(section))
    return {name.strip().replace(" ", "_").replace("-", "_"): value for name, value in pairs}.get(default.setting)


def _number(config: ConfigMap, default: Default) -> int:
    return _whole(_option(config, default) or default.value, default.setting)


def _whole(written: str, setting: str) -> int:
    if not written.strip().isdecimal():
        raise Malformed(f"{setting} is '{written.strip()}', not a whole number")
    return int(written)


def _subjects(facts: Facts) -> Iterator[ConfigMap | CephPool]:
    yield from facts.config_maps
    yield from ceph_pools(facts.resources)


def _sets_copies(facts: Facts, subject: ConfigMap | CephPool) -> bool:
    """Whether Ceph is to keep more copies than the least; in production, whether the number of copies is set at all."""
    if isinstance(subject, CephPool):
        copies = subject.copies or subject.coding_chunks
    elif not _file(subject) or all(_option(subject, each) is None for each in (POOL_SIZE, POOL_MIN_SIZE)):
        return False
    else:
        copies = _number(subject, POOL_SIZE)
    return copies is not None and (copies > LEAST_COPIES or facts.profile == PRODUCTION)


@rule(
    id="ceph-acknowledges-two-copies",
    title="Ceph acknowledges a write with at least two copies",
    severity=Severity.CRITICAL,
    rationale="With osd_pool_default_min_size 1, a pool goes on with one copy of three. What it acknowledges then is "
    "on one disk: the loss of this disk loses it, although two other copies return. A pool of one copy loses data with "
    "the first disk.",
    sources=(RuleSource("project", "Storage", 4),),
    remediation="Set osd_pool_default_size to 3, and remove osd_pool_default_min_size from ceph.conf or set it to 2 "
    "(quorate:services.ceph-mon.config). In a pool of Rook, set replicated.size to 3 or codingChunks to 2, and remove "
    "parameters.min_size.",
    subjects=_subjects,
    applies=_sets_copies,
    not_applicable_reason="nothing in the stack sets the copies of Ceph's pools, or the stack is a lab of two or less",
    parameters={POOL_MIN_SIZE.setting: LEAST_COPIES},
    since="0.7.0",
)
def ceph_acknowledges_two_copies(_facts: Facts, subject: ConfigMap | CephPool) -> Iterator[RuleProblem]:
    """Reads ceph.conf and Rook's pools. With 0, the default, Ceph needs more than half of the copies."""
    if isinstance(subject, CephPool):
        if subject.coding_chunks is not None and subject.coding_chunks < LEAST_COPIES:
            yield RuleProblem(f"codingChunks is {subject.coding_chunks}", f"{LEAST_COPIES} or more")
            return
        copies, written = subject.copies or LEAST_COPIES, subject.least
        size, least = "replicated.size", "parameters.min_size"
    else:
        copies, written = _number(subject, POOL_SIZE), _option(subject, POOL_MIN_SIZE)
        size, least = POOL_SIZE.setting, POOL_MIN_SIZE.setting
    if copies == 1:
        yield RuleProblem(f"{size} is 1", "3 copies, or 2 if the stack has no more servers with OSDs")
    elif copies > LEAST_COPIES and 0 < _whole(written or POOL_MIN_SIZE.value, least) < LEAST_COPIES:
        yield RuleProblem(f"{least} is {written}", f"{LEAST_COPIES} or more")


def _copies(facts: Facts) -> int:
    """Returns the copies of each object: the most that a ceph.conf of the stack sets, or Ceph's default."""
    found = [_number(each, POOL_SIZE) for each in _configured(facts)]
    return max(found, default=int(POOL_SIZE.value))


class _Cluster:
    """A CephCluster of Rook whose OSDs are on named nodes."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.title = f"CephCluster {resource.name}"
        self.nodes = [each.at("name").text() for each in resource.props.at("spec", "storage", "nodes").items()]


def _has_osds(facts: Facts, subject: Workload | ConfigMap | CephPool | _Cluster) -> bool:
    if isinstance(subject, ConfigMap):
        return bool(_file(subject)) and _option(subject, CHOOSELEAF) is not None
    return facts.service(subject) == OSD if isinstance(subject, Workload) else True


def _about_servers(facts: Facts) -> Iterator[Workload | ConfigMap | CephPool | _Cluster]:
    yield from facts.workloads
    yield from _subjects(facts)
    clusters = (_Cluster(each) for each in facts.resources if kubernetes_kind(each) == "CephCluster")
    yield from (each for each in clusters if each.nodes)


@rule(
    id="ceph-copies-on-servers",
    title="Ceph's OSDs are on as many servers as its pools have copies",
    severity=Severity.HIGH,
    rationale="Ceph puts each copy on another node. With fewer nodes than copies it never makes all of them. With "
    "fewer servers, the failure of one takes two copies of three along; a pool with one copy left accepts no write.",
    sources=(RuleSource("project", "Storage", 5),),
    remediation="Give more servers OSDs, or set osd_pool_default_size to the number of servers that have some. Set "
    "failureDomain: host in pools of Rook, and osd_crush_chooseleaf_type to 1 in ceph.conf.",
    subjects=_about_servers,
    applies=_has_osds,
    not_applicable_reason="the stack has no ceph-osd, as with an external Ceph, and no pool of Rook",
    parameters={POOL_SIZE.setting: f"default {POOL_SIZE.value}"},
    since="0.7.0",
)
def ceph_copies_on_servers(facts: Facts, subject: Workload | ConfigMap | CephPool | _Cluster) -> Iterator[RuleProblem]:
    """Counts the servers of the nodes on which OSDs can run. A node without a known server counts as one."""
    if isinstance(subject, ConfigMap):
        if _number(subject, CHOOSELEAF) == 0:
            yield RuleProblem(f"{CHOOSELEAF.setting} is 0: all copies can be on one server", "1 (a host)")
    elif isinstance(subject, CephPool):
        if subject.failure_domain == PER_OSD:
            yield RuleProblem("failureDomain is osd: all copies can be on one server", "host, rack or zone")
    else:
        named = {node.name: node.server or node.name for node in facts.nodes}
        names = [node.name for node in facts.eligible(subject)] if isinstance(subject, Workload) else subject.nodes
        servers = sorted({named.get(name, name) for name in names})
        if len(servers) < (copies := _copies(facts)):
            there = f"OSDs can run on {pluralize(len(servers), 'server')}: {join_names(servers)}"
            yield RuleProblem(there, f"{copies}, one for each copy")
