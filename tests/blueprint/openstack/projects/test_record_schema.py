"""The published JSON Schema of records is the model's own, and the records keep to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from blueprint.openstack.projects.record_schema import record_schema
from blueprint.openstack.projects.records import FOLDER
from tests.stacks import ROOT

PUBLISHED = ROOT / "schemas" / "project.schema.json"


def errors(document: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf-8")))
    return [error.json_path for error in validator.iter_errors(document)]  # pyright: ignore[reportUnknownMemberType]


def test_the_published_schema_is_in_step() -> None:
    said = "write it again: quorate schema --project > schemas/project.schema.json"
    assert PUBLISHED.read_text(encoding="utf-8") == record_schema(), said


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_records_keep_to_it(path: Path) -> None:
    assert errors(yaml.safe_load(path.read_text(encoding="utf-8"))) == []


def test_it_refuses_what_the_model_refuses() -> None:
    document = yaml.safe_load((FOLDER / "glance.yaml").read_text(encoding="utf-8"))
    document["databases"] = "glance"
    document["processes"][0]["project"] = "nova"
    document["processes"][0]["containers"][0]["ready"] = {"kind": "http", "path": "/"}
    document["processes"][0]["sizes"]["lab"]["cpu_m"] = 0
    assert set(errors(document)) == {
        "$.databases",
        "$.processes[0]",
        "$.processes[0].containers[0].ready",
        "$.processes[0].sizes.lab.cpu_m",
    }
