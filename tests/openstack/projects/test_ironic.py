"""Ironic's files fit those of Nova and Neutron, and a stack without Ironic has none of it."""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from typing import Any

import pytest

from blueprint.stackfile.settings import Ingress, Projects
from tests.trials.services.stack import documents
from trials.services.containers import TriedContainer, read

METAL = Projects.model_validate({"ironic": {}})
DOMAIN = Ingress.model_validate({"domain": "cloud.example.org", "className": "nginx"})


@pytest.fixture(scope="module")
def objects() -> list[dict[str, Any]]:
    return documents("dev", projects=METAL, ingress=DOMAIN)


@pytest.fixture(scope="module")
def containers(objects: list[dict[str, Any]]) -> Mapping[str, TriedContainer]:
    return read(objects)


@pytest.fixture(scope="module")
def without() -> Mapping[str, TriedContainer]:
    return read(documents("dev"))


def ini(container: TriedContainer, path: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)  # uWSGI's options may be repeated
    parser.read_string(container.text(path))
    return parser


def test_machines_reach_a_conductor_at_the_address_of_its_node(
    objects: list[dict[str, Any]], containers: Mapping[str, TriedContainer]
) -> None:
    (conductor,) = (
        each for each in objects if (each["kind"], each["metadata"]["name"]) == ("Deployment", "ironic-conductor")
    )
    _, http = conductor["spec"]["template"]["spec"]["containers"]
    assert [(port["containerPort"], port["hostPort"]) for port in http["ports"]] == [(8089, 8089)]
    served = ini(containers["ironic-conductor/ironic-http"], "/etc/ironic/ironic-http-uwsgi.ini")["uwsgi"]
    deploy = ini(containers["ironic-conductor/ironic-conductor"], "/etc/ironic/ironic.conf")["deploy"]
    assert deploy["http_url"] == f"http://$my_ip:{served['http-socket'].rpartition(':')[2]}"
    assert deploy["http_root"] == served["check-static"]
    assert containers["ironic-conductor/ironic-conductor"].variables["OS_DEFAULT__MY_IP"] == "status.hostIP"


def test_no_other_port_is_one_of_the_nodes_address(objects: list[dict[str, Any]]) -> None:
    pods = [each["spec"]["template"]["spec"] for each in objects if "template" in each.get("spec", {})]
    ports = [port for pod in pods for each in pod["containers"] for port in each.get("ports") or ()]
    assert [port["name"] for port in ports if "hostPort" in port] == ["boot"]


def test_machines_call_the_public_name_of_the_api(containers: Mapping[str, TriedContainer]) -> None:
    written = ini(containers["ironic-conductor/ironic-conductor"], "/etc/ironic/ironic.conf")
    assert written["service_catalog"]["endpoint_override"] == "https://ironic.cloud.example.org"


def test_conductors_serve_what_every_boot_interface_begins_with(
    objects: list[dict[str, Any]], containers: Mapping[str, TriedContainer]
) -> None:
    written = ini(containers["ironic-conductor/ironic-conductor"], "/etc/ironic/ironic.conf")
    # Others begin with TFTP, or with a boot loader that no image of the pod has.
    assert written["DEFAULT"]["enabled_boot_interfaces"] == "redfish-virtual-media,http-ipxe"
    # Ironic's defaults: Neutron's DHCP names this file.
    assert not written.has_section("dhcp")
    assert not {"uefi_ipxe_bootfile_name", "ipxe_bootfile_name_by_arch"} & set(written["pxe"])
    served = containers["ironic-conductor/ironic-http"].text("/etc/ironic/ironic-http-uwsgi.ini").splitlines()
    maps = [line.partition(" = ")[2].split("=") for line in served if line.startswith("static-map ")]
    assert {name for name, _ in maps} == {"/snponly.efi"}
    (conductor,) = (
        each for each in objects if (each["kind"], each["metadata"]["name"]) == ("Deployment", "ironic-conductor")
    )
    images = [
        each["image"].rpartition("/")[2].partition(":")[0]
        for each in conductor["spec"]["template"]["spec"]["containers"]
    ]
    assert images == ["ironic-conductor", "ironic-pxe"]


def test_kubelet_makes_the_directory_in_which_the_conductor_writes_when_it_starts(
    objects: list[dict[str, Any]], containers: Mapping[str, TriedContainer]
) -> None:
    (conductor,) = (
        each for each in objects if (each["kind"], each["metadata"]["name"]) == ("Deployment", "ironic-conductor")
    )
    pod = conductor["spec"]["template"]["spec"]
    paths = {each["name"]: each["hostPath"] for each in pod["volumes"] if "hostPath" in each}
    root = ini(containers["ironic-conductor/ironic-conductor"], "/etc/ironic/ironic.conf")["deploy"]["http_root"]
    own = pod["containers"][0]["volumeMounts"]
    (node,) = (paths[each["name"]]["path"] for each in own if each["name"] in paths)
    inside = root.removeprefix("/var/lib/ironic")
    assert {"path": f"{node}{inside}", "type": "DirectoryOrCreate"} in paths.values()


def test_what_starts_as_root_serves_files_as_ironic(containers: Mapping[str, TriedContainer]) -> None:
    http = containers["ironic-conductor/ironic-http"]
    served = ini(http, "/etc/ironic/ironic-http-uwsgi.ini")["uwsgi"]
    assert (served["uid"], served["gid"]) == ("ironic", "ironic")
    # The start of its image writes for a TFTP server.
    assert http.variables["KOLLA_SKIP_EXTEND_START"] == "1"


def test_conductors_link_images_within_the_directory_of_their_node(
    objects: list[dict[str, Any]], containers: Mapping[str, TriedContainer]
) -> None:
    (conductor,) = (
        each for each in objects if (each["kind"], each["metadata"]["name"]) == ("Deployment", "ironic-conductor")
    )
    pod = conductor["spec"]["template"]["spec"]
    of_node = {each["name"] for each in pod["volumes"] if "hostPath" in each}
    mounts = [each["mountPath"] for each in pod["containers"][0]["volumeMounts"] if each["name"] in of_node]
    written = ini(containers["ironic-conductor/ironic-conductor"], "/etc/ironic/ironic.conf")
    caches = [written["pxe"][name] for name in ("images_path", "instance_master_path", "tftp_root", "tftp_master_path")]
    for path in (written["DEFAULT"]["tempdir"], written["deploy"]["http_root"], *caches):
        assert [mount for mount in mounts if f"{path}/".startswith(f"{mount}/")] == ["/var/lib/ironic"], path


def test_the_nova_compute_of_machines_is_a_service_of_its_own(containers: Mapping[str, TriedContainer]) -> None:
    own = ini(containers["nova-compute-ironic/nova-compute-ironic"], "/etc/nova/nova.conf")
    other = ini(containers["nova-compute/nova-compute"], "/etc/nova/nova.conf")
    assert (own["DEFAULT"]["compute_driver"], own["DEFAULT"]["host"]) == ("ironic.IronicDriver", "nova-compute-ironic")
    assert other["DEFAULT"]["compute_driver"] == "libvirt.LibvirtDriver"
    assert ("libvirt" in own, "ironic" in other, "host" in other["DEFAULT"]) == (False, False, False)
    # It has neither the database's password nor the key of cached tokens.
    assert not {"database", "api_database", "keystone_authtoken"} & set(own)
    assert own["ironic"]["username"] == "nova"
    secrets = ini(containers["nova-compute-ironic/nova-compute-ironic"], "/etc/nova/nova.conf.d/secrets.conf")
    assert "password" in secrets["ironic"]


def test_neutron_binds_ports_of_machines_that_its_agent_reports(containers: Mapping[str, TriedContainer]) -> None:
    server = ini(containers["neutron-server/neutron-server"], "/etc/neutron/plugins/ml2/ml2_conf.ini")
    assert server["ml2"]["mechanism_drivers"] == "openvswitch,l2population,baremetal"
    agent = containers["ironic-neutron-agent/ironic-neutron-agent"]
    assert ini(agent, "/etc/neutron/plugins/ml2/ironic_neutron_agent.ini")["ironic"]["username"] == "neutron"
    assert "password" in ini(agent, "/etc/neutron/neutron.conf.d/machines.conf")["ironic"]
    assert "database" not in ini(agent, "/etc/neutron/neutron.conf")


@pytest.mark.parametrize(("release", "sections"), [("2025.2", ()), ("2026.1", ("l2vni", "baremetal_agent"))])
def test_the_agent_of_machines_asks_no_database_of_ovn(release: str, sections: tuple[str, ...]) -> None:
    rendered = read(documents("dev", projects=METAL, ingress=DOMAIN, release=release))
    agent = rendered["ironic-neutron-agent/ironic-neutron-agent"]
    written = ini(agent, "/etc/neutron/plugins/ml2/ironic_neutron_agent.ini")
    found = {name: set(written[name].values()) for name in ("l2vni", "baremetal_agent") if name in written}
    assert found == {name: {"false"} for name in sections}


def test_a_stack_without_ironic_has_none_of_it(without: Mapping[str, TriedContainer]) -> None:
    assert not [name for name in without if "ironic" in name]
    server = ini(without["neutron-server/neutron-server"], "/etc/neutron/plugins/ml2/ml2_conf.ini")
    assert "baremetal" not in server["ml2"]["mechanism_drivers"]
