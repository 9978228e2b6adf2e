"""The rules of the three deployers: each can be reached, and names what Quorate has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from blueprint import imports, yaml_file
from blueprint.imports.import_lines import ImportLine
from blueprint.imports.import_rules import DeploymentRules, GivenSetting, InventoryRules, KeyRule, load_rules, rule_of
from blueprint.openstack import options
from blueprint.openstack.projects.records import all_own_records, own_records
from blueprint.stackfile.settings import Settings
from contract import CONTROLLER_POOL

FOLDER = Path(imports.__file__).parent
INVENTORIES = [load_rules(name, InventoryRules) for name in ("kolla", "kubespray")]
DEPLOYMENT = load_rules("rockoon", DeploymentRules)


def key_rules() -> Iterator[KeyRule]:
    for rules in INVENTORIES:
        yield from rules.variables
    yield from DEPLOYMENT.keys


@pytest.mark.parametrize("name", imports.FORMATS)
def test_the_files_have_no_pitfall_of_yaml(name: str) -> None:
    assert yaml_file.read(FOLDER / f"{name}.yaml", "rules")


@pytest.mark.parametrize("rule", list(key_rules()), ids=lambda rule: rule.keys[0])
def test_settings_exist(rule: KeyRule) -> None:
    known = {field.alias or name for name, field in Settings.model_fields.items()}
    records = own_records()
    for path in (*(each.path for each in rule.gives), *([rule.on_node] if rule.on_node else [])):
        assert path[0] in known
        match path:
            case ("projects", project):
                assert all_own_records()[project].optional
            case ("projects", project, "options", file, *_):
                assert file in options.files_by_project(records)[project]
            case ("services", service, "replicas", *_):
                assert service in {*records.processes, "elasticsearch-kibana", "influxdb-grafana", "nagios"}
            case _:
                pass


@pytest.mark.parametrize("rules", [INVENTORIES[0].variables, INVENTORIES[1].variables, DEPLOYMENT.keys])
def test_every_key_has_the_rule_that_names_it(rules: tuple[KeyRule, ...]) -> None:
    """A rule after a wider one would never be used."""
    for rule in rules:
        for key in rule.keys:
            path = tuple(key.replace("*", "any").split("."))
            assert rule_of(rules, (*path, "below") if rule.below else path) is rule, key


@pytest.mark.parametrize("rules", INVENTORIES, ids=lambda rules: rules.title)
def test_every_group_is_named_once(rules: InventoryRules) -> None:
    names = [name for part in (rules.roles, rules.services, rules.others) for each in part for name in each.names]
    assert sorted(names) == sorted(set(names))
    assert {service for each in rules.services for service in each.services} <= {
        *own_records().processes,
        *(row for row in ("elasticsearch-kibana", "influxdb-grafana", "nagios", "mysqld")),
    }


def test_each_sentence_says_something() -> None:
    for rules in INVENTORIES:
        assert all(bool(each.same) != bool(each.left_out) for each in rules.others)
        assert CONTROLLER_POOL in {*(each.role for each in rules.roles), *rules.worker_roles}
    with pytest.raises(ValidationError, match="write gives, left_out or same"):
        KeyRule(keys=("a",))
    with pytest.raises(ValidationError, match="for other values"):
        KeyRule(keys=("a",), gives=(GivenSetting(path=("region",)),), values={"a": "b"})


RULE = KeyRule(
    keys=("a.*.c",),
    same=(False, "x"),
    values={"1": "one", "True": "yes"},
    gives=(GivenSetting(path=("projects", "{1}")), GivenSetting(path=("region",), value="R")),
    note="n",
    left_out="other",
)


@pytest.mark.parametrize(
    ("value", "fate", "text"),
    [
        (False, "same", "n"),
        ("x", "same", "n"),
        (0, "left out", "other"),
        (1, "becomes", "quorate:projects.b and quorate:region; n"),
        (True, "becomes", "quorate:projects.b and quorate:region; n"),
        ("y", "left out", "other"),
        (None, "left out", "other"),
        ({}, "left out", "other"),
    ],
)
def test_what_a_value_becomes(value: object, fate: str, text: str) -> None:
    line = RULE.line("key", ("a", "b", "c"), value)
    assert (line.fate, line.text) == (fate, text)
    if fate == "becomes":
        assert [(each.path, each.value) for each in line.settings] == [
            (("projects", "b"), "yes" if value is True else "one"),
            (("region",), "R"),
        ]


@pytest.mark.parametrize("value", [{"a": 1}, [{}], [["a"]]])
def test_only_plain_values_become_settings(value: object) -> None:
    line = KeyRule(keys=("a",), gives=(GivenSetting(path=("region",)),)).line("a", ("a",), value)
    assert line == ImportLine("a", "left out", line.text)


def test_the_widest_rule_comes_last() -> None:
    rules = (KeyRule(keys=("a",), below=True, left_out="below"), KeyRule(keys=("a.b",), left_out="exact"))
    assert [rule_of(rules, path) for path in (("a", "b"), ("a", "c"), ("a",), ("b",))] == [
        rules[1],
        rules[0],
        rules[0],
        None,
    ]
