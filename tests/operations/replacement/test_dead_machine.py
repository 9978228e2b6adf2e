"""What is on a machine is told by its volumes, and by claims that are bound to them now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from operations import cloud_pods
from operations.replacement.dead_machine import NodeVolume, find, volumes_of
from tests.operations.replacement.dying_cloud import DyingCloud, stack_file


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DyingCloud:
    made = DyingCloud(stack_file(tmp_path))
    monkeypatch.setattr(cloud_pods, "run_in_pod", made.run_in_pod)
    return made


def on(cloud: DyingCloud, name: str) -> Any:
    return find(cloud.cluster(), next(node for node in cloud.plan.machines if node.name == name))


def test_members_and_volumes_of_a_machine(cloud: DyingCloud) -> None:
    found = on(cloud, "database2")
    quorums = ["ceph-mon", "elasticsearch-kibana", "mysqld"]
    assert [volume.claim for volume in found.volumes] == [f"data-{each}-1" for each in quorums]
    assert sorted(found.all_members) == [(each, f"{each}-1") for each in quorums]
    assert (found.has_etcd, found.osds, found.is_compute) == (False, (), False)
    assert on(cloud, "master2").all_members == (("etcd", "master2"),)
    assert on(cloud, "storage1").osds == ("0", "1")
    assert (on(cloud, "compute1").is_compute, on(cloud, "messaging1").has_agents) == (True, True)


def test_a_chassis_of_ovn_has_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = stack_file(tmp_path)
    file.write_text(file.read_text("utf-8").replace("networks: {", "networks: {backend: ovn, "), "utf-8")
    cloud = DyingCloud(file)
    monkeypatch.setattr(cloud_pods, "run_in_pod", cloud.run_in_pod)
    found = {name: on(cloud, name).has_agents for name in ("compute1", "messaging1", "database1", "storage1")}
    assert found == {"compute1": True, "messaging1": True, "database1": False, "storage1": False}


def test_a_member_that_has_moved_is_not_there(cloud: DyingCloud) -> None:
    cloud.claims["data-mysqld-1"] = "openstack-mysqld-database4"
    del cloud.claims["data-ceph-mon-1"]
    found = on(cloud, "database2")
    assert found.members == (("elasticsearch-kibana", "elasticsearch-kibana-1"),)
    assert NodeVolume("openstack-mysqld-database2", "") in found.volumes


def test_volumes_of_others_are_left_alone(cloud: DyingCloud) -> None:
    cloud.volumes |= {"foreign-disk": "database2", "openstack-mysqld-database21": "database21"}
    names = [volume.name for volume in volumes_of(cloud.cluster().api, "database2")]
    assert names == [f"openstack-{each}-database2" for each in ("ceph-mon", "elasticsearch-kibana", "mysqld")]


def test_etcd_of_an_existing_cluster_is_not_quorates(cloud: DyingCloud) -> None:
    settings = cloud.plan.settings.model_copy(update={"cluster": object()})
    cloud.plan = replace(cloud.plan, settings=settings)
    assert not on(cloud, "master2").has_etcd
