"""The data on Fuel-CCP's configuration keys: every key has a fate, and every option exists."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from blueprint.openstack.options import listed
from blueprint.releases import DISTRO_VERSIONS
from blueprint.topology.config_fates import Fate, OptionFate
from blueprint.topology.definitions import catalogue
from tests.projects import RECORDS

CONFIGS = catalogue(RECORDS).configs
OPTIONS = [fate.option for fate in CONFIGS.fates if fate.option]


def test_every_key_has_a_fate_and_every_fate_a_key() -> None:
    used = {fate.keys for fate in CONFIGS.by_path.values()}
    assert used == {fate.keys for fate in CONFIGS.fates}
    assert len(CONFIGS.by_path) > 390


def test_a_fate_says_what_to_write_instead() -> None:
    for fate in (*CONFIGS.fates, *CONFIGS.sections):
        text = fate.refused or fate.left_out
        assert text is None or fate in CONFIGS.sections or "write " in text or "remove it" in text, fate.keys


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: f"{option.project}-{option.name}")
def test_an_option_is_one_of_its_project_in_every_release(option: OptionFate) -> None:
    record = RECORDS.by_name[option.project]
    assert option.file in {**record.options, **record.plain_options}
    for release in DISTRO_VERSIONS if option.file in record.options else ():
        assert listed(release, option.file)[option.section].keys() & {option.name, option.former}, release


def test_a_value_is_the_same_only_if_its_kind_is() -> None:
    fate = Fate(keys=("a",), same=(True, 1.0), refused="write true")
    assert fate.is_same(True)
    assert fate.is_same(1)
    assert not fate.is_same("true")
    assert not Fate(keys=("a",), same=(True,), refused="write true").is_same(1)


def test_a_fate_is_that_of_the_keys_below() -> None:
    fate = Fate(keys=("*.db", "a.b"), left_out="remove it")
    assert fate.names(("nova", "db", "name"))
    assert fate.names(("a", "b"))
    assert not fate.names(("a",))
    assert not fate.names(("a", "c", "b"))


@pytest.mark.parametrize("said", [{}, {"left_out": "x", "refused": "y"}])
def test_a_fate_is_one(said: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="write one of option"):
        Fate(keys=("a",), same=(), **said)  # pyright: ignore[reportArgumentType]
