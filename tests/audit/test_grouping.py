"""Tests that an audit shows findings with one cause once, with all resources that the cause affects."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from audit.__main__ import main
from audit.grouping import grouped
from policy.catalogue import BY_ID
from policy.findings import Enforcement, Finding, Verdict
from tests.audit.logs import log_of, written
from tests.policy.waivers import changed, written_waiver
from tests.policy.world import UNKNOWN, quorum, whole_stack, workload

RULE = BY_ID["one-instance-per-node"]


def finding(name: str, message: str = "no required anti-affinity", verdict: Verdict = Verdict.FAIL) -> Finding:
    urn = f"urn:pulumi:dev::quorate::kubernetes:apps/v1:Deployment::cloud-openstack-{name}"
    text = f"Deployment {name}: {message}"
    return Finding(RULE.id, RULE.severity, Enforcement.MANDATORY, verdict, urn, text, RULE.source, RULE.remediation)


def test_findings_that_differ_only_in_their_resource_are_one_group() -> None:
    (group,) = grouped([finding("keystone"), finding("glance"), finding("heat")])
    assert group.message == "no required anti-affinity"
    assert group.resources == "cloud-openstack-glance, cloud-openstack-heat, cloud-openstack-keystone"


def test_a_single_finding_keeps_its_whole_message() -> None:
    (group,) = grouped([finding("keystone")])
    assert group.message == "Deployment keystone: no required anti-affinity"


def test_another_cause_verdict_rule_or_waiver_is_another_group() -> None:
    waiver = written_waiver(RULE.id, "*", "a move", "Ada", date(2027, 1, 31), "Grace")
    findings = [
        finding("a"),
        finding("b", "can share a node"),
        finding("c", verdict=Verdict.NOT_EVALUATED),
        replace(finding("d"), rule="galera-size"),
        replace(finding("e", verdict=Verdict.WAIVED), waiver=waiver),
        replace(finding("f", verdict=Verdict.WAIVED), waiver=changed(waiver, owner="Bob")),
        replace(finding("g"), enforcement=Enforcement.ADVISORY),
    ]
    assert [len(group.findings) for group in grouped(findings)] == [1] * len(findings)


def test_what_one_cause_keeps_from_being_evaluated_is_one_group_for_all_rules() -> None:
    cause = "the stack describes no node"
    one, two = finding("a", cause, Verdict.NOT_EVALUATED), finding("b", cause, Verdict.NOT_EVALUATED)
    subjects = replace(one, rule="etcd-size", message=f"its subjects are not known: {cause}")
    (group,) = grouped([one, two, subjects])
    assert group.message == cause
    assert group.rules == (RULE.id, "etcd-size")
    assert (group.count, group.resources) == (2, "cloud-openstack-a, cloud-openstack-b")


def test_a_message_about_another_resource_is_kept_whole() -> None:
    """Its start names the cause, not the resource that the finding is reported on."""
    other = replace(finding("glance"), message="Deployment keystone: 30 replicas fill the pool")
    (group,) = grouped([other, replace(other, resource=other.resource.replace("glance", "heat"))])
    assert group.message == "Deployment keystone: 30 replicas fill the pool"


def test_the_views_show_a_cause_once_with_its_count(tmp_path: Path) -> None:
    many = [workload(f"store-{number:02}", row="keystone-all", apart=()) for number in range(20)]
    unknown = [quorum(replicas=UNKNOWN) if each.name == "rabbitmq" else each for each in whole_stack()]
    events = written(log_of([*unknown, *many]), tmp_path / "events.jsonl")
    assert main(["--events", str(events), "--stack", "prod", "--out", str(tmp_path)]) == 1
    html, markdown = ((tmp_path / form).read_text(encoding="utf-8") for form in ("audit.html", "audit.md"))
    findings = markdown.partition("### Findings")[2].partition("<details>")[0]
    entries = [entry for entry in findings.split("\n- ") if "one-instance-per-node on 20 resources: " in entry]
    assert len(entries) == 1
    assert "store-00, store-01" in entries[0]
    assert "and 8 more" in entries[0]
    assert f"Fix: {RULE.remediation}" in entries[0]
    assert f"Source: {RULE.source}" in entries[0]
    assert html.count('<span class="resource">20 resources</span>') >= 1


def test_rules_that_need_attention_come_first(tmp_path: Path) -> None:
    broken = [quorum(apart=()) if each.name == "rabbitmq" else each for each in whole_stack()]
    waiver = written_waiver("one-instance-per-node", "rabbitmq", "a move", "Ada", date(2027, 1, 31), "Grace")
    events = written(log_of(broken, "production", waiver), tmp_path / "events.jsonl")
    main(["--events", str(events), "--stack", "prod", "--out", str(tmp_path)])
    html, markdown = ((tmp_path / form).read_text(encoding="utf-8") for form in ("audit.html", "audit.md"))
    failed, waived, passed = "one-member-per-server", "one-instance-per-node", "instances-match-row"
    for text, marker in ((html, 'id="{}"'), (markdown, "| {}: "), (markdown, "<summary>{}: ")):
        places = [text.index(marker.format(rule)) for rule in (failed, waived, passed)]
        assert places == sorted(places), marker
