"""Generations of an authority in a stack file, and the record that a deployment leaves of them."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from openstack.planned_versions import planned_versions
from tests.stacks import full_size, parsed


def recorded(etcd: dict[str, Any], **more: Any) -> str | None:
    """What a deployment with these generations records; None for nothing."""
    made = plan(parsed(full_size("100", certificates={"etcd": etcd}, **more)))
    return planned_versions(made).get("authority etcd")


def test_the_first_generation_is_not_recorded() -> None:
    assert recorded({}) is None
    assert recorded({"uses": 1, "trusts": [1]}) is None
    assert recorded({"uses": 1, "trusts": [1, 2]}) == "1 of 1+2"
    assert recorded({"uses": 2, "trusts": [2]}) == "2 of 2"


@pytest.mark.parametrize("name", ["computes", "kubernetes", "serviceAccounts"])
def test_other_authorities_and_keys_have_generations_too(name: str) -> None:
    def versions(generations: dict[str, Any]) -> dict[str, str]:
        return planned_versions(plan(parsed(full_size("100", certificates={name: generations}))))

    assert versions({"uses": 1, "trusts": [1, 2]})[f"authority {name}"] == "1 of 1+2"
    assert f"authority {name}" not in versions({})
    with pytest.raises(InvalidStackError, match=rf"certificates.{name}.uses: is 2, which no server would accept"):
        versions({"uses": 2})


@pytest.mark.parametrize(
    ("etcd", "said"),
    [
        (
            {"uses": 2},
            r"certificates.etcd.uses: is 2, which no server would accept; write it in trusts, or one of ",
        ),
        ({"uses": 2, "trusts": [2, 1]}, "certificates.etcd.trusts: is not in ascending order, each generation once"),
        ({"uses": 2, "trusts": [2, 2]}, "certificates.etcd.trusts: is not in ascending order, each generation once"),
        ({"uses": 0, "trusts": [0]}, "certificates.etcd.uses: "),
        ({"trusts": []}, "certificates.etcd.trusts: "),
        ({"trusts": [1, 2, 3]}, "certificates.etcd.trusts: "),
        ({"trust": [1]}, r"certificates.etcd.trust: unknown key \(did you mean 'trusts'\?\)"),
    ],
)
def test_generations_that_no_member_could_have_are_refused(etcd: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidStackError, match=said):
        recorded(etcd)


def test_a_cluster_that_exists_has_certificates_of_its_own() -> None:
    with pytest.raises(InvalidStackError, match="quorate:certificates: is for a new cluster"):
        recorded({}, machines="existing")
