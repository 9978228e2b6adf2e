"""The published JSON Schema is the models' own, and the shipped stack files keep to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from blueprint.stackfile.schema import schema
from tests.stacks import ROOT, STACKS

PUBLISHED = ROOT / "schemas" / "stack.schema.json"


def errors(document: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf-8")))
    return [error.json_path for error in validator.iter_errors(document)]  # pyright: ignore[reportUnknownMemberType]


def test_the_published_schema_is_in_step() -> None:
    said = "write it again: quorate schema > schemas/stack.schema.json"
    assert PUBLISHED.read_text(encoding="utf-8") == schema(), said


@pytest.mark.parametrize("path", STACKS.values(), ids=list(STACKS))
def test_shipped_stacks_keep_to_it(path: Path) -> None:
    assert errors(yaml.safe_load(path.read_text(encoding="utf-8"))) == []


def test_it_refuses_what_the_models_refuse() -> None:
    document = yaml.safe_load(STACKS["dev"].read_text(encoding="utf-8"))
    document["config"]["quorate:profil"] = "lab"
    document["config"]["quorate:servers"][0]["vms"][0]["cpu"] = "four"
    document["config"]["kubernetes:context"] = "not ours to judge"
    assert set(errors(document)) == {"$.config", "$.config['quorate:servers'][0].vms[0].cpu"}
