"""Machines with addresses in networks beside management, which services do not use."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.broken.broken import Broken, Props


def addressed(*facts: str) -> Callable[[Props], None]:
    """Returns a change that gives each machine of a pool an address in the networks of these facts."""

    def break_(props: Props) -> None:
        rows = json.loads(props["nodes"])
        for place, fact in enumerate(facts, start=21):
            for number, row in enumerate(rows, start=1):
                row[fact] = f"10.{place}.0.{number}"
        props["nodes"] = json.dumps(rows)

    return break_


CASES = [
    Broken(
        "networks that no service uses",
        (
            ("MachinePool", "cloud-compute-24c-256g", addressed("overlayAddress", "migrationAddress")),
            ("MachinePool", "cloud-storage-24c-128g", addressed("storageAddress")),
        ),
        {
            "tunnels-in-overlay-network": {"cloud-openstack-neutron-l2-agent"},
            "migrations-in-migration-network": {"cloud-openstack-nova-compute"},
            "ceph-in-storage-network": {"cloud-openstack-ceph-osd"},
        },
    ),
]
