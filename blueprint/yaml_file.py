"""Reads a YAML file that a person wrote: one document, a mapping, no key twice, nothing that YAML reads otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, cast

from blueprint.problems import InvalidStackError, Problem
from files import text_file, yaml_reader, yaml_traps

_MOST_TRAPS = 100


def read(path: Path, form: str, dates: Collection[str] = ()) -> dict[str, Any]:
    """The mapping that the file holds. Raises InvalidStackError with every reason why it cannot be used.

    `form` completes the advice "write …". `dates`: keys whose value is a date.
    """
    try:
        text = text_file.read(path)
        document = yaml_reader.read(text)
        value: object = document.value
    except text_file.UnreadableError as error:
        raise InvalidStackError([Problem(str(path), f"cannot be read: {error}; write {form}")]) from None
    except yaml_reader.YamlError as error:
        raise InvalidStackError([Problem(str(path), f"is not valid YAML: {error}")]) from None
    wrong = [*yaml_traps.hidden_characters(text)]
    if not wrong and document.node is not None:
        wrong += islice(yaml_traps.traps(document.node, dates=dates), _MOST_TRAPS)
    wrong += _twice(document)
    if wrong:
        raise InvalidStackError([Problem(str(path), message) for message in wrong])
    if not isinstance(value, dict):
        raise InvalidStackError([Problem(str(path), f"is not a mapping; write {form}")])
    return cast("dict[str, Any]", value)


def _twice(document: yaml_reader.Document) -> Iterator[str]:
    for twin in document.twins:
        yield f"line {twin.line}: the key '{twin.path.removeprefix('config.')}' is there twice; keep one"
