"""Tests of the base class of components: it registers a component's facts once, as inputs and as outputs."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from components.component import Component, Facts, plain
from tests.recording import record


class Shelf(Component[int]):
    """A component with one child, for these tests."""

    token = "test:index:Shelf"  # noqa: S105 - a type token

    @staticmethod
    def facts(args: int) -> Facts:
        return plain(books=args, room_left=True)

    def build(self, name: str, args: int) -> None:
        Plank(f"{name}-plank", args, self.child())


class Plank(Component[int]):
    """The child component of a Shelf."""

    token = "test:index:Plank"  # noqa: S105 - a type token

    @staticmethod
    def facts(args: int) -> Facts:
        return plain(length=args)

    def build(self, name: str, args: int) -> None:
        """Creates no resources."""


def test_facts_travel_as_inputs_and_as_outputs_registered_once() -> None:
    shelf, plank = sorted(record(lambda: void(Shelf("shelf", 3))), key=lambda each: each.type, reverse=True)
    assert shelf.inputs == {"books": 3, "roomLeft": True}
    assert shelf.outputs == [shelf.inputs]
    assert plank.outputs == [plank.inputs] == [{"length": 3}]


def test_children_hang_on_their_component() -> None:
    parents = {each.name: each.parent for each in record(lambda: void(Shelf("shelf", 3)))}
    assert parents["shelf-plank"] == "shelf"


def test_a_second_registration_is_refused() -> None:
    class Eager(Shelf):
        def build(self, name: str, args: int) -> None:
            self.register_outputs({name: args})

    with pytest.raises(TypeError, match="Eager registers its facts by itself"):
        record(lambda: void(Eager("shelf", 3)))


def test_names_become_camel_case_and_tuples_lists() -> None:
    assert plain(dedicated_nodes=3, pools=("a", "b"), host={"cpu": 4}) == {
        "dedicatedNodes": 3,
        "pools": ["a", "b"],
        "host": {"cpu": 4},
    }


@pytest.mark.parametrize("value", [pulumi.Output[Any], object(), {1, 2}, [object()], {"deep": object()}])
def test_what_is_not_plain_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=r"fact 'books(\.deep)?' is a \w+; a fact is plain data"):
        plain(books=value)


def void(_: object) -> None:
    """For a lambda that makes something and returns nothing."""
