"""A stack file as plain data: YAML in, keys below `quorate:` out, and no secret in clear.

Owns the two doors (the file, the engine) and the rule that a secret is encrypted before it is written down. What the
keys mean is models.py's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from blueprint.problems import InvalidStackError, Problem

NAMESPACE = "quorate"
SECRETS = frozenset({"rootSecret"})
"""The keys that hold a secret; each must be encrypted by `pulumi config set --secret`."""

_SECRET_KEY = re.compile(r"password|passwd|passphrase|secret|token|credential|private_?key", re.IGNORECASE)
_SECRET_TEXT = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    re.compile(r"^\s*\w*(?:password|passwd|secret|token)\w*\s*[=:]\s*\S", re.IGNORECASE | re.MULTILINE),
    re.compile(r"\w+://[^/\s:@]+:[^/\s@]+@"),
)


LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""For our own data: libyaml's reader is ten times as quick; Python's own stands in where it is absent."""


class _StrictLoader(yaml.SafeLoader):
    """YAML that says a key twice is a mistake, not a choice; plain YAML keeps the last one in silence."""

    def build(self, node: yaml.Node) -> Any:
        """What a node stands for; types-PyYAML leaves construct_object half typed."""
        return self.construct_object(node, deep=True)  # pyright: ignore[reportUnknownMemberType]


def _mapping(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.build(key_node)
        if key in result:
            raise yaml.MarkedYAMLError(None, None, f"the key '{key}' stands here twice", key_node.start_mark)
        result[key] = loader.build(value_node)
    return result


_StrictLoader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read(path: Path) -> tuple[dict[str, Any], set[str]]:
    """The keys below `quorate:` of a stack file, and which of them are encrypted.

    Raises InvalidStackError where the file is absent or is no stack file.
    """
    try:
        document: object = yaml.load(path.read_text(encoding="utf-8"), _StrictLoader)  # noqa: S506 - a SafeLoader
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is no text"
        raise InvalidStackError([Problem(str(path), f"cannot be read: {reason}")]) from None
    except yaml.YAMLError as error:
        raise InvalidStackError([Problem(str(path), _yaml_fault(error))]) from None
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


def to_json(raw: Mapping[str, Any]) -> str:
    """JSON of YAML's plain data; a date becomes its ISO text."""
    return json.dumps(raw, default=str)


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


def _yaml_fault(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}; mend the YAML there"
    return f"is no YAML: {error}"
