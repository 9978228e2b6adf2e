"""Loads and validates the settings of a stack.

`load_file` reads `Pulumi.<stack>.yaml` (for editors, hooks and `make plan`); `from_pulumi` reads the configuration that
Pulumi passes to the program. Both use the same models and messages. The value of `rootSecret` is not read; it is only
checked that it is set and encrypted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from blueprint.model_errors import without_broken
from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile import checks, explain, inventory, reader, vm_lists
from blueprint.stackfile.settings import EXISTING, Settings
from files import yaml_reader

_MOST_ERRORS = 500
"""Maximum number of validation errors that are reported, because the search for similar names is slow."""

SETTINGS_FILE = "settingsFile"
"""Key with the path of a settings file, which Quorate's commands write into a stack's configuration; users must not."""

ROOT_IS_MISSING = (
    "is not set, and all passwords are derived from it; write it once with "
    "'pulumi config set --secret quorate:rootSecret'"
)
"""Message for a stack without a root secret, which a live target and every update need."""

__all__ = ["ROOT_IS_MISSING", "SETTINGS_FILE", "Settings", "from_pulumi", "load_file"]


def load_file(path: Path) -> Settings:
    """Returns the settings in a stack file. Raises InvalidStackError, with every problem, if the file is invalid."""
    return _validate(reader.read(path))


def from_pulumi(config: Mapping[str, str], secret_keys: Collection[str]) -> Settings:
    """Returns the settings in the configuration that Pulumi passes to the program.

    `config`: values by key (`quorate:<key>`), with lists and mappings as JSON. `secret_keys`: the encrypted keys. If
    `quorate:settingsFile` is set, settings are also read from that file: they are too large for a process's
    environment. Raises InvalidStackError if the settings are invalid.
    """
    configuration = reader.from_engine(config, secret_keys)
    file = configuration.raw.get(SETTINGS_FILE)
    if file is not None:
        rest = {key: value for key, value in configuration.raw.items() if key != SETTINGS_FILE}
        configuration = replace(configuration, raw={**reader.read(Path(str(file))).raw, **rest})
    return _validate(configuration)


def _validate(configuration: reader.Configuration) -> Settings:
    configuration = replace(configuration, raw=vm_lists.inlined(configuration.raw))
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
        problems += _root_secret_problems(settings, configuration)
    if problems or settings is None:
        # The planner runs these checks for valid settings, but does not run for invalid ones.
        others = checks.problems(settings) if settings is not None else []
        problems += [problem for problem in others if not problem.key.startswith(secret)]
        raise InvalidStackError(problems)
    return settings


def _root_secret_problems(settings: Settings, configuration: reader.Configuration) -> list[Problem]:
    """Returns a problem if a live stack has no root secret, without which its secrets would be placeholders."""
    is_live = settings.target == "live" and settings.machines == EXISTING
    if not is_live or reader.ROOT_SECRET in configuration.raw:
        return []
    return [Problem(f"{reader.NAMESPACE}:{reader.ROOT_SECRET}", ROOT_IS_MISSING)]


def _parse(raw: dict[str, Any]) -> tuple[Settings | None, list[ErrorDetails]]:
    try:
        # Through JSON, because strict mode accepts a list for a tuple, and text for an address, only in JSON input.
        return Settings.model_validate_json(yaml_reader.to_json(raw)), []
    except ValidationError as error:
        return None, error.errors(include_url=False)
