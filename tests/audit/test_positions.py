"""Tests of the lines of a stack file to which findings refer."""

from __future__ import annotations

import pytest

from audit.positions import StackFile
from policy.findings import Enforcement, Finding, Severity, Verdict

TEXT = """\
config:
  quorate:profile: production
  quorate:servers:
    - name: virt[1-2]
      vms:
        - {id: 0, name: "master[1-2]"}
        - {id: 1, name: "message[1-2"}
    - name: cmp[1-3]
"""


def about(name: str, message: str) -> Finding:
    urn = f"urn:pulumi:prod::quorate::t::{name}"
    return Finding("a-rule", Severity.LOW, Enforcement.ADVISORY, Verdict.FAIL, urn, message, "s", "r")


def key(name: str, message: str = "seen") -> str:
    return StackFile("Pulumi.prod.yaml", TEXT).key_of(about(name, message), None)


@pytest.mark.parametrize(
    ("name", "expected", "line"),
    [
        ("cloud-virt1-master1", "quorate:servers[0].vms[0]", 6),
        ("cloud-virt2", "quorate:servers[0]", 4),
        ("cmp3", "quorate:servers[1]", 8),
        ("cmp4", "quorate:profile", 2),
        ("xcmp3", "quorate:profile", 2),
    ],
)
def test_a_machine_is_at_its_entry(name: str, expected: str, line: int) -> None:
    assert key(name) == expected
    assert StackFile("Pulumi.prod.yaml", TEXT).line(expected) == line


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("master1 and master2 run on one host", "quorate:servers[0].vms[0]"),
        ("virt1 carries master1 and master2", "quorate:servers[0]"),
        ("eligible nodes span 3 physical hosts (cmp1, cmp2, cmp3); expected 4", "quorate:servers[1]"),
        ("virt1 carries cmp1", ""),
        ("cmp4 and xcmp1 are not known", ""),
    ],
)
def test_a_message_that_names_machines_of_one_entry_is_at_this_entry(message: str, expected: str) -> None:
    finding = about("quorate-prod", message)
    assert StackFile("Pulumi.prod.yaml", TEXT).cause_of(finding, None) == expected


def test_a_waiver_that_is_not_in_the_file_is_at_its_top() -> None:
    assert key("quorate-prod", "quorate:waivers[3] (a-rule, *): it expired") == "quorate:profile"
