"""Tests of patterns of names, such as node[1-3]."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint.patterns import check_name, expand, number_in


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("ctl", ["ctl"]),
        ("cmp[08-11]", ["cmp08", "cmp09", "cmp10", "cmp11"]),
        ("r[1-2]s[1,3]", ["r1s1", "r1s3", "r2s1", "r2s3"]),
        ("n[9-11]x", ["n9x", "n10x", "n11x"]),
    ],
)
def test_expands_in_order_and_keeps_width(pattern: str, names: list[str]) -> None:
    assert expand(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("cmp[9-1]", "matches nothing, it runs backwards; write [1-9]"),
        ("cmp[a-b]", "is not a valid range; write for example [01-09]"),
        ("cmp[1-", "bracket without its partner"),
        ("cmp[]", "is not a valid range"),
        ("cmp[1-99999]", "more than 10000 names"),
        ("a[001-999]b[001-999]", "998001 names, more than 10000"),
    ],
)
def test_says_what_is_wrong_and_what_to_write(pattern: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        expand(pattern)


@given(st.integers(0, 500), st.integers(0, 500))
def test_a_range_gives_every_number_once(first: int, count: int) -> None:
    names = expand(f"n[{first}-{first + count}]")
    assert [int(name[1:]) for name in names] == list(range(first, first + count + 1))


@pytest.mark.parametrize(
    "name",
    [*("Ctl1", "ctl_1", "-ctl", "ctl-", "a" * 64, ""), *("a.", ".a", "a..b", "a.-b", "a-.b", f"{'a' * 32}.{'b' * 31}")],
)
def test_refuses_what_kubernetes_would(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a node"):
        check_name(name)


@pytest.mark.parametrize("name", ["ctl1", "k8s-01.env1.example.org", "1.2", f"{'a' * 31}.{'b' * 31}"])
def test_accepts_host_names_with_and_without_domain(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(("name", "number"), [("ctl03", 3), ("k8s-01.env7.example.org", 1), ("ctl.env7", None)])
def test_the_number_of_a_name_is_not_of_its_domain(name: str, number: int | None) -> None:
    assert number_in(name) == number
