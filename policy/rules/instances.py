"""Instance counts and workload kinds of the reference architecture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from policy.facts.components import CloudFacts
from policy.facts.kubernetes.configuration import read_by, sections
from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums.quorums import MemberGroup, is_member, is_quorum, pod_groups
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Malformed
from policy.rule import ADVISORY, RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize

_TABLES = (
    RuleSource("004", "5.3.16", 2),
    RuleSource("004", "5.4.16", 2),
)
_NO_ROW = "no workload of the stack has a row in its reference architecture"


def _counted_row(facts: Facts, workload: Workload) -> bool:
    row = facts.row(workload) if workload.is_long_running else None
    return row is not None and row.instances is not None and not row.everywhere


@rule(
    id="instances-match-row",
    title="Replica counts match the reference architecture",
    severity=Severity.HIGH,
    rationale="The counts of the reference architecture were validated at its scale. Fewer instances "
    "serve less load and tolerate fewer failures. More instances than an exact count create load that was not tested.",
    sources=_TABLES,
    remediation="Set spec.replicas to the count of the service's row in the architecture "
    "(quorate:services.<service>.replicas in the stack file), or name the architecture that fits the cloud.",
    subjects=lambda facts: facts.workloads,
    applies=_counted_row,
    not_applicable_reason=_NO_ROW,
    needs_architecture=True,
)
def instances_match_row(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares the instances of all workloads of a row together with the row's count, which may be "at least".

    The rules on sizes and quorum-larger-than-row evaluate a quorum with more members than its row's count.
    """
    row = facts.known_row(workload)
    wanted = row.instances or 0
    least = "at least " if row.at_least else ""
    origin = f"(row {row.row}, architecture {facts.required_architecture.name})"
    if workload.replicas is None:
        kind = f"a Deployment or StatefulSet with {least}{pluralize(wanted, 'replica')} {origin}"
        yield RuleProblem("runs as a DaemonSet, one pod per node", kind)
        return
    there = sum(each.replicas or 0 for each in facts.workloads if each.is_long_running and facts.row(each) is row)
    if there < wanted or (there > wanted and not row.at_least and not is_member(facts, workload)):
        yield RuleProblem(pluralize(there, "instance"), f"{least}{wanted} {origin}")


def _counted_quorum(facts: Facts, group: MemberGroup) -> bool:
    return is_quorum(facts, group) and all(_counted_row(facts, each) for each in group.workloads)


@rule(
    id="quorum-larger-than-row",
    title="Quorums have no more members than in the reference architecture",
    severity=Severity.LOW,
    rationale="Two more members let a quorum survive one more failure, but each write waits for more members. The "
    "reference architecture was not tested with the larger size.",
    sources=_TABLES,
    remediation="Keep the larger quorum if more failures must be survived, or set spec.replicas to the architecture's "
    "count.",
    subjects=pod_groups,
    applies=_counted_quorum,
    not_applicable_reason="the reference architecture has no member count for any quorum of the stack",
    needs_architecture=True,
    enforcement=ADVISORY,
    since="0.4.0",
)
def quorum_larger_than_row(facts: Facts, group: MemberGroup) -> Iterator[RuleProblem]:
    """Advisory, because other rules (etcd-size, galera-size, …) decide whether the size is valid."""
    row = facts.known_row(group.workloads[0])
    wanted, there = row.instances or 0, group.size(facts)
    if there > wanted and not row.at_least:
        yield RuleProblem(
            f"{there} members, a choice of this stack",
            f"{wanted} (row {row.row}, architecture {facts.required_architecture.name})",
        )


@rule(
    id="everywhere-rows-are-daemons",
    title="Services that run on every node are DaemonSets that reach all those nodes",
    severity=Severity.HIGH,
    rationale="nova-compute and the L2 agent have no fixed count: a hypervisor without them runs no virtual "
    "machines, and a storage node without ceph-osd stores no data. A fixed number of replicas leaves out nodes that "
    "are added later.",
    sources=(
        RuleSource("004", "5.4.7", 32),
        RuleSource("004", "5.4.8", 33),
        RuleSource("project", "Placement", 3),
    ),
    remediation="Make the service a DaemonSet whose node affinity and tolerations reach every node of the pools on "
    "which the architecture runs it.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: (
        workload.is_long_running and (row := facts.row(workload)) is not None and row.everywhere
    ),
    not_applicable_reason="no workload of the stack belongs to a service that runs on every node of its pools",
    needs_architecture=True,
)
def everywhere_rows_are_daemons(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Requires that the DaemonSets of a row together cover all nodes of the row's pools, each node once."""
    row = facts.known_row(workload)
    if workload.kind != "DaemonSet":
        yield RuleProblem(f"runs as a {workload.kind}", f"a DaemonSet (row {row.row})")
        return
    alike = [each for each in facts.workloads if each.kind == "DaemonSet" and facts.row(each) is row]
    reached = Counter(node.name for each in alike for node in facts.eligible(each))
    doubled = {name for name, daemons in reached.items() if daemons > 1}
    if doubled:
        yield RuleProblem(
            f"{pluralize(len(alike), 'DaemonSet')} of row {row.row} run on {join_names(doubled)}", "one per node"
        )
    missed = {node.name for node in facts.nodes if node.pool in row.runs_on} - reached.keys()
    if missed:
        yield RuleProblem(f"not eligible for {join_names(missed)}", f"every node of pools {join_names(row.runs_on)}")


@rule(
    id="every-row-has-workload",
    title="Every service of the reference architecture has a workload",
    severity=Severity.MEDIUM,
    rationale="The other rules evaluate existing workloads. Without this rule, a missing service, or a workload "
    "without the annotation of its row, would pass the audit.",
    sources=_TABLES,
    remediation="Add the service, or annotate its workload with quorate.io/row.",
    subjects=lambda facts: facts.clouds,
    not_applicable_reason="the stack has no Cloud component",
    needs_architecture=True,
)
def every_row_has_workload(facts: Facts, _cloud: CloudFacts) -> Iterator[RuleProblem]:
    """Reports each row of the architecture without a workload.

    Rows that another service replaces need none. Those of Ceph need none if the Cloud component's Ceph is external.
    """
    there = {row.row for workload in facts.workloads if workload.is_long_running and (row := facts.row(workload))}
    for row in facts.required_architecture.rows:
        if row.replaced_by is None and row.row not in there:
            yield RuleProblem(f"no workload for row {row.row}", f"one annotated quorate.io/row: {row.row}")


def _workers(facts: Facts, workload: Workload) -> list[str]:
    """Returns the values of `workers` in section [scheduler] of the workload's configuration files."""
    files = (text for each in read_by(workload, facts.config_maps) for text in _configurations(each.files))
    values = (sections(text).get("scheduler", "workers", fallback=None) for text in files)
    return [each for each in values if each]


def _configurations(files: Mapping[str, str]) -> Iterator[str]:
    return (files[name] for name in files if name.endswith(".conf"))


def _sets_workers(facts: Facts, workload: Workload) -> bool:
    row = facts.row(workload) if workload.is_long_running else None
    return row is not None and row.minimum_workers is not None and bool(_workers(facts, workload))


@rule(
    id="scheduler-workers",
    title="Nova schedulers run at least as many workers as the reference architecture requires",
    severity=Severity.LOW,
    rationale="A scheduler with fewer workers delays every new virtual machine when many are requested at once.",
    sources=(RuleSource("004", "5.3.7", 14),),
    remediation="Set `workers` in section [scheduler] of nova.conf to 3 or more, or remove it; Nova then starts one "
    "worker per core.",
    subjects=lambda facts: facts.workloads,
    applies=_sets_workers,
    not_applicable_reason="no configuration of the stack sets a scheduler's workers",
    parameters={"least": "minimum_workers of the architecture's row"},
    since="0.2.0",
)
def scheduler_workers(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares `workers` in nova.conf with the row's minimum. A missing option passes: Nova starts one per core."""
    least = facts.known_row(workload).minimum_workers or 0
    for value in _workers(facts, workload):
        if not value.isdecimal():
            raise Malformed(f"workers in section [scheduler] is '{value}', not a whole number")
        if int(value) < least:
            yield RuleProblem(f"workers = {value} in section [scheduler]", f"at least {least}")
