"""From a stack file to settings: the only reader of configuration.

`load_file` reads `Pulumi.<stack>.yaml` itself (for editors, hooks and `make plan`), `from_pulumi` takes what the engine
hands to the program; both end in the same models and the same messages. `rootSecret` is known here only as "given and
encrypted" or not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from blueprint.model_errors import without_broken
from blueprint.problems import InvalidStackError
from blueprint.stackfile import checks, explain, inventory, reader
from blueprint.stackfile.settings import Settings
from files import yaml_reader

_MOST_ERRORS = 500
"""Errors that are explained: the first are enough to fix a file, and each looks for a word that was meant."""

SETTINGS_FILE = "settingsFile"
"""Written by the commands into a stack's working copy, never by a user: `load_file` does not know it."""

__all__ = ["SETTINGS_FILE", "Settings", "from_pulumi", "load_file"]


def load_file(path: Path) -> Settings:
    """The settings of a stack file. Raises InvalidStackError with every problem of the file."""
    return _validate(reader.read(path))


def from_pulumi(config: Mapping[str, str], secret_keys: Collection[str]) -> Settings:
    """The settings as the engine hands them over: `quorate:key` to text, JSON where it is more than text.

    A configuration that is too large for the environment of a process is in a file, which `quorate:settingsFile` names.
    """
    configuration = reader.from_engine(config, secret_keys)
    file = configuration.raw.get(SETTINGS_FILE)
    if file is not None:
        rest = {key: value for key, value in configuration.raw.items() if key != SETTINGS_FILE}
        configuration = replace(configuration, raw={**reader.read(Path(str(file))).raw, **rest})
    return _validate(configuration)


def _validate(configuration: reader.Configuration) -> Settings:
    problems = reader.secret_problems(configuration)
    secret = tuple(problem.key for problem in problems)
    plain = {key: value for key, value in configuration.raw.items() if key not in reader.SECRETS}
    settings, errors = _parse(plain)
    # A value that must not be there at all needs no second message, which might repeat it.
    told = explain.causes(errors[:_MOST_ERRORS])
    problems += [explain.problem(error, plain) for error in told if not explain.path(error).startswith(secret)]
    if settings is None:
        # What stands beside a broken entry is judged as well: one run, all problems.
        settings, _ = _parse(without_broken(plain, errors))
    if settings is not None:
        problems += inventory.problems(settings)
    if problems or settings is None:
        # A plan of such settings is not made, so that what each of them is wrong about by itself is reported here.
        others = checks.problems(settings) if settings is not None else []
        problems += [problem for problem in others if not problem.key.startswith(secret)]
        raise InvalidStackError(problems)
    return settings


def _parse(raw: dict[str, Any]) -> tuple[Settings | None, list[ErrorDetails]]:
    try:
        # Through JSON: strict mode takes a list for a tuple, and text for an address, only from there.
        return Settings.model_validate_json(yaml_reader.to_json(raw)), []
    except ValidationError as error:
        return None, error.errors(include_url=False)
