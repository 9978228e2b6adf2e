"""Loads and validates the settings of a stack.

`load_file` reads `Pulumi.<stack>.yaml` (for editors, hooks and `make plan`); `from_pulumi` reads the configuration that
Pulumi passes to the program. Both use the same models and messages. The value of `rootSecret` is not read; it is only
checked that it is set and encrypted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from blueprint.model_errors import without_broken
from blueprint.openstack.projects.records import stack_records
from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile import checks, explain, inventory, list_files, reader
from blueprint.stackfile.root_secret import ROOT_IS_MISSING
from blueprint.stackfile.settings import Settings
from files import yaml_reader

_MOST_ERRORS = 500
"""Maximum number of validation errors that are reported, because the search for similar names is slow."""

COPY = "copy"
"""Key of a stack file that Quorate's commands write for Pulumi (commands/stack.py): the stack's name, and the path of
the stack file with the settings, such as {stack: dev, file: Pulumi.dev.yaml}. In a user's file the key is unknown."""

COPIED = ("profile", "architecture", "waivers")
"""Keys that such a file contains as well, because the policy pack reads them from Pulumi's configuration."""

__all__ = ["COPIED", "COPY", "Settings", "from_pulumi", "load_file"]


def load_file(path: Path) -> Settings:
    """Returns the settings in a stack file. Raises InvalidStackError, with every problem, if the file is invalid."""
    return _validate(reader.read(path))


def from_pulumi(config: Mapping[str, str], secret_keys: Collection[str], stack: str = "") -> Settings:
    """Returns the settings in the configuration that Pulumi passes to the program.

    `config`: values by key (`quorate:<key>`), with lists and mappings as JSON. `secret_keys`: the encrypted keys.
    `stack`: the name of the stack. The settings of a copy are read from the stack file itself. Raises InvalidStackError
    if the settings are invalid.
    """
    configuration = reader.from_engine(config, secret_keys)
    copy = configuration.raw.get(COPY)
    if isinstance(copy, dict):
        configuration = _of_copy(configuration, stack, **cast("dict[str, str]", copy))
    return _validate(configuration)


def _of_copy(copy: reader.Configuration, named: str, *, stack: str, file: str) -> reader.Configuration:
    """Returns the configuration in a stack file, with the decrypted secrets of its copy.

    Raises InvalidStackError if the copy is that of another stack than `named`, or out of date.
    """
    if stack != named:
        message = f"this configuration is that of stack {stack}; leave out --config-file and PULUMI_OPTION_CONFIG_FILE"
        raise InvalidStackError([Problem(f"stack {named}", message)])
    original = reader.read(Path(file))
    problems = [
        Problem(
            f"{reader.NAMESPACE}:{key}",
            f"has changed in {file} since the copy that Pulumi reads was written; run 'quorate preview' once, which "
            "writes the copy again",
        )
        for key in COPIED
        if _text(copy.raw.get(key)) != _text(original.raw.get(key))
    ]
    if problems:
        raise InvalidStackError(problems)
    secrets = {key: value for key, value in copy.raw.items() if key in reader.SECRETS}
    settings = {key: value for key, value in original.raw.items() if key not in reader.SECRETS}
    return replace(copy, raw={**settings, **secrets}, encrypted=copy.encrypted & reader.SECRETS | original.encrypted)


def _text(value: object) -> str:
    """Returns a value as Pulumi passes it to programs: a text as it is, another value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _validate(configuration: reader.Configuration) -> Settings:
    configuration = replace(configuration, raw=list_files.inlined(configuration.raw))
    problems = reader.secret_problems(configuration)
    secret = tuple(problem.key for problem in problems)
    plain = {key: value for key, value in configuration.raw.items() if key not in reader.SECRETS}
    settings, errors = _parse(plain)
    # A key with a problem about a secret gets no second message, because that message might contain the secret.
    told = explain.causes(errors[:_MOST_ERRORS])
    problems += [explain.problem(error, plain) for error in told if not explain.path(error).startswith(secret)]
    if settings is None:
        # Check the valid entries further, so that one run reports all problems.
        settings, _ = _parse(without_broken(plain, errors))
    if settings is not None:
        problems += inventory.problems(settings)
        problems += stack_records(settings.projects.records)[1]
        problems += _root_secret_problems(settings, configuration)
    if problems or settings is None:
        # The planner runs these checks for valid settings, but does not run for invalid ones.
        others = checks.problems(settings) if settings is not None else []
        problems += [problem for problem in others if not problem.key.startswith(secret)]
        raise InvalidStackError(problems)
    return settings


def _root_secret_problems(settings: Settings, configuration: reader.Configuration) -> list[Problem]:
    """Returns a problem if a live stack has no root secret, without which its secrets would be placeholders."""
    is_in_a_cluster = settings.is_live and settings.has_existing_machines
    if not is_in_a_cluster or reader.ROOT_SECRET in configuration.raw:
        return []
    return [Problem(f"{reader.NAMESPACE}:{reader.ROOT_SECRET}", ROOT_IS_MISSING)]


def _parse(raw: dict[str, Any]) -> tuple[Settings | None, list[ErrorDetails]]:
    try:
        # Through JSON, because strict mode accepts a list for a tuple, and text for an address, only in JSON input.
        return Settings.model_validate_json(yaml_reader.to_json(raw)), []
    except ValidationError as error:
        return None, error.errors(include_url=False)
