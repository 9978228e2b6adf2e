"""The table of version steps: its series are those of the project's versions, and no step skips or goes back."""

from __future__ import annotations

import pytest

from blueprint.releases import DISTRO_VERSIONS, KUBERNETES_MINORS
from blueprint.version_steps import (
    BACKEND,
    BROKER,
    CEPH,
    DATABASE,
    KUBERNETES,
    OPENSTACK,
    TABLE,
    VersionFault,
    problems,
    series,
)
from versions import support

PRODUCTS = {DATABASE: "MariaDB", BROKER: "RabbitMQ"}


@pytest.mark.parametrize("part", PRODUCTS)
def test_series_in_images_are_those_of_the_table_of_versions(part: str) -> None:
    named = {
        release: each.version for each in support.components() if each.name == PRODUCTS[part] for release in each.in_
    }
    assert TABLE[part].in_kolla == named


def test_every_release_that_a_stack_file_may_have_is_in_the_table() -> None:
    assert set(DISTRO_VERSIONS) <= TABLE[OPENSTACK].after.keys()
    assert {f"1.{minor}" for minor in KUBERNETES_MINORS} <= TABLE[KUBERNETES].after.keys()


@pytest.mark.parametrize("part", TABLE)
def test_every_step_goes_forward_and_has_a_source(part: str) -> None:
    steps = TABLE[part]
    assert steps.source.startswith("https://")
    for old, following in steps.after.items():
        assert all([int(n) for n in new.split(".")] > [int(n) for n in old.split(".")] for new in following), old


def test_only_slurp_releases_may_be_followed_by_the_release_after_next() -> None:
    for old, following in TABLE[OPENSTACK].after.items():
        assert len(following) == (2 if old.endswith(".1") else 1)


@pytest.mark.parametrize(
    ("part", "version", "expected"),
    [
        (KUBERNETES, "1.37.2", "1.37"),
        (DATABASE, "2026.1-debian-trixie", "11.4"),
        (DATABASE, "2026.1-debian-trixie-20261101", "11.4"),
        (DATABASE, "10.11.6", "10.11"),
        (BROKER, "4.2.1-management", "4.2"),
        (CEPH, "v20.2.5", "20"),
        (BROKER, f"sha256:{'0' * 64}", None),
        (BROKER, "2", None),
        (BROKER, "latest", None),
        (DATABASE, "2031.1-debian-trixie", None),
    ],
)
def test_the_series_of_a_version(part: str, version: str, expected: str | None) -> None:
    assert series(part, version) == expected


def test_parts_that_come_or_go_are_no_steps() -> None:
    assert problems({"OpenStack": "2026.1"}, {"OpenStack": "2026.1", "Kubernetes": "1.35.1"}, is_live=True) == []
    assert problems({"Kubernetes": "1.37.2"}, {}, is_live=True) == []


@pytest.mark.parametrize(("before", "after"), [({}, {BACKEND: "ovn"}), ({BACKEND: "ovn"}, {})])
def test_a_running_cloud_keeps_its_backend_of_networks(before: dict[str, str], after: dict[str, str]) -> None:
    release = {"OpenStack": "2026.1"}
    (problem,) = problems(release | before, release | after, is_live=True)
    assert (problem.fault, problem.key) == (VersionFault.NO_OPERATION, "quorate:networks.backend")
    assert problems(release | before, release | after, is_live=False) == []
    assert problems(release | after, release | after, is_live=True) == []


def test_a_new_cloud_may_have_any_backend() -> None:
    assert problems({}, {"OpenStack": "2026.1", BACKEND: "ovn"}, is_live=True) == []
