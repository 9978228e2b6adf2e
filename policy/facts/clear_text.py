"""Secrets in clear text, known by the names they stand under and by their own form.

Few false alarms before many finds: a value counts where it cannot well be anything else. References to a secret
(`$VARIABLE`, `{{ template }}`, a path) are none, and what the engine keeps encrypted never comes here. No function here
returns a value: a finding contains only the kind of secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORDS = r"pass(?:word|wd|phrase)|secret|token|cookie|(?:secret|api|private|access)[_\-.]?key"
_NAME = rf"[\w.\-]*(?:{_WORDS})"
_HARMLESS = re.compile(r"initial[_\-]cluster[_\-]token|no[_\-]?pass(word)?$|continue[_\-]token", re.I)
"""Names with such an ending that are not secret, for example the token that only identifies an etcd cluster."""

_UNDER_A_NAME = re.compile(
    rf"""^[ \t\-]*(?:export +|Environment=)?["']?({_NAME})["']?[ \t]*[:=][ \t]*["']?([^\s"',;#]+)""", re.I | re.M
)
_OPTION = re.compile(rf"""(?<!\S)--?({_NAME})[= ]["']?([^\s"';|&-][^\s"';|&]*)""", re.I)
_FORMS = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "an access key": re.compile(r"\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b"),
    "a signed token": re.compile(r"\beyJ[\w\-]{10,}\.eyJ[\w\-]{10,}\.[\w\-]+"),
    "a password in an address": re.compile(r"\b[a-z][a-z0-9+.\-]*://[^\s:/@\"']+:([^\s@/\"'${<%]+)@", re.I),
    "a password of sshpass": re.compile(r"\bsshpass\s+-p\s*['\"]?[^\s$'\"]"),
    "a password of mysql": re.compile(r"\b(?:mysql|mysqladmin|mysqldump|mariadb)\b[^\n;|&]*\s-p[^\s$'\"-]\S+"),
}
_NO_VALUE = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|nil|~|\d|\*+|x+)"
    r"|[$<{%/&!|>\[(].*|(?:file|env):.*|.*\.(?:key|crt|pem|txt|json|ya?ml|conf)",
    re.I | re.S,
)
"""Switches, places to be filled in, paths."""


def under_name(name: str, value: str) -> bool:
    """Whether a value is a secret by the name that it stands under."""
    return bool(re.fullmatch(_NAME, name, re.I)) and not _HARMLESS.search(name) and _is_value(value)


def in_text(text: str) -> Iterator[str]:
    """What kinds of secrets a text holds, each in words."""
    for pattern in (_UNDER_A_NAME, _OPTION):
        for name, value in pattern.findall(text):
            if not _HARMLESS.search(name) and _is_value(value):
                yield f"a value under {name}"
    for words, pattern in _FORMS.items():
        if pattern.search(text):
            yield words


def _is_value(value: str) -> bool:
    return bool(value) and not _NO_VALUE.fullmatch(value)
