"""The stack of a lab: its options for OpenStack are those that the records of the projects have for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from blueprint.openstack import options
from blueprint.openstack.projects.process_definition import Backend
from blueprint.stackfile.settings import Networks, PhysicalNetwork, only_records
from commands.trials import lab_stack
from tests.projects import OPTION_FILES, RECORDS
from tests.stacks import full_size, parsed, server
from trials.cloud import network

THREADS = {"executor_thread_pool_size": 8}


def given(backend: Backend = "ovs") -> dict[str, Any]:
    return {name: each["options"] for name, each in lab_stack.lab_options(backend).items()}


@pytest.fixture
def without_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has no Open vSwitch."""

    def no_module(_: Path) -> bool:
        return False

    monkeypatch.setattr(Path, "exists", no_module)


def test_projects_that_send_messages_have_few_threads() -> None:
    found = {name: files[OPTION_FILES[name][0]]["DEFAULT"] for name, files in given().items()}
    assert found.keys() == {name for name, record in RECORDS.by_name.items() if record.messaging}
    assert all(default.items() >= THREADS.items() for default in found.values())


def test_options_of_a_record_stand_beside_them() -> None:
    assert given()["nova"]["nova.conf"] == {
        "DEFAULT": {
            **THREADS,
            "update_resources_interval": 300,
            "reserved_host_memory_mb": 512,
            "reserved_host_cpus": 0,
        },
        "libvirt": {"virt_type": "qemu"},
        "scheduler": {"workers": 1},
        "conductor": {"workers": 1},
        "workarounds": {"disable_deep_image_inspection": True},
    }
    assert given()["neutron"]["ml2_conf.ini"]["ml2_type_vxlan"] == {"vni_ranges": "1:4000"}


@pytest.mark.usefixtures("without_module")
def test_without_the_kernels_module_networks_of_projects_are_vlans() -> None:
    neutron = given()["neutron"]
    assert neutron["openvswitch_agent.ini"]["ovs"] == {"datapath_type": "netdev"}
    assert neutron["ml2_conf.ini"]["ml2"] == {"project_network_types": "vlan"}
    for agent in ("dhcp_agent.ini", "l3_agent.ini"):
        assert neutron[agent] == {"DEFAULT": {"ovs_use_veth": True}, "ovs": {"datapath_type": "netdev"}}


@pytest.mark.usefixtures("without_module")
def test_with_ovn_they_are_geneve_and_routers_are_those_of_ovn() -> None:
    neutron = given("ovn")["neutron"]
    assert neutron["openvswitch_agent.ini"]["ovs"] == {"datapath_type": "netdev"}
    assert neutron.keys() == {"neutron.conf", "ml2_conf.ini", "openvswitch_agent.ini"}
    assert neutron["neutron.conf"]["DEFAULT"]["service_plugins"] == "ovn-router,trunk"
    assert neutron["ml2_conf.ini"].keys() == {"ml2_type_vxlan", "ml2_type_geneve"}


def test_the_first_physical_network_has_the_labs_interface_and_the_others_have_none() -> None:
    one, other = (
        PhysicalNetwork(bridge="br-out", interface="ens8"),
        PhysicalNetwork(bridge="br-other", interface="ens9"),
    )
    networks = Networks(physical={"outside": one, "other": other})
    found = lab_stack.physical_networks(parsed(full_size("100")).model_copy(update={"networks": networks}))
    assert found == {
        "outside": {"bridge": "br-out", "interface": network.INSTANCES, "vlans": "2:4000"},
        "other": {"bridge": "br-other"},
    }


@pytest.mark.parametrize("name", given())
@pytest.mark.parametrize("backend", get_args(Backend))
def test_a_stack_may_set_all_of_them(name: str, backend: Backend) -> None:
    assert not list(options.problems("key", name, OPTION_FILES[name], "2026.1", given(backend)[name]))


def test_a_stack_with_projects_of_its_own_alone_can_be_in_a_lab() -> None:
    merged = lab_stack.merged(lab_stack.lab_options("ovs"), only_records("./my-project"))
    assert merged["records"] == "./my-project"
    assert merged.keys() - {"records"} == lab_stack.lab_options("ovs").keys()


def test_a_server_that_is_no_machine_of_the_lab_has_no_host_key() -> None:
    guest = {"id": 0, "name": "guest1", "cpu": 4, "ram": 8, "address": "10.20.9.2", "roles": ["compute"]}
    host = server("host1", ["virt"], "10.20.9.1", vms=[guest])
    stack = full_size("100", features=["reduced-footprint"])
    stack["servers"] = [host]
    (found,) = lab_stack.with_host_keys([host], parsed(stack), {"guest1": "key"})
    assert "hostKey" not in found
    assert found["vms"] == [{**guest, "hostKey": {"guest1": "key"}}]


def test_each_change_of_the_drill_s_option_differs_from_the_one_before(tmp_path: Path) -> None:
    file = lab_stack.directory(tmp_path, "dev") / "Pulumi.dev-cloud.yaml"
    file.parent.mkdir(parents=True)
    others = {"nova.conf": {"DEFAULT": {"debug": True}}}
    file.write_text(yaml.safe_dump({"config": {"quorate:projects": {"nova": {"options": others}}}}), encoding="utf-8")

    def found() -> Any:
        (document,) = yaml.safe_load_all(file.read_text(encoding="utf-8"))
        return document["config"]["quorate:projects"]["nova"]["options"]["nova.conf"]["DEFAULT"]

    lab_stack.change_option(tmp_path, "dev")
    assert found() == {"debug": True, "heal_instance_info_cache_interval": 61}
    lab_stack.change_option(tmp_path, "dev")
    assert found() == {"debug": True}


def test_the_generations_of_an_authority_are_in_the_stack_file_beside_others(tmp_path: Path) -> None:
    file = lab_stack.stack_file(tmp_path, "dev")
    file.parent.mkdir(parents=True)
    keys = {"serviceAccounts": {"uses": 1, "trusts": [1, 2]}}
    file.write_text(yaml.safe_dump({"config": {"quorate:certificates": keys}}), encoding="utf-8")

    lab_stack.set_generations(tmp_path, "dev", "etcd", {"uses": 2, "trusts": [1, 2]})
    found = yaml.safe_load(file.read_text(encoding="utf-8"))["config"]["quorate:certificates"]
    assert found == {**keys, "etcd": {"uses": 2, "trusts": [1, 2]}}


def test_a_passphrase_of_the_user_is_that_of_another_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "of-production")
    monkeypatch.setenv("HOME", "/home/admin")
    found = lab_stack.environment(Path("/clone"), "dev")
    assert "PULUMI_CONFIG_PASSPHRASE" not in found
    assert found["PULUMI_CONFIG_PASSPHRASE_FILE"].startswith("/clone/")
    assert found["HOME"] == "/home/admin"
