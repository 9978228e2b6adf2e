"""Which host ports conflict, as kube-scheduler decides."""

from __future__ import annotations

import pytest

from policy.facts.kubernetes.terms import ANY_ADDRESS, HostPort

ONE = HostPort("TCP", "10.0.0.1", 443)


@pytest.mark.parametrize(
    ("other", "conflicts"),
    [
        (ONE, True),
        (HostPort("TCP", ANY_ADDRESS, 443), True),
        (HostPort("TCP", "10.0.0.2", 443), False),
        (HostPort("UDP", "10.0.0.1", 443), False),
        (HostPort("TCP", "10.0.0.1", 444), False),
        (HostPort("UDP", ANY_ADDRESS, 443), False),
    ],
)
def test_the_same_port_of_a_common_address_conflicts(other: HostPort, conflicts: bool) -> None:
    assert ONE.conflicts(other) is conflicts
    assert other.conflicts(ONE) is conflicts
