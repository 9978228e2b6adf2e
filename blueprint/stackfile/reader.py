"""A stack file as plain data: YAML in, keys below `quorate:` out, and no secret in clear.

Owns the two doors (the file, the engine) and the rule that a secret is encrypted before it is written down. What the
keys mean is in settings.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from blueprint.problems import InvalidStackError, Problem
from files import yaml_reader

NAMESPACE = "quorate"
SECRETS = frozenset({"rootSecret"})
"""The keys that hold a secret; each must be encrypted by `pulumi config set --secret`."""

_SECRET_KEY = re.compile(r"password|passwd|passphrase|secret|token|credential|private_?key", re.IGNORECASE)
_SECRET_TEXT = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    re.compile(r"^[ \t]*\w*(?:password|passwd|secret|token)\w*\s*[=:]\s*\S", re.IGNORECASE | re.MULTILINE),
    re.compile(r"\b\w+://[^/\s:@]+:[^/\s@]+@"),
)


def read(path: Path) -> tuple[dict[str, Any], set[str]]:
    """The keys below `quorate:` of a stack file, and which of them are encrypted.

    Raises InvalidStackError where the file is absent or is no stack file.
    """
    try:
        written = yaml_reader.read(path.read_text(encoding="utf-8"))
        document: object = written.value
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidStackError([Problem(str(path), f"cannot be read: {reason}")]) from None
    except yaml_reader.YamlError as error:
        raise InvalidStackError([Problem(str(path), f"{error}; fix the YAML there")]) from None
    if written.twins:
        raise InvalidStackError([_twin(path, twin) for twin in written.twins])
    config = cast("dict[str, Any]", document).get("config") if isinstance(document, dict) else None
    if not isinstance(config, dict):
        raise InvalidStackError(
            [Problem(str(path), f"has no 'config:' mapping; write it with keys such as {NAMESPACE}:profile")]
        )
    prefix = f"{NAMESPACE}:"
    entries = cast("dict[object, Any]", config).items()
    keys = {str(key).removeprefix(prefix): value for key, value in entries if str(key).startswith(prefix)}
    return keys, {key for key, value in keys.items() if _is_encrypted(value)}


def from_engine(config: Mapping[str, str], secret_keys: Collection[str]) -> tuple[dict[str, Any], set[str]]:
    """The same from what the engine hands to a program: text, JSON where a value is more than text."""
    prefix = f"{NAMESPACE}:"
    keys = {key.removeprefix(prefix): _parse(text) for key, text in config.items() if key.startswith(prefix)}
    return keys, {key.removeprefix(prefix) for key in secret_keys if key.startswith(prefix)}


def secret_problems(raw: Mapping[str, Any], encrypted: set[str]) -> list[Problem]:
    """Secrets in clear text, and encrypted values where none belongs. No message repeats a value."""
    problems: list[Problem] = []
    for key, value in raw.items():
        if key in encrypted and key not in SECRETS:
            problems.append(Problem(f"{NAMESPACE}:{key}", "is encrypted, but is no secret; write it in clear text"))
        elif key in encrypted:
            continue
        elif key in SECRETS:
            problems.append(_in_clear(f"{NAMESPACE}:{key}"))
        else:
            problems += [_in_clear(where) for where in _clear_secrets(f"{NAMESPACE}:{key}", key, value)]
    return problems


def _is_encrypted(value: object) -> bool:
    return isinstance(value, dict) and set(cast("dict[str, Any]", value)) == {"secure"}


def _parse(text: str) -> object:
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _clear_secrets(where: str, name: str, value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _clear_secrets(f"{where}.{key}", str(key), inner)
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from _clear_secrets(f"{where}[{index}]", "", inner)
    elif (
        isinstance(value, str)
        and value
        and (_SECRET_KEY.search(name) or any(pattern.search(value) for pattern in _SECRET_TEXT))
    ):
        yield where


def _in_clear(where: str) -> Problem:
    return Problem(
        where,
        "holds a secret in clear text; take it out of the file (and of its history), then write it with "
        f"'pulumi config set --secret {NAMESPACE}:rootSecret' (services derive their passwords from it)",
    )


def _twin(path: Path, twin: yaml_reader.Entry) -> Problem:
    return Problem(
        str(path), f"line {twin.line}: the key '{twin.path.removeprefix('config.')}' is there twice; keep one"
    )
