"""Tests of reading quantities as Kubernetes does, and configuration files as services do."""

from __future__ import annotations

from decimal import Decimal

import pytest

from policy.facts.kubernetes import configuration
from policy.facts.kubernetes.quantity import PodResources, quantity, resources
from policy.properties import UNKNOWN, Malformed, NotKnown, Properties


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("500m", Decimal("0.5")),
        ("2", Decimal(2)),
        (2.0, Decimal(2)),
        (0.5, Decimal("0.5")),
        ("1.5", Decimal("1.5")),
        ("1Ki", Decimal(1024)),
        ("1k", Decimal(1000)),
        ("8Gi", Decimal(8 * 1024**3)),
        ("8G", Decimal(8 * 1000**3)),
        ("1E", Decimal(1000**6)),
        ("1e3", Decimal(1000)),
        ("1E3", Decimal(1000)),
        ("100n", Decimal("1e-7")),
        (None, Decimal(0)),
    ],
)
def test_a_quantity(written: object, value: Decimal) -> None:
    assert quantity(Properties(written, "web")) == value


@pytest.mark.parametrize("written", ["", "m", "1 Gi", "1KB", "one", "1.2.3", "1ki", True, ["1"]])
def test_what_is_none(written: object) -> None:
    with pytest.raises(Malformed):
        quantity(Properties(written, "web"))


def test_an_unknown_one_is_not_nothing() -> None:
    with pytest.raises(NotKnown, match=r"requests\.cpu of web"):
        resources(Properties({"requests": {"cpu": UNKNOWN}}, "web").at("requests"))


def test_both_must_fit() -> None:
    room = PodResources(Decimal(4), Decimal(8))
    assert PodResources(Decimal(4), Decimal(8)).fits(room)
    assert not PodResources(Decimal(5), Decimal(1)).fits(room)
    assert not PodResources(Decimal(1), Decimal(9)).fits(room)


def test_rabbitmqs_own_form() -> None:
    text = "# a = 1\nb = 2 # why\n\n  c.d  =  e = f\nnothing\n"
    assert configuration.flat(text) == {"b": "2", "c.d": "e = f"}


def test_of_an_option_that_is_written_twice_the_last_counts() -> None:
    parsed = configuration.sections("[a]\nx = 1\nx = 2\n%(odd\n")
    assert parsed.get("a", "x") == "2"


def test_a_text_that_is_no_configuration() -> None:
    with pytest.raises(Malformed, match="MissingSectionHeaderError"):
        configuration.sections("x = 1\n")
