"""Quorate has one version: that of the package, the policy pack, the changelog, and the newest rule."""

from __future__ import annotations

import re
import tomllib

import yaml

from policy.catalogue import RULES
from tests.stacks import ROOT

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_the_policy_pack_has_the_version_of_the_package() -> None:
    assert yaml.safe_load((ROOT / "policy" / "PulumiPolicy.yaml").read_text(encoding="utf-8"))["version"] == VERSION


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (first, *_) = re.findall(r"^## (\S+)", text, re.MULTILINE)
    assert first == VERSION


def test_the_page_of_masters_names_the_kubernetes_that_tests_build() -> None:
    (built,) = re.findall(
        r"k8s\.io/kubernetes v(\S+) // indirect", (ROOT / "toolchain/cluster/kubernetes/go.mod").read_text("utf-8")
    )
    assert f"tests run {built})" in (ROOT / "docs/masters.md").read_text(encoding="utf-8")


def test_no_rule_is_of_a_later_version() -> None:
    assert max(numbers(rule.since) for rule in RULES) <= numbers(VERSION)
