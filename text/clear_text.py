"""Finds secrets in clear text, by the name of a key or by the form of the value.

The blueprint package uses this module for stack files, the policy pack for resources.

A value is reported only if it is very likely a secret, so that there are few false positives; some secrets are not
found. References to a secret (`$VARIABLE`, `{{ template }}`, a path) are ignored, and callers do not pass values that
Pulumi encrypts. Functions return the kind of each secret and never its value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

_WORDS = r"pass(?:word|wd|phrase)|secret|token|cookie|(?:secret|api|private|access)[_\-.]?key"
_NAME = rf"(?:[\w.\-]{{0,80}}(?:{_WORDS})|(?:[\w.\-]{{0,80}}[_.\-])?(?:pass|pwd|pw))"
"""Matches names of secrets, such as db_password.

Repetitions are bounded, so that no text makes the search quadratic.
"""
_KEYS = (f"{kind}{joint}key" for kind in ("api", "private", "access") for joint in ("", "_", "-", "."))
_PARTS = ("pass", "pw", "secret", "token", "cookie", *_KEYS)
"""Texts of which each name of a secret contains one. They are faster to search for than the pattern."""
_HARMLESS = re.compile(
    r"initial[_\-]cluster[_\-]token|no[_\-]?pass(word)?$|continue[_\-]token|(image)?pull[_\-]?secrets?$", re.I
)
"""Matches names that look like a secret's but are not, such as initial-cluster-token, which identifies a cluster,
and pullSecret, the name of an object."""

_UNDER_A_NAME = re.compile(
    rf"""(?:^|[{{,])[ \t\-]{{0,80}}(?:export +|Environment=)?["']?({_NAME})["']?[ \t]{{0,80}}[:=][ \t]{{0,80}}"""
    r"""["']?([^\s"',;#}]{1,500})""",
    re.I | re.M,
)
"""Matches a secret's name with its value, at the start of a line or as a member of a JSON object."""
_OPTION = re.compile(rf"""(?<!\S)--?({_NAME})[= ]["']?([^\s"';|&-][^\s"';|&]{{0,500}})""", re.I)
_FORMS = {
    "a private key": (("PRIVATE KEY-----",), re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")),
    "an access key": (
        ("AKIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        re.compile(r"\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b"),
    ),
    "a signed token": (("eyJ",), re.compile(r"\beyJ[\w\-]{10,500}\.eyJ[\w\-]{10,500}\.[\w\-]")),
    "a password in an address": (
        ("://",),
        re.compile(r"\b[a-z][a-z0-9+.\-]{0,30}://[^\s:/@\"']{0,80}:([^\s@/\"'${<%]{1,200})@", re.I),
    ),
    "the user and password of a state transfer": (
        ("wsrep",),
        re.compile(r"\bwsrep[_-]sst[_-]auth\s{0,9}=\s{0,9}[\"']?[^\s:$<{\"']{1,80}:[^\s$<{]"),
    ),
    "a password of sshpass": (("sshpass",), re.compile(r"\bsshpass\s{1,9}-p\s{0,9}['\"]?[^\s$'\"]")),
    "a password of mysql": (
        ("mysql", "mariadb"),
        re.compile(r"\b(?:mysql|mysqladmin|mysqldump|mariadb)\b[^\n;|&]{0,200}\s-p[^\s$'\"-][^\s$'\"]"),
    ),
}
"""Kinds of secrets, each with texts of which it contains one, and its pattern. The texts are faster to search for."""
_EMPTY = " \t\"'\\"
"""Characters of which an empty value may consist: quotes, as in `""`, also escaped, and blanks."""
_KEPT = 1024
"""Number of texts whose result is cached, because many objects and machines of a stack contain the same file."""
_NO_VALUE = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|nil|~|\d|\*+|x+)"
    r"|[$<{%/&!|>\[(].*|(?:file|env):.*|.*\.(?:key|crt|pem|txt|json|ya?ml|conf)",
    re.I | re.S,
)
"""Matches values that are not secrets: booleans, placeholders, references and paths."""


def under_name(name: str, value: str) -> bool:
    """Whether a value is a secret by its name, such as db_password, and is not a placeholder or a reference."""
    return bool(re.fullmatch(_NAME, name, re.I)) and not _HARMLESS.search(name) and _is_value(value)


def in_file(name: str, text: str) -> tuple[str, ...]:
    """Returns the kinds of secrets in a file named `name`. In Python source, only string literals count as values."""
    return _in_python(text) if name.endswith(".py") else in_text(text)


@lru_cache(maxsize=_KEPT)
def _in_python(text: str) -> tuple[str, ...]:
    """Returns the kinds of secrets in Python source. Text that is not valid Python is searched as plain text."""
    if not _may_name(text):
        return tuple(_forms(text))
    tree = _python(text)
    if tree is None:
        return in_text(text)
    named = [f"a value under {key}" for key, value in _literals(tree) if under_name(key, value)]
    return (*named, *_forms(text))


@lru_cache(maxsize=_KEPT)
def in_text(text: str) -> tuple[str, ...]:
    """Returns the kinds of secrets in a text, such as "a private key"; () if none is found."""
    return (*_named(text), *_forms(text))


def _may_name(text: str) -> bool:
    """Whether the text may contain the name of a secret."""
    folded = text.casefold()  # as the patterns compare: it also turns the long s into an s
    return any(part in folded for part in _PARTS)


def _named(text: str) -> Iterator[str]:
    if not _may_name(text):
        return
    for pattern in (_UNDER_A_NAME, _OPTION):
        for name, value in pattern.findall(text):
            if not _HARMLESS.search(name) and _is_value(value):
                yield f"a value under {name}"


def _forms(text: str) -> Iterator[str]:
    for words, (parts, pattern) in _FORMS.items():
        if any(part in text for part in parts) and pattern.search(text):
            yield words


def _python(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _literals(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yields name and value of each string that Python source assigns, passes as a keyword or stores under a key."""
    for node in ast.walk(tree):
        pairs: list[tuple[ast.expr | str | None, ast.expr | None]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.keyword):
            pairs = [(node.arg, node.value)]
        elif isinstance(node, ast.Dict):
            pairs = list(zip(node.keys, node.values, strict=True))
        for target, value in pairs:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield _name(target), value.value


def _name(target: ast.expr | str | None) -> str:
    """Returns the name that Python code assigns to, "" if it has none.

    The name is `SECRET_KEY` for SECRET_KEY, settings.SECRET_KEY and settings["SECRET_KEY"].
    """
    if isinstance(target, ast.Subscript):
        target = target.slice
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return target.attr
    if isinstance(target, ast.Constant):
        return str(target.value)
    return target if isinstance(target, str) else ""


def _is_value(value: str) -> bool:
    """Whether a text under a secret's name is a value; quotes with nothing in them are an empty one."""
    return bool(value.strip(_EMPTY)) and not _NO_VALUE.fullmatch(value)
