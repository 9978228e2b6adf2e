"""etcd clusters that no component declares, found by the files that cloud-init places on machines."""

from __future__ import annotations

import pytest

from tests.policy.world import Given, facts

PEERS = ",".join(f"e{number}=https://10.0.0.{number}:2380" for number in (1, 2, 3))


def machine_of_cloud_init(number: int, name: str) -> list[Given]:
    written = f"{name}ETCD_INITIAL_CLUSTER={PEERS}"
    text = f"#cloud-config\nwrite_files:\n- path: /etc/etcd/etcd.env\n  content: |\n    {written}\n"
    disk = Given("libvirt:index/cloudInitDisk:CloudInitDisk", f"ci-e{number}", {"name": "ci", "userData": text})
    domain = Given("libvirt:index/domain:Domain", f"e{number}", {"name": f"e{number}"}, provider=f"qemu://h{number}")
    return [disk, domain]


@pytest.mark.parametrize("named", [True, False])
def test_three_machines_with_a_disk_of_cloud_init_each_are_three_members(named: bool) -> None:
    """A disk is not a member: without a name in the file, three machines once counted as six members."""
    given = [
        each for number in (1, 2, 3) for each in machine_of_cloud_init(number, f"ETCD_NAME=e{number}\n    " * named)
    ]
    (cluster,) = facts(given).etcds
    assert [(each.node, each.server, each.address) for each in cluster.members] == [
        (f"e{number}", f"h{number}", f"10.0.0.{number}") for number in (1, 2, 3)
    ]
