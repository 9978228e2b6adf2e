"""Kubernetes objects as documents: the names of their fields are the SDK's."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest
from pulumi._types import input_type_py_to_pulumi_names, is_input_type

from components.kubernetes_api import core, document, field_name, meta

COMPONENTS = Path(__file__).parents[2] / "components"
MODULES = ("apps", "batch", "core", "meta", "policy", "scheduling", "storage")


@pytest.mark.parametrize("module", MODULES)
def test_every_field_has_the_name_that_the_sdk_gives_it(module: str) -> None:
    classes = vars(importlib.import_module(f"pulumi_kubernetes.{module}.v1")).values()
    inputs = [each for each in classes if inspect.isclass(each) and is_input_type(each)]
    names = {python: api for each in inputs for python, api in input_type_py_to_pulumi_names(each).items()}
    assert names
    assert {python: field_name(python) for python in names} == names


def test_arguments_are_a_document_without_what_is_none() -> None:
    labels = meta.LabelSelectorArgs(match_labels={"app_name": "left as it is"})
    spec = core.ServiceSpecArgs(cluster_ip="None", type=None, publish_not_ready_addresses=False)
    assert labels == {"matchLabels": {"app_name": "left as it is"}}
    assert spec == document(cluster_ip="None", publish_not_ready_addresses=False)
    assert core.ProbeArgs(exec_=core.ExecActionArgs(command=["true"])) == {"exec": {"command": ["true"]}}


def test_components_do_not_import_the_modules_of_the_sdk() -> None:
    """Importing one of them imports core/v1, which takes as long as the rest of the program."""
    found = [path.name for path in COMPONENTS.rglob("*.py") if "from pulumi_kubernetes." in path.read_text("utf-8")]
    assert found == ["kubernetes_api.py"]
