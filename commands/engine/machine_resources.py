"""Takes the resources that set a machine up out of a stack's state, when the machine is dead.

Pulumi would run `leave` there over SSH, or connect to it. `pulumi state delete` refuses a resource on which others
depend, and would delete these too: here they stay, and only lose the dependency.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

Resource = dict[str, Any]

_SETUP = ("command:remote:Command", "command:remote:CopyToRemote")
_ENDINGS = ("-apply", "-files")
"""Endings of the names of these resources, after the machine's name and -start (components/target/ssh.py)."""
_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"


def without_machine(
    deployment: Mapping[str, Any], machine: str, machines: Collection[str], claims: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Returns a state without the resources that set a machine up, and their URNs.

    `machines`: the names of all machines, by which the machine x is told from a-x. `claims`: names of claims in the
    cluster that are gone too.
    """
    found = copy.deepcopy(dict(deployment))
    state = cast("dict[str, Any]", found.get("deployment") or {})
    resources = cast("list[Resource]", state.get("resources") or [])
    gone = [
        str(each["urn"])
        for each in resources
        if (each.get("type") in _SETUP and _machine(str(each["urn"]), machines) == machine)
        or (each.get("type") == _CLAIM and str(each.get("id", "")).rpartition("/")[2] in claims)
    ]
    if gone:
        state["resources"] = [_without(each, set(gone)) for each in resources if each["urn"] not in gone]
    return found, gone


def _machine(urn: str, machines: Iterable[str]) -> str:
    """Returns the machine that a resource sets up, by its name; "" if it is none of these."""
    name = urn.rpartition("::")[2]
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    name = name.removesuffix("-start")
    return max((each for each in machines if name == each or name.endswith(f"-{each}")), key=len, default="")


def _without(resource: Resource, gone: Collection[str]) -> Resource:
    """Returns a resource without its dependencies on others that are gone."""
    changed = dict(resource)
    if "dependencies" in changed:
        changed["dependencies"] = [urn for urn in changed["dependencies"] if urn not in gone]
    if "propertyDependencies" in changed:
        properties = cast("dict[str, list[str] | None]", changed["propertyDependencies"])
        changed["propertyDependencies"] = {
            name: None if urns is None else [urn for urn in urns if urn not in gone]
            for name, urns in properties.items()
        }
    for key in ("deletedWith", "parent"):
        if changed.get(key) in gone:
            del changed[key]
    return changed
