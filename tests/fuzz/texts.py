"""Texts that are nearly what a reader expects: YAML with hostile values, changed in a few places."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import strategies as st

ODD: st.SearchStrategy[str] = st.sampled_from(
    [
        *("", " ", "~", "null", "yes", "1:30", "0200", "1e999", ".nan", "-.inf", "2026-13-45", "2026-10-01", "=", "<<"),
        *(
            "*a",
            "&a",
            "!!int x",
            "!include x",
            "!!python/object:x",
            "%TAG",
            "---",
            "...",
            "? ",
            "- ",
            "{",
            "[",
            "|",
            ">",
        ),
        *(
            "x[1-3]",
            "x[9-1]",
            "x[",
            "[0-99999999999]",
            "(a+)+$",
            "(?=a)",
            "\\",
            ".*",
            "${node}",
            "{{ x }}",
            "`id`",
            "$(id)",
        ),
        *("r1,a=b", "../x", "/etc/passwd", "~/x", "0.0.0.0/0", "255.255.255.255", "::1", "a@b:c", "redis://:pw@x"),
        *("\u200b", "\u202e", "\ufeff", "\x00", "\x1b[31m", "é", "\U0001f600", "\ud800", "9" * 5000, "a" * 5000),
    ]
)
SCALARS: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | ODD | st.text(max_size=20) | st.dates()
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD | st.text(max_size=8), inner, max_size=4)
)


def documents(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Generates mappings of these keys to arbitrary values."""
    return st.dictionaries(st.sampled_from(keys) | ODD, VALUES, max_size=6)


@st.composite
def changed(draw: st.DrawFn, text: str) -> str:
    """Generates variants of a text with up to four pieces replaced by unusual text."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + draw(ODD | st.text(max_size=5)) + text[end:]
    return text


def as_yaml(document: object) -> str:
    """Returns a document as YAML text."""
    return yaml.safe_dump(document, allow_unicode=True)


def as_json(value: object) -> str:
    """Returns a value as JSON text, as the engine passes configuration to the program."""
    return json.dumps(value, default=str)
