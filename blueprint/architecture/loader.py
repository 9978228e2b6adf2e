"""Reads reference architectures: those that Quorate includes, and users' own files with the same form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from blueprint import yaml_file
from blueprint.architecture import constraints
from blueprint.architecture.model import Architecture
from blueprint.model_errors import without_broken
from blueprint.problems import InvalidStackError, Problem
from files import yaml_reader

NAMES = ("100", "300", "500", "1000")
"""Names of the reference architectures that Quorate includes, the smallest first."""

FOLDER = Path(__file__).parent


class ArchitectureError(InvalidStackError):
    """Raised for an invalid architecture file, or an unknown architecture; `problems` has every reason."""


def for_computes(computes: int) -> str:
    """Returns the name of the smallest architecture for at least this many compute nodes.

    Raises ArchitectureError if there are more compute nodes than in the largest architecture.
    """
    sizes = {name: load_architecture(name).computes for name in NAMES}
    for name, size in sizes.items():
        if computes <= size:
            return name
    raise _error(
        "quorate:architecture",
        f"{computes} computes are more than the largest reference architecture has ({max(sizes.values())}); "
        "divide them over several stacks, or write the path of an architecture of your own",
    )


def load_architecture(name_or_path: str) -> Architecture:
    """Returns an architecture by its name ("100", "300", "500", "1000") or by the path of a user's own file.

    Raises ArchitectureError, with every problem of the file, if the file is invalid.
    """
    if name_or_path in NAMES:
        return _load_ours(name_or_path)
    return _load(Path(name_or_path))


@cache
def _load_ours(name: str) -> Architecture:
    return _load(FOLDER / f"{name}.yaml")


def _load(path: Path) -> Architecture:
    data = _read(path)
    architecture, errors = _parse(data)
    problems = constraints.shape(str(path), data, errors)
    if architecture is not None:
        problems += constraints.sense(str(path), architecture)
    else:
        # Check the valid rows for contradictions too, so that one run reports all problems of the file.
        rest, _ = _parse(without_broken(data, errors))
        problems += constraints.sense(str(path), rest, whole=False) if rest is not None else []
    if architecture is None or problems:
        raise ArchitectureError(problems)
    return architecture


def _read(path: Path) -> dict[str, Any]:
    names = ", ".join(f'"{name}"' for name in NAMES)
    try:
        return yaml_file.read(
            path, f"{names} or the path of a YAML file of the form of blueprint/architecture/100.yaml"
        )
    except InvalidStackError as error:
        raise ArchitectureError(error.problems) from None


def _parse(data: dict[str, Any]) -> tuple[Architecture | None, Sequence[ErrorDetails]]:
    try:
        # Through JSON, because strict mode accepts a list for a tuple only in JSON input.
        return Architecture.model_validate_json(yaml_reader.to_json(data)), ()
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _error(key: str, message: str) -> ArchitectureError:
    return ArchitectureError([Problem(key, message)])
