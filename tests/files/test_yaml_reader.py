"""YAML with the line of every key, keys written twice, and no way to crash or to fill the memory."""

from __future__ import annotations

import contextlib

import pytest
import yaml

from files import yaml_reader
from files.yaml_reader import YamlError, load, load_all, read


def test_values_and_lines() -> None:
    document = read("a: 1\nb:\n  - {c: x}\n  - y\n")
    assert document.value == {"a": 1, "b": [{"c": "x"}, "y"]}
    found = {entry.path: (entry.line, entry.text) for entry in document.entries}
    assert found == {"a": (1, "1"), "b": (2, None), "b[0]": (3, None), "b[0].c": (3, "x"), "b[1]": (4, "y")}


def test_every_key_that_is_written_twice_is_found() -> None:
    twins = read("a: 1\nb: {c: 1, d: 2, c: 3}\na: 2\n'a': 3\n").twins
    assert [(twin.path, twin.line) for twin in twins] == [("b.c", 2), ("a", 3), ("a", 4)]


def test_a_merge_is_not_a_key() -> None:
    document = read("x: &x {a: 1}\ny: &y {b: 2}\nz:\n  <<: *x\n  <<: *y\n  a: 3\n")
    assert document.value["z"] == {"a": 3, "b": 2}
    assert document.twins == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1", "line 2, column 1: did not find expected ',' or ']'"),
        ("a: !!python/object:os.system x", "line 1, column 4: has the tag !!python/object:os.system; remove it"),
        ("a: 2026-13-45", "line 1, column 4: '2026-13-45' is not a date; write one such as 2027-01-31"),
        ("a: &a [*a]", "an alias contains itself"),
        ("a: 1\n---\nb: 2\n", "holds several documents"),
        ("\x01", "unacceptable character"),
        ("? [1]\n: 2", "line 1, column 3: found unhashable key"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(YamlError) as caught:
        load(text)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("text", ["[" * 1900 + "]" * 1900, "[" * 100_000, "- " * 100_000, "? " * 900 + "a"])
def test_deep_nesting_is_refused_and_crashes_nothing(text: str) -> None:
    with pytest.raises(YamlError):
        load(text)


def test_aliases_that_stand_for_billions_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(YamlError, match=r"stands for \d+ values with its aliases"):
        load("\n".join(lines))


def test_both_loaders_read_the_same() -> None:
    text = "a: [1, 2.5, yes, null, 2026-11-22, 'x']\nb: |\n  text\n"
    plain = yaml_reader.loader(yaml.SafeLoader)
    values = [[each.value for each in yaml_reader.parse(text, loader)] for loader in (yaml_reader.LOADER, plain)]
    assert values[0] == values[1]


@pytest.mark.parametrize(
    "tag", ["int", "float", "bool", "timestamp", "binary", "null", "seq", "map", "set", "omap", "pairs"]
)
@pytest.mark.parametrize("value", ["''", "x", "'-'", "'é'", "0x", "[1]", "{a: b}", "9" * 5000])
def test_no_explicit_tag_ends_in_a_traceback(tag: str, value: str) -> None:
    with contextlib.suppress(YamlError):
        load(f"a: !!{tag} {value}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- [a]\n" * 60_000, "has more than 100000 values"),
        ("\n".join(f"%TAG !a{number}! x" for number in range(20_000)), "lines that begin with %"),
        ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 400)), "nests 402 levels"),
        ("a: " + "9" * 5000, "line 1, column 4: a value of 5000 characters is not a whole number"),
        ("a: =", "line 1, column 4: '=' has a meaning of its own; put it in quotes"),
    ],
    ids=["too many", "directives", "a chain of aliases", "a huge number", "an equals sign"],
)
def test_what_would_take_long_is_refused(text: str, said: str) -> None:
    with pytest.raises(YamlError) as caught:
        load(text)
    assert said in str(caught.value)


def test_all_documents() -> None:
    assert load_all("a: 1\n---\n---\n- 2\n") == [{"a": 1}, None, [2]]
    assert load("") is None
