"""Files of machines: configuration of kubelet, kubeadm, etcd, Calico and the API proxy, for every kind of node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import machine_files, virt_host, workers
from components.k8s_master import etcd, pki
from components.machine import filled, variables
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.stacks import STACKS, full_size, parsed, server

NODE = "/etc/quorate/node.yaml"
KUBELET = "/etc/kubernetes/patches/kubeletconfiguration.yaml"
KUBEADM = "/etc/kubernetes/kubeadm.yaml"
NGINX, PROXY = "/etc/kubernetes/api-proxy/nginx.conf", "/etc/kubernetes/manifests/api-proxy.yaml"

DEV = plan(load_file(STACKS["dev"]))
LARGE = plan(parsed(full_size("1000", computes=4)))


def node(made: Plan, name: str) -> Node:
    return next(each for each in made.nodes if each.name == name)


def files(made: Plan, each: Node) -> dict[str, str]:
    """Texts of a machine's files, by their paths on it."""
    return filled(machine_files.parts(made, each, CERTIFICATES), variables(each))


def document(made: Plan, name: str, path: str, kind: str | None = None) -> dict[str, Any]:
    """A YAML file of a machine, or the one document of a kind in it."""
    text = files(made, node(made, name))[path]
    found: list[dict[str, Any]] = list(yaml.safe_load_all(text))
    (one,) = [each for each in found if kind is None or each["kind"] == kind]
    return one


def environment(made: Plan, name: str) -> dict[str, str]:
    found = files(made, node(made, name))
    lines = [line for file in ("etcd.env", "member.env") for line in found[f"/etc/etcd/{file}"].splitlines()]
    return dict(line.split("=", 1) for line in lines)


def arguments(pairs: list[dict[str, str]]) -> dict[str, str]:
    return {pair["name"]: pair["value"] for pair in pairs}


@pytest.mark.parametrize("made", [DEV, LARGE], ids=["dev", "1000"])
def test_every_node_has_its_files_by_what_it_is(made: Plan) -> None:
    common = {KUBELET, NODE, KUBEADM}
    master = {"/etc/etcd/etcd.env", "/etc/systemd/system/etcd.service"}
    worker = {NGINX, PROXY}
    for each in made.nodes:
        found = files(made, each).keys()
        expected = common | (master if each.pool == "master" else worker)
        assert found >= expected, each.name
        assert not found & (worker if each.pool == "master" else master), each.name
        assert bool(virt_host.files(each, None)) == each.virtual, each.name


@pytest.mark.parametrize("made", [DEV, LARGE], ids=["dev", "1000"])
def test_labels_and_taints_are_the_plans_wherever_they_are_written(made: Plan) -> None:
    for each in made.nodes:
        facts = document(made, each.name, NODE)
        written = [f"{taint['key']}={taint.get('value', '')}:{taint['effect']}" for taint in facts["taints"]]
        assert facts["labels"] == each.labels
        assert written == list(each.taints)
        assert document(made, each.name, KUBELET)["registerWithTaints"] == facts["taints"]
        assert registration(made, each)["taints"] == facts["taints"]
        labels = arguments(registration(made, each)["kubeletExtraArgs"])["node-labels"]
        assert dict(pair.split("=") for pair in labels.split(",")) == each.labels


def registration(made: Plan, each: Node) -> dict[str, Any]:
    if each.pool != "master":
        return document(made, each.name, KUBEADM, "JoinConfiguration")["nodeRegistration"]
    kind = "InitConfiguration" if each == made.masters[0] else "JoinConfiguration"
    return document(made, each.name, KUBEADM, kind)["nodeRegistration"]


def test_the_node_as_others_will_see_it() -> None:
    assert document(DEV, "messaging1", NODE) == {
        "name": "messaging1",
        "address": "10.20.0.31",
        "capacity": {"cpu": "8", "memory": "16Gi"},
        "allocatable": {"cpu": "8", "memory": "16Gi"},
        "labels": {
            "quorate.io/pool": "rabbitmq",
            "quorate.io/server": "virt1",
            "quorate.io/rack": "lab1",
            "topology.kubernetes.io/zone": "lab1",
            "openstack-control-plane": "enabled",
        },
        "taints": [{"key": "quorate.io/dedicated", "value": "rabbitmq", "effect": "NoSchedule"}],
    }


def test_a_virt_host_keeps_what_its_virtual_machines_take() -> None:
    """Four machines of 24 cores and 48 GiB together, and 4 GiB for the host itself."""
    assert document(DEV, "virt1", KUBELET)["systemReserved"] == {"cpu": "24", "memory": "52Gi"}
    found = document(DEV, "virt1", NODE)
    assert found["capacity"] == {"cpu": "32", "memory": "128Gi"}
    assert found["allocatable"] == {"cpu": "8", "memory": "76Gi"}
    assert "systemReserved" not in document(DEV, "messaging1", KUBELET)


def test_every_member_of_etcd_knows_every_member_over_tls() -> None:
    everyone = ",".join(f"master{n}=https://10.20.0.2{n}:2380" for n in (1, 2, 3))
    for n in (1, 2, 3):
        found = environment(DEV, f"master{n}")
        assert found["ETCD_NAME"] == f"master{n}"
        assert found["ETCD_INITIAL_CLUSTER"] == everyone
        assert found["ETCD_INITIAL_CLUSTER_STATE"] == "existing", "an empty disk alone starts no second cluster"
        assert found["ETCD_ADVERTISE_CLIENT_URLS"] == f"https://10.20.0.2{n}:2379"
        assert found["ETCD_CLIENT_CERT_AUTH"] == found["ETCD_PEER_CLIENT_CERT_AUTH"] == "true"
        plain = {name for name, value in found.items() if "http:" in value}
        assert plain == {"ETCD_LISTEN_METRICS_URLS"}, "that port serves metrics and health only"
        assert found["ETCD_LISTEN_METRICS_URLS"] == f"http://10.20.0.2{n}:2381"


def test_each_master_can_initialise_and_join() -> None:
    """The first one joins too, after its disk was replaced."""
    for name in ("master1", "master2", "master3"):
        found = list(yaml.safe_load_all(files(DEV, node(DEV, name))[KUBEADM]))
        assert [each["kind"] for each in found] == [
            "InitConfiguration", "ClusterConfiguration", "KubeletConfiguration", "KubeProxyConfiguration",
            "JoinConfiguration",
        ]  # fmt: skip
        for endpoint in (found[0]["localAPIEndpoint"], found[-1]["controlPlane"]["localAPIEndpoint"]):
            assert endpoint["advertiseAddress"] == node(DEV, name).address


def test_only_the_first_master_initialises_and_only_a_new_cluster() -> None:
    for name, expected in (("master1", {"initialise"}), ("master2", {"join"})):
        steps = machine_files.parts(DEV, node(DEV, name), CERTIFICATES).steps
        assert {step.name for step in steps} & {"initialise", "join"} == expected
        (step,) = (each for each in steps if each.name in expected)
        assert "kubeadm join" in step.apply
        assert ("kubeadm init" in step.apply) is (name == "master1")
        assert '"10.20.0.21' not in step.apply or name != "master1", "a master does not join through itself"


def test_no_file_that_restarts_something_changes_with_the_masters() -> None:
    fewer = {each.name: each for each in DEV.masters[:2]}
    for master in fewer.values():
        one, other = (etcd.parts(master, masters, CERTIFICATES) for masters in (DEV.masters, DEV.masters[:2]))
        pairs = zip(one.files, other.files, strict=True)
        changed = [new for old, new in pairs if not new.secret and old.content != new.content]
        assert [file.path for file in changed] == ["/etc/etcd/member.env"]
        assert changed[0].restarts is None


def test_the_cluster_wide_kubelet_configuration_taints_nobody() -> None:
    """The cluster-wide kubelet configuration has no taints, because every worker uses it."""
    assert "registerWithTaints" not in document(DEV, "master1", KUBEADM, "KubeletConfiguration")


def test_the_cluster_configuration() -> None:
    found = document(DEV, "master1", KUBEADM, "ClusterConfiguration")
    assert found["apiVersion"] == "kubeadm.k8s.io/v1beta4"
    assert found["etcd"]["external"]["endpoints"] == [f"https://10.20.0.2{n}:2379" for n in (1, 2, 3)]
    assert found["apiServer"]["certSANs"] == ["127.0.0.1", "localhost"]
    server = arguments(found["apiServer"]["extraArgs"])
    assert server["shutdown-watch-termination-grace-period"] == "10s"
    assert server["encryption-provider-config"] == pki.ENCRYPTION
    election = {
        "leader-elect": "true",
        "leader-elect-lease-duration": "15s",
        "leader-elect-renew-deadline": "10s",
        "leader-elect-retry-period": "2s",
    }
    assert arguments(found["scheduler"]["extraArgs"]) == election
    assert arguments(found["controllerManager"]["extraArgs"]) == election | {"node-monitor-grace-period": "25s"}
    assert found["networking"]["podSubnet"] == "172.16.0.0/13"
    assert found["kubernetesVersion"] == "v1.37.2"
    older = plan(parsed(full_size("100", kubernetes="1.35.1")))
    assert document(older, "master1", KUBEADM, "ClusterConfiguration")["kubernetesVersion"] == "v1.35.1"


def test_the_audit_log_has_changes_and_all_requests_for_secrets() -> None:
    found = document(DEV, "master1", KUBEADM, "ClusterConfiguration")["apiServer"]
    mounted = {each["hostPath"]: each for each in found["extraVolumes"]}
    given = arguments(found["extraArgs"])
    assert mounted[given["audit-policy-file"]]["readOnly"]
    assert str(Path(given["audit-log-path"]).parent) in mounted
    rules = document(DEV, "master2", given["audit-policy-file"])["rules"]

    def level(verb: str, group: str, resource: str) -> str:
        for rule in rules:
            resources = [(each["group"], name) for each in rule.get("resources", []) for name in each["resources"]]
            if verb in rule.get("verbs", [verb]) and (not resources or (group, resource) in resources):
                return rule["level"]
        raise AssertionError

    assert level("get", "", "secrets") == level("patch", "apps", "deployments") == "Metadata"
    assert level("get", "apps", "deployments") == level("update", "coordination.k8s.io", "leases") == "None"


def test_requests_in_flight_are_raised_at_1000_nodes_only() -> None:
    """004, 5.5.8."""
    large = document(LARGE, "master1", KUBEADM, "ClusterConfiguration")
    small = document(DEV, "master1", KUBEADM, "ClusterConfiguration")
    always = arguments(small["apiServer"]["extraArgs"])
    assert "max-requests-inflight" not in always
    assert arguments(large["apiServer"]["extraArgs"]) == {**always, "max-requests-inflight": "2000"}


def test_route_reflectors_replace_the_mesh_at_1000_nodes_only() -> None:
    """004, 5.5.8."""
    path = "/etc/kubernetes/calico/network.yaml"
    assert document(DEV, "master1", path, "BGPConfiguration")["spec"]["nodeToNodeMeshEnabled"] is True
    assert document(LARGE, "master1", path, "BGPConfiguration")["spec"]["nodeToNodeMeshEnabled"] is False
    peer = document(LARGE, "master1", path, "BGPPeer")["spec"]
    assert peer["nodeSelector"] == "all()"
    assert peer["peerSelector"] == "kubernetes.io/hostname in { 'master1', 'master2', 'master3' }"


def test_the_api_proxy_reaches_every_master_and_does_not_cut_watches() -> None:
    """004, 5.5.5 and 5.5.8."""
    found = files(DEV, node(DEV, "virt2"))[NGINX]
    assert [line.split()[1] for line in found.splitlines() if line.strip().startswith("server ") and ":" in line] == [
        "10.20.0.21:6443",
        "10.20.0.22:6443",
        "10.20.0.23:6443",
    ]
    assert "proxy_timeout 10m;" in found
    assert "listen 127.0.0.1:6443;" in found
    assert found.count("{") == found.count("}")


def test_the_proxys_image_is_pinned_where_the_stack_pins_it() -> None:
    digest = "sha256:" + "0123456789abcdef" * 4
    pinned = plan(parsed(full_size("100", images={"digests": {"nginx": digest}})))
    for made, image in ((pinned, f"nginx:1.30.4-alpine@{digest}"), (LARGE, "nginx:1.30.4-alpine")):
        (container,) = document(made, "ctl01", PROXY)["spec"]["containers"]
        assert container["image"] == f"docker.io/library/{image}"


def test_every_member_of_etcd_is_copied_by_a_timer() -> None:
    """004, 5.5.10: a backup before any update."""
    for name in ("master1", "master2", "master3"):
        found = files(DEV, node(DEV, name))
        saved, restored, compared = (
            line.removeprefix("ExecStart=")
            for line in found["/etc/systemd/system/etcd-backup.service"].splitlines()
            if line.startswith("ExecStart=")
        )
        assert saved == "/usr/bin/etcdctl snapshot save /var/lib/etcd-backup/new"
        assert restored.startswith("/usr/bin/etcdutl snapshot restore /var/lib/etcd-backup/new --data-dir=")
        assert compared == "/usr/local/lib/quorate/etcd-backup keep"
        assert "ETCDCTL_ENDPOINTS=https://127.0.0.1:2379" in found["/etc/systemd/system/etcd-backup.service"]
        assert "OnCalendar=hourly" in found["/etc/systemd/system/etcd-backup.timer"]
        assert "PrivateNetwork=yes" in found["/etc/systemd/system/etcd-backup-test.service"]
        assert "OnCalendar=daily" in found["/etc/systemd/system/etcd-backup-test.timer"]
    assert "/etc/systemd/system/etcd-backup.timer" not in files(DEV, node(DEV, "database1"))


def test_dns_is_six_at_1000_nodes_only() -> None:
    """004, 5.5.8; on one master, since it is the cluster's."""
    found = document(LARGE, "master1", "/etc/kubernetes/dns/coredns.yaml")
    assert found["spec"]["replicas"] == 6
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "70m", "memory": "70Mi"},
        "limits": {"cpu": "100m", "memory": "512Mi"},
    }
    assert "/etc/kubernetes/dns/coredns.yaml" not in files(LARGE, node(LARGE, "master2"))
    small = document(DEV, "master1", "/etc/kubernetes/dns/coredns.yaml")
    assert small["spec"]["replicas"] == 2
    assert "containers" not in small["spec"]["template"]["spec"]


def test_directories_of_local_volumes_belong_to_their_services() -> None:
    found = {each.name: files(LARGE, each).get("/etc/tmpfiles.d/quorate.conf") for each in LARGE.nodes}
    by_pool = {each.pool: found[each.name] for each in LARGE.nodes}
    assert by_pool["rabbitmq"] == "d /var/lib/quorate/openstack/rabbitmq 0770 42439 42439 -\n"
    assert by_pool["ceph-mon"] == "d /var/lib/quorate/openstack/ceph-mon 0770 167 167 -\n"
    assert by_pool["compute"] is by_pool["master"] is by_pool["keystone"] is None


def test_a_pools_parts_make_what_each_node_would_have_alone() -> None:
    for made in (DEV, LARGE):
        for nodes in workers.pools(made).values():
            for each in nodes:
                first, other = (machine_files.parts(made, one, CERTIFICATES) for one in (nodes[0], each))
                assert first.plain_files == other.plain_files
                assert first.secret_files.keys() == other.secret_files.keys()
                assert {"/etc/kubernetes/discovery.conf"} <= first.secret_files.keys()
                assert first.node_secret_files.keys() == other.node_secret_files.keys()
                assert first.steps == other.steps


def test_masters_have_certificates_and_others_only_what_they_join_with() -> None:
    etcd = {f"/etc/etcd/pki/{name}" for name in ("ca.crt", "server.crt", "server.key", "peer.crt", "peer.key")}
    shared = {"ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key"}
    shared |= {"apiserver-etcd-client.crt", "apiserver-etcd-client.key", "encryption.conf"}
    first = etcd | {f"/etc/kubernetes/pki/{name}" for name in shared}
    joining = {"/etc/kubernetes/discovery.conf"}
    compute = joining | {"/etc/quorate/compute/ca.crt"}
    for name, expected in (("master1", first | joining), ("master2", first | joining), ("virt1", compute)):
        assert machine_files.parts(DEV, node(DEV, name), CERTIFICATES).secret_files.keys() == expected


def test_only_computes_have_a_certificate_for_migrations() -> None:
    own = {f"/etc/quorate/compute/tls.{end}" for end in ("crt", "key")}
    for made in (DEV, LARGE):
        for each in made.nodes:
            found = machine_files.parts(made, each, CERTIFICATES)
            is_compute = "compute" in each.roles
            assert found.node_secret_files.keys() == (own if is_compute else set()), each.name
            assert ("/etc/quorate/compute/ca.crt" in found.secret_files) is is_compute
            assert ("use-compute-certificate" in {step.name for step in found.steps}) is is_compute


def test_etcd_restarts_for_a_new_certificate_and_its_quorum_is_asked() -> None:
    found = machine_files.parts(DEV, node(DEV, "master1"), CERTIFICATES).files
    units = {file.path: file.restarts for file in found if file.path.startswith("/etc/etcd/pki/")}
    assert len(units) == 5
    for unit in units.values():
        assert unit is not None
        assert unit.disrupts is not None
        assert (unit.name, unit.disrupts.name) == ("etcd.service", "etcd")


def test_only_masters_disrupt_a_quorum_and_it_is_etcd() -> None:
    for made in (DEV, LARGE):
        for each in made.nodes:
            found = set(machine_files.parts(made, each, CERTIFICATES).quorums)
            assert found == ({"etcd"} if each.pool == "master" else set()), each.name


def test_a_thousand_computes_are_one_pool_and_each_machine_is_in_one_resource() -> None:
    made = plan(load_file(STACKS["ra1000"]))
    pools = workers.pools(made)
    assert {name: len(nodes) for name, nodes in pools.items()} == {"storage-24c-128g": 45, "compute-24c-256g": 1000}
    seen = [each.name for nodes in pools.values() for each in nodes]
    seen += [each.name for each in (*workers.alone(made), *made.masters)]
    assert sorted(seen) == sorted(each.name for each in made.nodes)


def test_workers_that_differ_are_not_one_pool() -> None:
    config = full_size("100")
    config["servers"] += [
        server("big[1-2]", ["compute"], "10.20.5.1", memory=512),
        server("racked[1-2]", ["compute"], "10.20.6.1", rack="1"),
    ]
    pools = workers.pools(plan(parsed(config)))
    assert {name: [each.name for each in nodes] for name, nodes in pools.items()} == {
        "storage-24c-256g-no-rack": ["stor1", "stor2", "stor3"],
        "compute-24c-256g-no-rack": ["cmp1", "cmp2", "cmp3"],
        "compute-24c-512g-no-rack": ["big1", "big2"],
        "compute-24c-256g": ["racked1", "racked2"],
    }


def test_no_file_of_any_machine_holds_a_secret() -> None:
    """Certificates and tokens are named by their paths; what a path leads to is never written here."""
    for made in (DEV, LARGE):
        for each in made.nodes:
            for path, text in files(made, each).items():
                assert "PRIVATE KEY" not in text, path
                assert "token:" not in text.lower(), path
                assert "password" not in text.lower(), path
