"""Alerts that the rendered rules raise, by the real promtool: with metrics that a test writes, at any moment."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from openstack import configuration
from openstack.config.formats import public_text
from tests.stacks import full_size, parsed
from tests.trials.services.monitoring import RULES
from trials.services.testbed import ServiceMachine


@cache
def rules(members: int) -> str:
    """The rules of a stack with OVN, with so many members of Galera, and three of every other quorum."""
    asked = {"services": {"mysqld": {"replicas": members}}, "networks": {"backend": "ovn"}}
    stack = full_size("1000", computes=4, controllers=27 + members, **asked)
    return rules_of(plan(parsed(stack)))


def rules_of(made: Plan) -> str:
    """The rules of a stack."""
    written = {file.name: file for file in configuration.of_service(made, "influxdb-grafana")}
    return public_text(written["alerts.yml"]) or ""


class Metrics:
    """What Prometheus reads of a quorum's members every 15 seconds, in promtool's form; for 25 minutes."""

    def __init__(self, quorum: str, members: list[str]) -> None:
        self.quorum, self.members = quorum, members
        self.lines = [self._line("up", member, "1x100") for member in members]

    def each(self, metric: str, values: str, **labels: str) -> Metrics:
        """Adds a metric with the same values for all members."""
        self.lines += [self._line(metric, member, values, **labels) for member in self.members]
        return self

    def gone(self, member: str) -> Metrics:
        """Lets a member stop answering after five minutes."""
        mine = [line for line in self.lines if f'member="{member}"' in line["series"]]
        for line in mine:
            answer = line["values"].partition("x")[0]
            line["values"] = "1x19 0x80" if line["series"].startswith("up{") else f"{answer}x19 stale"
        return self

    def one(self, member: str, metric: str, values: str, **labels: str) -> Metrics:
        """Adds a metric of one member."""
        self.lines.append(self._line(metric, member, values, **labels))
        return self

    def _line(self, metric: str, member: str, values: str, **labels: str) -> dict[str, str]:
        named = {"job": self.quorum, "instance": member, "member": member} | labels
        words = ", ".join(f'{name}="{value}"' for name, value in named.items())
        return {"series": f"{metric}{{{words}}}", "values": values}


def raised(
    tool: ServiceMachine, text: str, metrics: Metrics, minutes: str, group_name: str = ""
) -> dict[str, tuple[str, str]]:
    """The alerts of promtool after so many minutes: severity and summary by name.

    Promtool reports only what differs from an expectation; none is expected here, so it reports all. `group_name`: the
    group of rules whose alerts are asked for; that of the metrics' quorum if it is not given.
    """
    group = _groups(text)[group_name or metrics.quorum]
    names = sorted({each["alert"] for each in group["rules"] if "alert" in each})
    wanted: list[dict[str, Any]] = [{"eval_time": minutes, "alertname": name, "exp_alerts": []} for name in names]
    case = {"interval": "15s", "input_series": metrics.lines, "alert_rule_test": wanted}
    document = {"rule_files": [RULES], "evaluation_interval": "15s", "tests": [case]}
    tool.write(RULES, json.dumps({"groups": [group]}))  # promtool would evaluate all others too
    tool.write("/etc/case.yml", json.dumps(document))
    said = tool.run(["sh", "-c", "promtool test rules /etc/case.yml 2>&1"], check=False)
    assert "SUCCESS" in said or "got:[" in said, said
    found = [line.strip() for line in said.splitlines() if "Labels:{" in line or "Annotations:{" in line]
    pairs = zip(found[::2], found[1::2], strict=True)
    return {
        _between(labels, 'alertname="'): (_between(labels, 'severity="'), _between(notes, 'summary="'))
        for labels, notes in pairs
    }


@cache
def _groups(text: str) -> dict[str, Any]:
    return {each["name"]: each for each in yaml.safe_load(text)["groups"]}


def _between(text: str, start: str) -> str:
    return text.partition(start)[2].partition('"')[0].strip()
