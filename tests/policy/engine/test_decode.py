"""Tests of two ways to read resources that must agree: from the engine's message, and from the policy SDK's proxies."""

from __future__ import annotations

from typing import Any

import pytest

from policy.engine.decode import from_message, from_sdk
from policy.properties import Malformed, NotKnown, Properties
from policy.resource import Resource
from tests.policy.tables import CASES
from tests.policy.world import UNKNOWN, Given, facts, message, sdk_args

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - Pulumi's mark, no secret
ASSET = "c44067f5952c0a294b673a41bacd8c17"


def read(props: dict[str, Any]) -> Resource:
    return from_message("test", "urn", "thing", message(props))


def plain(tree: Properties) -> object:
    """A tree as plain data, unknown values as such; walks it as rules do."""
    try:
        if tree.is_text() or not tree.given():
            return tree.text()
        return [plain(each) for each in tree.items()]
    except NotKnown:
        return "(unknown)"
    except Exception:  # no list
        try:
            return {key: plain(tree.at(key)) for key in tree.keys()}  # noqa: SIM118 - a Properties is not a mapping
        except Exception:  # no mapping
            return _scalar(tree)


def _scalar(tree: Properties) -> object:
    try:
        return tree.quantity()
    except Malformed:  # no number
        return tree.flag()


def test_both_ways_agree() -> None:
    for case in CASES:
        for given, proxied in zip(case.given, sdk_args(case.given).resources, strict=True):
            other = from_sdk(proxied)
            assert (other.type, other.urn, other.name) == (given.type, given.urn, given.name)
            assert plain(other.props) == plain(read(given.props).props)


def test_numbers_are_whole_again() -> None:
    tree = read({"replicas": 3, "share": "25%", "half": 0.5}).props
    assert tree.at("replicas").number(0) == 3
    assert isinstance(tree.at("replicas").quantity(), int)
    assert tree.at("share").quantity() == "25%"
    assert tree.at("none").quantity() is None


def test_what_is_absent_reads_as_empty() -> None:
    tree = read({"spec": None}).props
    assert tree.at("spec", "template", "spec", "containers").words() == ()
    assert dict(tree.at("metadata", "labels").texts()) == {}
    assert tree.at("kind").text("none") == "none"
    assert not tree.at("hostNetwork").flag()


def test_a_secret_is_read_like_any_value() -> None:
    hidden = {SIGNATURE: SECRET, "value": {"replicas": 3}}
    assert read({"spec": hidden}).props.at("spec", "replicas").number(0) == 3
    unknown = {SIGNATURE: SECRET, "value": UNKNOWN}
    assert plain(read({"spec": unknown}).props.at("spec")) == "(unknown)"


def test_a_secret_is_known_for_one_whatever_is_below_it() -> None:
    below = read({"data": {SIGNATURE: SECRET, "value": {"a": "x", "list": ["y"], "late": UNKNOWN}}, "clear": "z"}).props
    assert below.at("data", "a").sealed()
    assert [each.sealed() for each in below.at("data", "list").items()] == [True]
    assert below.at("data", "late").sealed()
    assert not below.at("clear").sealed()
    assert not read({"late": UNKNOWN}).props.at("late").sealed()


def test_what_guards_and_orders_a_resource_arrives_by_both_ways() -> None:
    given = [Given("t", "first", {}), Given("t", "second", {}, protected=True, after=("first",), parent="first")]
    (_, second) = facts(given).resources
    (_, proxied) = (from_sdk(each) for each in sdk_args(given).resources)
    for each in (second, proxied):
        assert each.protected
        assert list(each.after) == [given[0].urn]
        assert each.parent == given[0].urn


def test_an_asset_is_its_text_or_its_path() -> None:
    props = read({"text": {SIGNATURE: ASSET, "text": "x"}, "file": {SIGNATURE: ASSET, "path": "y"}}).props
    assert (props.at("text", "text").text(), props.at("file", "path").text()) == ("x", "y")


def test_properties_are_read_when_they_are_needed() -> None:
    """Properties are read only when a rule needs them, because no rule reads most resources of a stack."""
    read_count = 0

    def load() -> dict[str, Any]:
        nonlocal read_count
        read_count += 1
        return {}

    resource = Resource("type", "urn", "name", load)
    assert read_count == 0
    assert not resource.props.given() or resource.props.keys() == []
    assert read_count == 1


def test_an_unknown_value_says_where_it_is() -> None:
    given = Given("t", "db", {"spec": {"list": [{"x": UNKNOWN}]}})
    tree = from_message(given.type, given.urn, given.name, message(given.props)).props
    (item,) = tree.at("spec", "list").items()
    with pytest.raises(NotKnown, match=r"^spec\.list\[0\]\.x of db cannot be known in this preview$"):
        item.at("x").text()
