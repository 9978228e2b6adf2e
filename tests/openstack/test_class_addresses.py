"""Services use the addresses of their nodes in networks beside management, and nothing else of a stack changes."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pulumi

from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from openstack import configuration, node_values
from openstack.config.layers import ConfigFile
from openstack.config.wiring import ENVIRONMENT, wiring
from tests.blueprint.stackfile.test_class_networks import OVERLAY, stack, with_storage
from tests.recording import Recorded, record
from tests.stacks import full_size, parsed


@cache
def objects(*, overlay: bool = False, storage: bool = False) -> dict[str, Recorded]:
    """The Kubernetes objects and machines of a stack, by resource name."""
    given = stack() if overlay else full_size("100", networks={"management": "10.20.0.0/16"})
    given = with_storage(given) if storage else given
    made = plan(parsed(given))

    def build() -> None:
        Cloud("cloud", CloudArgs(made, "test", Render("test"), pulumi.Output.secret("root")))

    return {f"{each.type} {each.name}": each for each in record(build)}


def options(overlay: dict[str, Any], file: str) -> dict[str, dict[str, object]]:
    made = plan(parsed(stack(overlay)))
    found = next(each for each in configuration.of_service(made, "neutron-server") if each.name == file)
    assert isinstance(found, ConfigFile)
    document = found.document()
    return {section: {name: each.value for name, each in values.items()} for section, values in document.items()}


def test_tunnels_end_at_the_overlay_addresses() -> None:
    maps = {
        name: each.inputs["data"] for name, each in objects(overlay=True).items() if name.endswith("l2-agent-nodes")
    }
    assert list(maps.values()) == [
        {f"cmp{number}.conf": f"[ovs]\nlocal_ip = 10.21.4.{number}\n" for number in (1, 2, 3)},
    ]
    network = next(each for name, each in objects(overlay=True).items() if name.endswith("l2-agent-network-nodes"))
    assert network.inputs["data"].keys() == {"ctl01.conf", "ctl02.conf", "ctl03.conf"}
    assert network.inputs["data"]["ctl03.conf"] == "[ovs]\nlocal_ip = 10.21.0.33\n"


def test_osds_have_the_storage_addresses(tmp_path: Path) -> None:
    without, found = objects(), objects(storage=True)
    osds = "kubernetes:apps/v1:DaemonSet cloud-openstack-ceph-osd"
    assert found.keys() - without.keys() == {"kubernetes:core/v1:ConfigMap cloud-openstack-ceph-osd-nodes"}
    others = {name for name in without if without[name].inputs != found[name].inputs and "quorate:machine" not in name}
    assert others == {osds, "kubernetes:core/v1:ConfigMap cloud-openstack-ceph-osd-config"}
    files = found["kubernetes:core/v1:ConfigMap cloud-openstack-ceph-osd-nodes"].inputs["data"]
    assert files == {f"stor{number}.storage": f"10.22.1.{number}\n" for number in (1, 2, 3)}
    conf = found["kubernetes:core/v1:ConfigMap cloud-openstack-ceph-osd-config"].inputs["data"]["ceph.conf"]
    assert "[osd]\ncluster_network = 10.22.0.0/16\npublic_network = 10.22.0.0/16\n" in conf

    pod = found[osds].inputs["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {"name": "node-values", "configMap": {"name": "ceph-osd-nodes", "optional": True}} in pod["volumes"]
    (mounted,) = (each["mountPath"] for each in container["volumeMounts"] if each["name"] == "node-values")
    first, *rest = container["args"][0].splitlines()
    assert rest == without[osds].inputs["spec"]["template"]["spec"]["containers"][0]["args"][0].splitlines()
    (tmp_path / "stor2.storage").write_text(files["stor2.storage"], encoding="utf-8")

    def started(node: str) -> subprocess.CompletedProcess[str]:
        script = f'{first.replace(mounted, str(tmp_path))}\necho "$POD_IP"'
        environment = {**os.environ, "POD_IP": "10.20.1.2", "NODE_NAME": node}
        return subprocess.run(["bash", "-ec", script], env=environment, capture_output=True, text=True, check=False)

    assert started("stor2").stdout == "10.22.1.2\n"
    assert started("stor9").returncode


def test_computes_receive_instances_at_their_migration_addresses() -> None:
    given = full_size("100", networks={"management": "10.20.0.0/16", "migration": {"cidr": "10.23.0.0/16"}})
    given["servers"][3]["addresses"] = {"migration": "10.23.4.1"}
    made = plan(parsed(given))
    names = [node.name for node in made.pool("compute")]
    found = node_values.texts(
        configuration.of_service(made, "nova-compute"), wiring(made, ENVIRONMENT), made.settings, "nova-compute", names
    )
    assert found == {
        f"cmp{number}.conf": f"[libvirt]\nlive_migration_inbound_addr = 10.23.4.{number}\n" for number in (1, 2, 3)
    }


def test_the_network_adds_config_maps_and_facts_of_machines_and_changes_nothing_else() -> None:
    without, with_network = objects(), objects(overlay=True)
    added = {name.rpartition(" ")[2] for name in with_network.keys() - without.keys()}
    agent = "cloud-openstack-neutron-l2-agent"
    assert added == {f"{agent}-nodes", f"{agent}-network-nodes"}
    changed = {name for name, each in without.items() if each.inputs != with_network[name].inputs}
    assert changed
    assert {with_network[name].type for name in changed} == {"quorate:machine:Machine", "quorate:machine:MachinePool"}


def test_networks_of_projects_use_the_mtu_of_the_overlay() -> None:
    assert "global_physnet_mtu" not in options(OVERLAY, "neutron.conf")["DEFAULT"]
    assert "path_mtu" not in options(OVERLAY, "ml2_conf.ini")["ml2"]
    large = {**OVERLAY, "mtu": 9000}
    assert options(large, "neutron.conf")["DEFAULT"]["global_physnet_mtu"] == 9000
    ml2 = options(large, "ml2_conf.ini")["ml2"]
    assert (ml2["path_mtu"], ml2["physical_network_mtus"]) == (9000, ("physnet1:1500",))
    small = {**OVERLAY, "mtu": 1400}
    assert "global_physnet_mtu" not in options(small, "neutron.conf")["DEFAULT"]
    ml2 = options(small, "ml2_conf.ini")["ml2"]
    assert ml2["path_mtu"] == 1400
    assert "physical_network_mtus" not in ml2
