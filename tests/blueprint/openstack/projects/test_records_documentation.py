"""docs/records.md: its example is the made-up project of the tests, and its tables have every key of a record."""

from __future__ import annotations

import dataclasses
import re

import yaml

from blueprint.openstack.projects.process_definition import ProcessDefinition
from blueprint.openstack.projects.project_record import ProjectRecord
from tests.stacks import ROOT

PAGE = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
MADE_UP = ROOT / "tests" / "data" / "projects"


def example(language: str) -> str:
    """Returns the text of the only block of a language below the heading Example."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.partition("## Example")[2], re.DOTALL)
    return found


def test_the_example_is_the_project_that_the_tests_preview() -> None:
    assert yaml.safe_load(example("yaml")) == yaml.safe_load((MADE_UP / "sundial.yaml").read_text(encoding="utf-8"))
    assert (MADE_UP / "sundial.py").read_text(encoding="utf-8").endswith(example("python"))


def test_every_line_of_the_example_that_is_not_plain_has_a_comment() -> None:
    keys = [line for line in example("yaml").splitlines() if re.match(r"[a-z_]+:", line)]
    plain = {"title", "description", "processes"}
    assert {line.partition(":")[0] for line in keys if "#" not in line} == plain


def test_the_tables_have_every_key_of_a_record_and_of_a_process() -> None:
    tables = PAGE.partition("## Keys")[2]
    keys = {*ProjectRecord.model_fields, *(field.name for field in dataclasses.fields(ProcessDefinition))}
    assert keys - set(re.findall(r"`([a-z_]+)`", tables)) == {"project"}, "the record sets project"
