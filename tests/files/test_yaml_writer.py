"""YAML of machines' files: places for each node's own values, and everything else as it was."""

from __future__ import annotations

from string import Template

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from components.templates import fill
from files.yaml_writer import NODE, Place, literal, template

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(TEXT, PLAIN))
def test_a_document_comes_back_as_it_went_in(document: dict[str, object]) -> None:
    assert yaml.safe_load(Template(template(document)).substitute()) == document


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("1").via("would be a number")
@example("a: b # c").via("would be a mapping")
@example("""it's a "rack", r1\\n""").via("ends a scalar")
def test_whatever_fills_a_place_comes_in_as_data(value: str) -> None:
    text = template({"rack": Place("${rack}"), "list": [Place("a=${rack}")]})
    assert yaml.safe_load(fill({"f": text}, {"rack": value})["f"]) == {"rack": value, "list": [f"a={value}"]}


def test_documents_are_kept_apart_and_in_order() -> None:
    text = Template(template({"b": 1, "a": 2}, {"c": 3})).substitute()
    assert text == "b: 1\na: 2\n---\nc: 3\n"


def test_nothing_is_shortened_to_an_alias() -> None:
    same = [{"key": "a"}]
    assert "&" not in template({"one": same, "two": same})


def test_literal_text_goes_through_unchanged() -> None:
    assert fill({"f": literal("$PATH ${node} $$")}, {"node": "n"}) == {"f": "$PATH ${node} $$"}


def test_a_place_that_nothing_fills_is_an_error() -> None:
    with pytest.raises(KeyError, match="node"):
        fill({"f": template({"name": NODE})}, {})
