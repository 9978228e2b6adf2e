"""Reports about values that only a site knows: names, accounts and limits that no default can have."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.plan.plan import Plan
from blueprint.problems import InvalidStackError
from components.k8s_master import api_proxy
from components.k8s_master.kubeadm import cluster_configuration
from components.k8s_master.tier import proxy_parts
from openstack import client_settings, configuration
from openstack.config.formats import public_text
from tests.reports.stacks import named, objects, planned


def test_registries_with_accounts() -> None:
    found = objects(planned(images={"registry": "registry.example.com", "pullSecrets": ["regcred"]}))
    pods = [
        each.inputs["spec"]["template"]["spec"] for each in found if each.kind in {"Deployment", "DaemonSet", "Job"}
    ]
    actions = [
        each.inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"] for each in found if each.kind == "CronJob"
    ]
    assert len(pods) > 30
    assert all(pod["imagePullSecrets"] == [{"name": "regcred"}] for pod in (*pods, *actions))
    plain = [each for each in objects(planned()) if each.kind == "Deployment"]
    assert not any("imagePullSecrets" in each.inputs["spec"]["template"]["spec"] for each in plain)


def test_a_secret_of_a_registry_that_is_misspelled_is_an_unknown_key() -> None:
    with pytest.raises(InvalidStackError, match=r"quorate:images\.pullSecret: .*pullSecrets"):
        planned(images={"pullSecret": "regcred"})


def test_the_cloud_has_a_region_of_its_own() -> None:
    made = planned(region="nyc-1")
    for service in ("keystone", "nova-compute", "cinder-volume", "neutron-server", "heat-engine", "glance-api"):
        texts = [public_text(each) or "" for each in configuration.of_service(made, service)]
        assert not any("RegionOne" in text for text in texts), service
    assert not any("RegionOne" in str(each.inputs) for each in objects(made))
    assert "region_name: nyc-1" in client_settings.clouds("x", "nyc-1", {}, None)
    with pytest.raises(InvalidStackError, match="quorate:region: 'nyc 1' does not fit"):
        planned(region="nyc 1")


def test_clients_reach_the_api_servers_through_a_load_balancer() -> None:
    made = planned(apiServers={"names": ["k8s.example.org", "10.30.0.5"]})
    assert cluster_configuration(made)["apiServer"]["certSANs"] == [
        "127.0.0.1",
        "localhost",
        "k8s.example.org",
        "10.30.0.5",
    ]
    with pytest.raises(InvalidStackError, match="quorate:apiServers: is for masters of a new cluster"):
        planned(apiServers={"names": ["k8s.example.org"]}, machines="existing")


def proxy_lines(made: Plan) -> set[str]:
    """What the proxy to the API servers has on a machine that is not a master."""
    (text,) = (file.content for file in proxy_parts(made).files if file.path == api_proxy.FILE)
    assert isinstance(text, str)
    return {line.strip() for line in text.splitlines()}


def test_nodes_wait_for_api_servers_as_long_as_the_stack_says() -> None:
    """Watches end where a network drops connections earlier; a slow one needs more than a second to connect."""
    plain = proxy_lines(planned(apiServers={"names": ["k8s.example.org"]}))
    assert plain == proxy_lines(planned()) >= {"proxy_connect_timeout 1s;", "proxy_timeout 10m;"}
    times = {"timeoutSeconds": 3600, "connectTimeoutSeconds": 5, "failTimeoutSeconds": 90}
    changed = proxy_lines(planned(apiServers={"proxy": times}))
    assert changed - plain == {
        "proxy_connect_timeout 5s;",
        "proxy_timeout 60m;",
        *(f"server 10.30.0.{number}:6443 max_fails=2 fail_timeout=90s;" for number in (11, 12, 13)),
    }


@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        ({"timeoutSeconds": 0}, r"apiServers.proxy.timeoutSeconds: "),
        ({"connectTimeoutSeconds": 76}, r"apiServers.proxy.connectTimeoutSeconds: "),
        ({"timeoutSeconds": "10m"}, r"apiServers.proxy.timeoutSeconds: "),
        ({"timeout": 600}, r"apiServers.proxy.timeout: unknown key \(did you mean 'timeoutSeconds'\?\)"),
    ],
)
def test_times_that_nginx_cannot_have_are_refused(proxy: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidStackError, match=said):
        planned(apiServers={"proxy": proxy})


def test_an_ingress_has_the_annotations_of_its_controller() -> None:
    """The size of an upload is a controller's own: ingress-nginx refuses images of more than 1 MB."""
    size = {"nginx.ingress.kubernetes.io/proxy-body-size": "0"}
    given: dict[str, Any] = {"domain": "cloud.example.org", "className": "nginx", "annotations": size, "issuer": "ca"}
    made = named(objects(planned(ingress=given)), "Ingress", "openstack")
    assert made["metadata"]["annotations"] == size | {"cert-manager.io/cluster-issuer": "ca"}
    with pytest.raises(InvalidStackError, match="is not a key of an annotation; write one such as example"):
        planned(ingress=given | {"annotations": {"a b": "c"}})


def test_single_options_of_programs_that_are_not_openstacks() -> None:
    """Each such file could only be replaced as a whole, with all that keeps the quorum."""
    given: dict[str, dict[str, Any]] = {
        "rabbitmq": {"rabbitmq.conf": {"": {"disk_free_limit.absolute": "5GB"}}},
        "mariadb": {"my.cnf": {"mysqld": {"max_connections": 9000}}},
        "nova": {"libvirtd.conf": {"": {"max_clients": 100}}},
        "ceph": {"ceph.conf": {"osd": {"osd_max_backfills": 2}}},
    }
    made = planned(projects={name: {"options": files} for name, files in given.items()})
    for service, file, line in (
        ("rabbitmq", "rabbitmq.conf", "disk_free_limit.absolute = 5GB\n"),
        ("rabbitmq", "rabbitmq.conf", "cluster_partition_handling = pause_minority\n"),
        ("mysqld", "my.cnf", "max_connections = 9000\n"),
        ("nova-libvirt", "libvirtd.conf", "max_clients = 100\n"),
        ("ceph-osd", "ceph.conf", "[osd]\nosd_max_backfills = 2\n"),
    ):
        text = next(public_text(each) for each in configuration.of_service(made, service) if each.name == file)
        assert line in (text or "")


@pytest.mark.parametrize(
    ("project", "files", "said"),
    [
        ("rabbitmq", {"rabbitmq.conf": {"x": {"a": 1}}}, r"rabbitmq.conf.x: is a section, and the file has none"),
        ("mariadb", {"my.cnf": {"": {"a": 1}}}, r"my.cnf: has options without a section"),
        ("mariadb", {"my.cnf": {"mysqld": {"a": [1, 2]}}}, r"my.cnf.mysqld.a: is a list"),
        ("mariadb", {"my.cnf": {"mysqld": {"a": "b\nwsrep_on = 0"}}}, r"a: has a value of several lines"),
        ("rabbitmq", {"rabbit.conf": {"": {"a": 1}}}, r"is not a file of rabbitmq \(did you mean 'rabbitmq.conf'\?\)"),
    ],
)
def test_options_that_such_a_file_cannot_have_are_refused(project: str, files: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidStackError, match=said):
        planned(projects={project: {"options": files}})


def test_files_of_other_programs_have_no_values_of_single_nodes() -> None:
    options = {"nova-compute": {"options": {"libvirtd.conf": {"": {"max_clients": 100}}}}}
    with pytest.raises(InvalidStackError, match=r"libvirtd.conf: is not a file of nova; write one of: nova.conf"):
        planned(nodes={"host1": {"services": options}})
