"""Reads a stack's configuration as plain data, from its YAML file or from Pulumi.

Also checks that secrets are encrypted, and that other values do not contain a secret. settings.py defines the keys.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from blueprint import yaml_file
from blueprint.openstack.given_secret import FORMS
from blueprint.problems import InvalidStackError, Problem
from text import clear_text

NAMESPACE = "quorate"
_PREFIX = f"{NAMESPACE}:"
ROOT_SECRET = "rootSecret"  # noqa: S105 - a key, not a value
SECRETS = frozenset({ROOT_SECRET})
"""The keys whose values are secrets, which `pulumi config set --secret` must have encrypted."""


@dataclass(frozen=True)
class Configuration:
    """A stack's configuration as plain data."""

    raw: Mapping[str, Any]
    """Values of the keys that begin with `quorate:`, by key without this prefix."""
    encrypted: frozenset[str]
    """The keys in `raw` whose value is encrypted."""
    others: Mapping[str, Any]
    """Values in clear text of keys with other prefixes, by key."""


def read(path: Path) -> Configuration:
    """Reads the configuration in a stack file. Raises InvalidStackError if the file is missing or not a stack file."""
    document = yaml_file.read(path, "a stack file such as Pulumi.dev.yaml", dates=("expires",))
    config = document.get("config")
    if not isinstance(config, dict):
        raise InvalidStackError(
            [Problem(str(path), f"has no 'config:' mapping; write it with keys such as {NAMESPACE}:profile")]
        )
    values = cast("dict[str, Any]", config)
    return _configuration(values, {key for key, value in values.items() if _is_encrypted(value)})


def from_engine(config: Mapping[str, str], secret_keys: Collection[str]) -> Configuration:
    """Reads the configuration that Pulumi passes to a program: texts by key, with lists and mappings as JSON.

    `secret_keys`: the keys whose value is encrypted.
    """
    return _configuration({key: _parse(text) for key, text in config.items()}, secret_keys)


def _configuration(values: Mapping[str, Any], encrypted: Collection[str]) -> Configuration:
    return Configuration(
        {key.removeprefix(_PREFIX): value for key, value in values.items() if key.startswith(_PREFIX)},
        frozenset(key.removeprefix(_PREFIX) for key in encrypted if key.startswith(_PREFIX)),
        {key: value for key, value in values.items() if not key.startswith(_PREFIX) and key not in encrypted},
    )


def secret_problems(configuration: Configuration) -> list[Problem]:
    """Returns a problem for each secret in clear text, and each encrypted value that is not a secret.

    The messages do not contain the values.
    """
    problems: list[Problem] = []
    for key, value in configuration.raw.items():
        encrypted = key in configuration.encrypted
        if encrypted and key in ("ceph", "images", "projects", "services"):
            advice = "run 'quorate', or set PULUMI_OPTION_CONFIG_FILE to the stack's copy (docs/pulumi.md)"
            message = f"has encrypted values, which only the stack's copy passes on; {advice}"
            problems.append(Problem(f"{_PREFIX}{key}", message))
        elif encrypted and key not in SECRETS:
            problems.append(Problem(f"{_PREFIX}{key}", "is encrypted, but is not a secret; write it in clear text"))
        elif not encrypted and key in SECRETS:
            problems.append(_in_clear(f"{_PREFIX}{key}"))
        elif not encrypted:
            problems += [_in_clear(where) for where in _clear_secrets(f"{_PREFIX}{key}", key, value)]
    for key, value in configuration.others.items():
        for where in _clear_secrets(key, key.rpartition(":")[2], value):
            advice = (
                f"remove it from the file (and from its history), then write it with 'pulumi config set --secret {key}'"
            )
            problems.append(Problem(where, f"holds a secret in clear text; {advice}"))
    return problems


def _is_encrypted(value: object) -> bool:
    return isinstance(value, dict) and set(cast("dict[str, Any]", value)) == {"secure"}


def _parse(text: str) -> object:
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _clear_secrets(where: str, name: str, value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _clear_secrets(f"{where}.{key}", str(key), inner)
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from _clear_secrets(f"{where}[{index}]", "", inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        if clear_text.under_name(name, text) or clear_text.in_text(text):
            yield where


def _in_clear(where: str) -> Problem:
    removed = "holds a secret in clear text; remove it from the file (and from its history)"
    if ".options." in where:
        advice = f"Quorate derives the services' passwords itself; if another system gave it, write {FORMS}"
        return Problem(where, f"{removed}: {advice}")
    if where.startswith((f"{_PREFIX}images.accounts.", f"{_PREFIX}ceph.")):
        return Problem(where, f"{removed}, and write {FORMS}")
    return Problem(
        where,
        "holds a secret in clear text; remove it from the file (and from its history), then write it with "
        f"'pulumi config set --secret {NAMESPACE}:rootSecret' (services derive their passwords from it)",
    )
