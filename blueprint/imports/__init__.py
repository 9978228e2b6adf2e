"""Reads other deployers' files for stacks: inventories of Kolla-Ansible and Kubespray, and Rockoon's resource.

What the groups, variables and keys of such files become is data, in kolla.yaml, kubespray.yaml and rockoon.yaml. No
part of a file is ignored without a line of the report. docs/import.md describes what is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from blueprint.imports.deployment_import import import_deployment
from blueprint.imports.import_lines import ImportFate, ImportLine, ReadFile
from blueprint.imports.import_rules import DeploymentRules, InventoryRules, load_rules
from blueprint.imports.inventory_import import import_inventory
from blueprint.problems import InvalidStackError, Problem
from files import text_file

ImportFormat = Literal["kolla", "kubespray", "rockoon"]
FORMATS: tuple[ImportFormat, ...] = get_args(ImportFormat)

__all__ = [
    "FORMATS",
    "ImportFate",
    "ImportFormat",
    "ImportLine",
    "ReadFile",
    "import_file",
]


def import_file(form: ImportFormat, path: Path) -> ReadFile:
    """Returns what a file gives to a stack. Raises InvalidStackError, with every problem, if it is invalid."""
    try:
        text = text_file.read(path)
    except text_file.UnreadableError as error:
        raise InvalidStackError([Problem(str(path), f"cannot be read: {error}")]) from None
    if form == "rockoon":
        return import_deployment(path, text, load_rules(form, DeploymentRules))
    return import_inventory(path, text, load_rules(form, InventoryRules))
