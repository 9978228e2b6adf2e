"""Reads a hand-written YAML file that contains one mapping or list. Rejects duplicate keys and ambiguous values."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import Any, cast

from blueprint.problems import InvalidStackError, Problem
from files import text_file, yaml_reader, yaml_traps

_MOST_TRAPS = 100


def read(path: Path, form: str, dates: Collection[str] = ()) -> dict[str, Any]:
    """Returns the mapping in a YAML file. Raises InvalidStackError, with every reason, if the file cannot be used.

    `form`: a description of the expected file, for the message "write …". `dates`: keys whose value may be a date.
    """
    value = _value(path, form, dates)
    if not isinstance(value, dict):
        raise InvalidStackError([Problem(str(path), f"is not a mapping; write {form}")])
    return cast("dict[str, Any]", value)


def read_list(path: Path, form: str) -> list[Any]:
    """Returns the list in a YAML file. Raises InvalidStackError, with every reason, if the file cannot be used."""
    value = _value(path, form, ())
    if not isinstance(value, list):
        raise InvalidStackError([Problem(str(path), f"is not a list; write {form}")])
    return cast("list[Any]", value)


def _value(path: Path, form: str, dates: Collection[str]) -> object:
    try:
        text = text_file.read(path)
        document = yaml_reader.read(text)
        wrong = _misleading(text, document, dates)
        value: object = document.value
    except text_file.UnreadableError as error:
        raise InvalidStackError([Problem(str(path), f"cannot be read: {error}; write {form}")]) from None
    except yaml_reader.YamlError as error:
        raise InvalidStackError([Problem(str(path), f"is not valid YAML: {error}")]) from None
    if wrong:
        raise InvalidStackError([Problem(str(path), message) for message in wrong])
    return value


def _misleading(text: str, document: yaml_reader.Document, dates: Collection[str]) -> list[str]:
    """Returns a message for each hidden character, ambiguous value and duplicate key in a YAML text."""
    hidden = list(yaml_traps.hidden_characters(text))
    if hidden or document.node is None:
        return hidden
    twice = (
        f"line {twin.line}: the key '{twin.path.removeprefix('config.')}' is there twice; keep one"
        for twin in document.twins
    )
    return [*islice(yaml_traps.traps(document.node, dates=dates), _MOST_TRAPS), *twice]
