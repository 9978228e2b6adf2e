"""Tests that an audit shows findings with one cause once, with all resources that the cause affects."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from html import unescape
from pathlib import Path

import pytest

from audit.__main__ import main
from audit.grouping import MOST, causes, grouped
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


def at_service(each: Finding) -> str:
    return "quorate:services.keystone" if "keystone" in each.resource else ""


def test_all_that_fails_at_one_place_is_one_cause() -> None:
    first, other = finding("keystone-api"), finding("glance")
    advised = replace(finding("keystone"), rule="galera-size", enforcement=Enforcement.ADVISORY)
    place, rest = causes([first, other, advised], at_service)
    assert (place.key, place.findings) == ("quorate:services.keystone", (first, advised))
    assert [each.rules for each in place.by_rule] == [(RULE.id,), ("galera-size",)]
    assert (rest.key, rest.findings) == ("", (other,))


def test_one_finding_at_a_place_is_with_the_others_of_its_rule() -> None:
    given = [finding("keystone", "1 node"), finding("glance", "2 nodes")]
    (cause,) = causes(given, at_service)
    assert (cause.key, cause.rules, cause.resources, len(cause.groups)) == ("", (RULE.id,), 2, 2)


def test_a_place_is_no_cause_of_what_was_not_evaluated() -> None:
    unknown = finding("keystone", verdict=Verdict.NOT_EVALUATED)
    found = causes([unknown, finding("keystone"), finding("keystone-api")], at_service)
    assert [each.key for each in found] == ["", "quorate:services.keystone"]
    assert found[0].findings == (unknown,)


STACK_FILE = """\
config:
  quorate:services:
    rabbitmq:
      replicas: 4
"""


def test_every_view_names_the_line_at_which_several_rules_fail_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prod.yaml").write_text(STACK_FILE, encoding="utf-8")
    four = [quorum(replicas=4) if each.name == "rabbitmq" else each for each in whole_stack()]
    events = written(log_of(four), tmp_path / "events.jsonl")
    main(["--events", str(events), "--stack", "prod", "--out", str(tmp_path), "--stack-file", f"{tmp_path}/prod.yaml"])
    terminal = capsys.readouterr().out
    place = "prod.yaml, line 4"
    assert f"{place} (quorate:services.rabbitmq.replicas): 4 rules fail\n  - one-member-per-server: " in terminal
    html, markdown = ((tmp_path / form).read_text(encoding="utf-8") for form in ("audit.html", "audit.md"))
    assert [text.count(place) for text in (terminal, html, markdown)] == [1, 1, 1]
    assert f"{place} (`quorate:services.rabbitmq.replicas`): 4 rules fail\n  - **critical** one-member-" in markdown
    article = html.partition(place)[2].partition("</article>")[0]
    assert "4 rules fail at this place" in article
    for rule in ("one-member-per-server", "rabbitmq-size", "replicas-fit-nodes", "quorum-larger-than-row"):
        assert f'href="#{rule}"' in article


def test_unlike_messages_of_one_rule_are_shown_once_each_up_to_a_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = [workload(f"shop-{number:02}", row="keystone-all", replicas=number + 4) for number in range(MOST + 5)]
    events = written(log_of([*whole_stack(), *many]), tmp_path / "events.jsonl")
    main(["--events", str(events), "--stack", "prod", "--out", str(tmp_path)])
    terminal = capsys.readouterr().out
    assert terminal.count("] replicas-fit-nodes: ") == MOST + 1
    assert "replicas-fit-nodes: 5 more, in the report" in terminal
    html, markdown = (unescape((tmp_path / form).read_text(encoding="utf-8")) for form in ("audit.html", "audit.md"))
    findings = markdown.partition("### Findings")[2].partition("### Loss")[0]
    fix = BY_ID["replicas-fit-nodes"].remediation
    assert findings.count(f"Fix: {fix}") == 1
    assert "5 more of this rule are in findings.json" in findings
    shown = html.partition('<h2 id="findings">')[2].partition("</section>")[0]
    assert shown.count(fix) == 1
    assert "<summary>5 more of this rule</summary>" in shown


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
