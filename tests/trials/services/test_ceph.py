"""Real monitors and OSDs of Ceph with the rendered containers: no acknowledged object is lost, whatever fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from openstack import node_values
from tests.blueprint.stackfile.test_class_networks import stack, with_storage
from tests.stacks import parsed
from tests.trials.services.judge import judge
from tests.trials.services.stack import objects
from trials.services import ceph, ceph_survivor, testbed
from trials.services.containers import TriedContainer, read


def test_ceph_keeps_what_it_acknowledged_without_any_power(
    ceph_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    judge(ceph.prove(ceph_root, containers, (ceph.power_cut,)))


def test_data_goes_by_the_storage_addresses(ceph_root: Path) -> None:
    """The monitors have no storage address here: only their managers would need one. The client has one."""
    rendered = read(objects(parsed(with_storage(stack())), "storage"))
    with testbed.ServiceTestbed(ceph_root) as around:
        cluster = ceph.CephCluster(around, rendered)
        addresses = {name: f"10.22.1.{number}" for number, name in enumerate(ceph.STORAGE, start=1)}
        for name, address in addresses.items():
            machine = cluster.storage[name]
            machine.environment = {"NODE_NAME": name}
            machine.write(f"{node_values.DIRECTORY}/{name}.storage", f"{address}\n")
            machine.run(["ip", "address", "add", f"{address}/16", "dev", "eth0"])
        cluster.client.run(["ip", "address", "add", "10.22.4.1/16", "dev", "eth0"])
        ceph.begin(cluster)
        osds = json.loads(cluster.ceph("osd", "dump", "--format=json"))["osds"]
        for kind in ("public_addr", "cluster_addr", "heartbeat_front_addr", "heartbeat_back_addr"):
            assert {each[kind].partition(":")[0] for each in osds} == set(addresses.values()), kind
        cluster.ceph("osd", "set", "noout")
        said = cluster.ceph("health", "detail")
        assert "\n[WRN] OSDMAP_FLAGS: " in said, "the form that master_metrics.sh reads"
        cluster.load()
        cluster.more()
        assert "ok" in cluster.end_load().values()


@pytest.mark.heavy
def test_ceph_keeps_what_it_acknowledged(ceph_root: Path, containers: Mapping[str, TriedContainer]) -> None:
    judge(ceph.prove(ceph_root, containers))


@pytest.mark.heavy
def test_one_of_three_monitors_goes_on_after_two_were_lost_for_good(
    ceph_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    judge(ceph_survivor.prove(ceph_root, containers))
