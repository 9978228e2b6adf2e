"""The audit's documents, from complete and from incomplete event logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from audit import markdown
from audit.__main__ import main
from policy.catalogue import RULES
from policy.engine import record
from tests.audit.logs import Event, error, log_of, written
from tests.policy.waivers import changed, written_waiver
from tests.policy.world import HOST, UNKNOWN, Given, cloud, quorum, whole_stack, workload

FORMS = {"findings.json", "audit.html", "audit.md", "audit.sarif", "audit.junit.xml"}
SCHEMA = json.loads((Path(__file__).parent.parent.parent / "schemas/findings.schema.json").read_text(encoding="utf-8"))

BROKEN = [quorum(apart=()) if each.name == "rabbitmq" else each for each in whole_stack()]
UNDECIDED = [quorum(replicas=UNKNOWN) if each.name == "rabbitmq" else each for each in whole_stack()]


def in_lab(given: list[Given]) -> list[Given]:
    """Returns the resources with a Cloud of the profile lab."""
    return [cloud(profile="lab") if each.name == "cloud" else each for each in given]


class Report:
    """The documents that `python -m audit` wrote for a log."""

    def __init__(self, code: int, directory: Path) -> None:
        self.code = code
        self.json: dict[str, Any] = json.loads((directory / "findings.json").read_text(encoding="utf-8"))
        self.markdown = (directory / "audit.md").read_text(encoding="utf-8")
        self.page = (directory / "audit.html").read_text(encoding="utf-8")
        jsonschema.validate(self.json, SCHEMA)

    def resources(self, rule: str, verdict: str) -> set[str]:
        found = [each for each in self.json["findings"] if each["rule"] == rule and each["verdict"] == verdict]
        return {each["resource"].rpartition("::")[2] for each in found}

    @property
    def problems(self) -> str:
        return "\n".join(self.json["summary"]["problems"])


@pytest.fixture
def report(tmp_path: Path) -> Callable[[list[Event]], Report]:
    def make(events: list[Event]) -> Report:
        log = written(events, tmp_path / "events.jsonl")
        code = main(["--events", str(log), "--stack", "prod", "--out", str(tmp_path / "out")])
        assert {path.name for path in (tmp_path / "out").iterdir()} == FORMS
        return Report(code, tmp_path / "out")

    return make


Reports = Callable[[list[Event]], Report]

NOT_APPLICABLE = {
    "one-manager-per-volume",
    "carriers-have-own-pods",
    "migrations-are-encrypted",
    "nova-reserves-host",
    "network-policy-admits-tunnels",
    "ceph-in-storage-network",
    "migrations-in-migration-network",
    "tunnels-in-overlay-network",
    "virtual-voters-come-back",
    "namespace-level-admits-members",
    "quorum-workloads-roll-in-turn",
    "ceph-acknowledges-two-copies",
    "alone-on-own-nodes",
    "api-requests-in-flight",
    "api-server-lists-etcd",
    "autoscaler-keeps-members",
    "certificates-read-only",
    "command-asks-quorum",
    "commands-one-machine-at-a-time",
    "controllers-on-different-servers",
    "dns-scale",
    "domain-gives-what-is-said",
    "domains-on-different-hypervisors",
    "host-access-where-needed",
    "hypervisor-known",
    "images-pinned",
    "ingress-uses-tls",
    "lab-profile-fits",
    "leader-election",
    "live-upgrade-has-operation",
    "liveness-asks-the-member",
    "liveness-is-patient",
    "majority-survives-change",
    "masters-fit-cluster",
    "members-rollout-is-awaited",
    "members-volumes-keep-data",
    "monitoring-node-size",
    "monitoring-on-its-nodes",
    "mounts-keep-barriers",
    "one-member-at-a-time",
    "one-server-at-a-time",
    "one-storage-node-at-a-time",
    "one-version-at-a-time",
    "patches-leave-members",
    "pod-fits-node",
    "priorities-spare-members",
    "proxysql-single-writer",
    "quorum-nodes-pinned",
    "quorum-size",
    "quorum-survives-rack",
    "quotas-admit-members",
    "readiness-can-fail",
    "rendered-images-pinned",
    "requests-fit-after-loss",
    "room-in-any-order",
    "route-reflectors",
    "scheduler-workers",
    "server-label-is-true",
    "upgrade-after-backup",
    "authority-trusted-before-use",
    "distributed-routers-on-computes",
    "sriov-devices-have-agents",
    "version-step-supported",
    "virt-disclaimers-acknowledged",
    "virt-host-is-protected",
    "virt-host-leaves-empty",
    "virt-is-asked-for",
    "virt-mixes-with-compute-only",
    "virtual-disks-flush",
    "vms-fit-their-host",
    "waiver-is-approved",
    "waiver-is-used",
    "waiver-names-rule",
    "waiver-not-expired",
    "waiver-within-limits",
    "webhooks-admit-members",
}
"""To the whole stack of tests/policy/world.py: it has no virtual machines, no configuration files and no sizes."""


def test_a_stack_that_breaks_no_rule(report: Reports) -> None:
    made = report(log_of(whole_stack()))
    assert made.code == 0
    assert made.json["summary"]["verdict"] == "pass"
    counts = {"pass": len(RULES) - len(NOT_APPLICABLE), "notApplicable": len(NOT_APPLICABLE)}
    assert made.json["summary"]["rules"] == {**counts, "fail": 0, "notEvaluated": 0, "waived": 0}
    assert (made.json["profile"], made.json["architecture"]) == ("production", "100")
    assert made.resources("galera-size", "pass") == {"mysqld"}
    for rule in NOT_APPLICABLE:
        assert made.resources(rule, "notApplicable") == {"quorate-test"}, rule
    assert made.markdown.startswith("## Audit of `prod`: passed\n")


def test_how_much_was_evaluated_is_told(report: Reports) -> None:
    made = report(log_of(whole_stack()))
    counts = made.json["summary"]["resources"]
    assert counts["unknown"] == 0
    assert sum(counts.values()) == len(whole_stack())
    assert f"{counts['evaluated']} evaluated by at least one rule" in made.markdown


def test_what_no_rule_reads_is_named(report: Reports) -> None:
    made = report(log_of([*whole_stack(), Given("kubernetes:helm.sh/v3:Release", "release", {})]))
    assert made.json["summary"]["types"]["kubernetes:helm.sh/v3:Release"]["unknown"] == 1
    assert "No rule reads these types: kubernetes:helm.sh/v3:Release (1)" in made.markdown


def test_a_broken_rule(report: Reports) -> None:
    made = report(log_of(BROKEN))
    assert made.code == 1
    assert made.problems == ""
    assert made.resources("one-member-per-server", "fail") == {"rabbitmq"}
    assert made.resources("one-member-per-server", "pass") == {
        "mysqld",
        "ceph-mon",
        "elasticsearch-kibana",
    }
    assert "## Audit of `prod`: failed" in made.markdown
    assert "- **critical** one-member-per-server on rabbitmq: StatefulSet rabbitmq: physical host" in made.markdown


def test_a_broken_rule_in_a_lab(report: Reports) -> None:
    made = report(log_of(in_lab(BROKEN), "lab"))
    assert made.code == 0
    assert made.resources("one-member-per-server", "fail") == {"rabbitmq"}
    assert "3 advisory findings" in made.markdown


def test_what_was_not_evaluated_has_not_passed(report: Reports) -> None:
    made = report(log_of(UNDECIDED))
    assert made.code == 1
    assert made.resources("rabbitmq-size", "notEvaluated") == {"rabbitmq"}
    assert report(log_of(in_lab(UNDECIDED), "lab")).code == 0


def test_a_log_without_the_packs_own_record(report: Reports) -> None:
    """The engine's events name failures and passed rules; a rule in neither may have applied or not."""
    made = report(log_of(BROKEN, with_record=False))
    assert made.resources("one-member-per-server", "fail") == {"rabbitmq"}
    assert made.resources("galera-size", "pass") == {"quorate-test"}
    assert made.resources("server-label-is-true", "notEvaluated") == {"quorate-test"}
    finding = next(each for each in made.json["findings"] if each["verdict"] == "fail")
    assert finding["message"].startswith("StatefulSet rabbitmq: no required anti-affinity")


def test_the_sources_of_every_rule(report: Reports) -> None:
    """Each is one sentence with its paraphrase, in the JSON and in the page."""
    made = report(log_of(whole_stack()))
    assert list(made.json["sources"]) == [rule.id for rule in RULES]
    assert made.json["sources"]["etcd-members-agree"] == [
        {
            "document": "004",
            "section": "5.5.9",
            "sentence": 5,
            "says": "[static validation should] check that the etcd cluster satisfies its quorum",
            "why": "",
        },
        {
            "document": "project",
            "section": "Quorums",
            "sentence": 8,
            "says": "all etcd members are configured with the same member list",
            "why": "the document requires a quorum; members with different lists form separate clusters",
        },
    ]
    assert "project rule, Quorums (8)" in made.page
    assert "members with different lists form separate clusters" in made.page


def test_a_rule_that_is_not_in_the_record(report: Reports) -> None:
    run = log_of(whole_stack())
    assert run.record
    run.record = replace(run.record, rules=tuple(each for each in run.record.rules if each.rule != "galera-size"))
    made = report(run)
    assert made.code == 1
    assert made.resources("galera-size", "notEvaluated") == {"quorate-test"}


def without(kind: str) -> Callable[[list[Event]], list[Event]]:
    return lambda events: [event for event in events if kind not in event]


BAD_LOGS: dict[str, tuple[Callable[[list[Event]], list[Event]], str]] = {
    "empty": (lambda _events: [], "is empty: no preview has run"),
    "cut short": (lambda events: events[:-1], "has no end: the preview was interrupted"),
    "without the pack": (without("policyAnalyzeStackSummaryEvent"), "the policy pack did not evaluate the stack"),
    "of a program that failed": (
        lambda events: [*events[:3], error("Program failed with an unhandled exception"), error("preview failed")],
        "the preview failed: Program failed with an unhandled exception",
    ),
    "that failed without a word": (
        lambda events: [*events[:-1], {"summaryEvent": {"result": "failed"}}],
        "ended as 'failed' without an error message",
    ),
    "stopped by another pack": (
        lambda events: [*events, {"policyEvent": {"policyPackName": "other", "enforcementLevel": "mandatory"}}],
        "policies of another pack stop the preview: other",
    ),
    "of a rule that is not ours": (
        lambda events: [*events, {"policyEvent": {"policyPackName": "quorate", "policyName": "x-y"}}],
        "the engine reports a rule that is not in this pack: x-y",
    ),
    "whose record hides a violation": (
        lambda events: [
            *events,
            {"policyEvent": {"policyPackName": "quorate", "policyName": "etcd-size", "enforcementLevel": "mandatory"}},
        ],
        "etcd-size: the engine reports 1 violations, the pack's record has 0",
    ),
}


@pytest.mark.parametrize("name", BAD_LOGS)
def test_a_log_that_cannot_be_believed(name: str, report: Reports) -> None:
    spoil, problem = BAD_LOGS[name]
    run = log_of(whole_stack())
    made = report(run.but(spoil(run)))
    assert made.code == 1
    assert problem in made.problems
    assert made.json["summary"]["verdict"] == "fail"
    assert "The audit is unreliable:" in made.markdown


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"version": 9}', "verdicts of version 9; this program reads version 5"),
        ("{", "cannot be read"),
        ('{"version": 5, "rules": []}', "cannot be read: 'coverage'"),
    ],
)
def test_a_record_that_cannot_be_read(text: str, problem: str, tmp_path: Path) -> None:
    log = written(log_of(whole_stack()), tmp_path / "events.jsonl")
    log.with_name(record.FILE).write_text(text, encoding="utf-8")
    assert main(["--events", str(log), "--stack", "prod", "--out", str(tmp_path / "out")]) == 1
    assert problem in "\n".join(json.loads((tmp_path / "out/findings.json").read_text())["summary"]["problems"])


def test_a_log_that_ends_in_the_middle_of_an_event(tmp_path: Path) -> None:
    log = written(log_of(whole_stack()), tmp_path / "events.jsonl")
    log.write_bytes(log.read_bytes()[:-20])
    assert main(["--events", str(log), "--stack", "prod", "--out", str(tmp_path)]) == 1
    assert "is not a complete event: the log is truncated" in (tmp_path / "audit.md").read_text(encoding="utf-8")


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    assert main(["--events", str(tmp_path / "none"), "--stack", "prod", "--out", str(tmp_path / "out")]) == 1
    assert "cannot be read" in (tmp_path / "out/audit.md").read_text(encoding="utf-8")


def test_an_update_is_judged_by_its_last_phase(report: Reports) -> None:
    """`pulumi up` previews first; its events count from zero again."""
    last = log_of(whole_stack())
    assert report(last.but([*log_of(BROKEN), *last])).code == 0


def test_the_same_log_gives_the_same_documents(report: Reports) -> None:
    """The documents do not depend on the order in which the engine sends resources."""
    one = report(log_of(whole_stack()))
    other = report(log_of(list(reversed(whole_stack()))))
    assert (one.json, one.markdown) == (other.json, other.markdown)


def test_a_comment_fits_into_a_pull_request(report: Reports) -> None:
    """A comment has a limited length, however many rules are broken."""
    many = [quorum(f"store-{number}", "mysqld-server", apart=(), replicas=4) for number in range(120)]
    made = report(log_of([*whole_stack(), *many]))
    assert len(made.markdown) < 65_536
    assert "108 more of this rule are in findings.json" in made.markdown


def test_findings_that_do_not_fit_are_counted(report: Reports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MOST", 6000)
    made = report(log_of([*whole_stack(), *(quorum(f"store-{n}", "mysqld-server", replicas=4) for n in range(120))]))
    assert "more are in findings.json" in made.markdown.partition("### Loss")[0]


def test_a_comment_fits_however_much_is_waived(report: Reports) -> None:
    waiver = written_waiver("one-instance-per-node", "store-*", "because " * 2000, "Ada", date(2027, 1, 31), "Grace")
    many = [workload(f"store-{number}", row="keystone-all", apart=()) for number in range(120)]
    made = report(log_of([*whole_stack(), *many], "production", waiver))
    assert made.resources("one-instance-per-node", "waived") == {each.name for each in many}
    assert len(made.markdown) < 65_536
    assert "one-instance-per-node on 120 resources: " in made.markdown


def test_names_are_no_markup(report: Reports) -> None:
    odd = Given("quorate:k8s:Etcd", "a|b<script>", {"members": []})
    made = report(log_of([*whole_stack(), odd]))
    assert "<script>" not in made.markdown
    assert "a&#124;b&lt;script&gt;" in made.markdown


HOSTILE = "```\n@everyone ![x](https://evil.example/x.png) <!-- x --> \x1b[2J"


def test_names_and_waivers_have_no_effect_in_a_comment_or_on_a_terminal(
    report: Reports, capsys: pytest.CaptureFixture[str]
) -> None:
    waiver = written_waiver("one-instance-per-node", "store-*", HOSTILE, HOSTILE, date(2027, 1, 31), "Grace")
    odd = Given("quorate:k8s:Etcd", HOSTILE, {"members": []})
    made = report(
        log_of([*whole_stack(), odd, workload("store-1", row="keystone-all", apart=())], "production", waiver)
    )
    assert "Waived until 2027-01-31 by &#96;&#96;&#96; @&#8203;everyone" in made.markdown
    for effect in ("```", "@everyone", "![", "https://", "<!--", "\x1b"):
        assert effect not in made.markdown
    assert "\x1b" not in capsys.readouterr().out


def test_the_terminal_shows_what_stops_an_update_first_and_ends_with_the_verdict(
    report: Reports, capsys: pytest.CaptureFixture[str]
) -> None:
    waiver = written_waiver("one-instance-per-node", "store-*", "it moves", "Ada", date(2027, 1, 31), "Grace")
    unused = changed(waiver, rule="etcd-size")
    store = workload("store-1", row="keystone-all", apart=())
    assert report(log_of([*BROKEN, store], "production", waiver, unused)).code == 1
    *lines, verdict = capsys.readouterr().out.splitlines()
    levels = [line.partition("]")[0].removeprefix("[") for line in lines]
    assert set(levels) == {"mandatory", "advisory", "waived"}
    assert levels == sorted(levels, key=["mandatory", "advisory", "waived"].index)
    assert verdict.startswith("Audit of prod failed: rules ")


def on_one_server() -> list[Given]:
    """The whole stack with a Galera whose members may all be on the server s1."""
    labels = {"quorate.io/server": "s1", "quorate.io/pool": "mysqld"}
    stack = [
        each.but(server="s1", labels=labels) if each.name.startswith("mysqld-") else each for each in whole_stack()
    ]
    apart = quorum("mysqld", "mysqld-server", apart=(HOST,))
    return [apart if each.name == "mysqld" else each for each in stack]


def test_the_loss_of_each_server_is_in_every_form(report: Reports) -> None:
    made = report(log_of(whole_stack()))
    lost = {server: group["lost"] for group in made.json["losses"] for server in group["servers"]}
    (member,) = [each for each in lost["mysqld-1"] if each["quorum"] == "mysqld"]
    assert (member["lost"], member["left"], member["needs"], member["stands"]) == (1, 2, 2, True)
    assert "mysqld keeps 2 of 3, majority kept" in made.markdown
    together = report(log_of(on_one_server()))
    assert "majority lost" in together.markdown
    assert "majority lost" not in made.markdown
    assert any(not each["stands"] for group in together.json["losses"] for each in group["lost"])


def test_controls_of_frameworks_have_the_verdict_of_their_rules(report: Reports) -> None:
    """A Galera on a single server does not survive its failure, which is level 1 of SCS-0118."""
    verdicts: list[str] = []
    for given in (whole_stack(), on_one_server()):
        made = report(log_of(given))
        controls = {each["control"]: each for each in made.json["frameworks"]}
        verdicts.append(controls["SCS-0118-L1"]["verdict"])
        assert controls["SCS-0118-L4"]["verdict"] is None
        assert "| SCS-0118-L1 |" in made.markdown
    assert verdicts == ["pass", "fail"]
