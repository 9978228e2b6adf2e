"""A whole cloud under mocks: which components there are, and that every fact is sent twice over."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pulumi
import pytest

import contract
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.virt import Virt
from components.cloud import Cloud, CloudArgs
from components.openstack.environment import Environment, EnvironmentArgs
from components.target import GuestMachine
from components.target.render import Render
from openstack.projects import horizon
from tests.projects import PROCESSES, PROJECTS
from tests.recording import Recorded, record
from tests.stacks import STACKS, full_size, parsed

DEV = plan(load_file(STACKS["dev"]))
LARGE = plan(parsed(full_size("1000", computes=4)))
ROOT_SECRET = "the root secret of these tests"  # noqa: S105


def cloud(made: Plan) -> list[Recorded]:
    def build() -> None:
        root = pulumi.Output.secret(ROOT_SECRET)
        Cloud("cloud", CloudArgs(made, "test", Render("test"), root))

    return record(build)


@pytest.fixture(scope="module")
def dev() -> list[Recorded]:
    return cloud(DEV)


@pytest.fixture(scope="module")
def large() -> list[Recorded]:
    return cloud(LARGE)


def facts(resources: list[Recorded], token: str) -> dict[str, dict[str, Any]]:
    return {each.name: each.inputs for each in resources if each.type == token}


def test_every_component_sends_its_facts_as_inputs_and_once_as_outputs(dev: list[Recorded]) -> None:
    components = [each for each in dev if each.type.startswith("quorate:")]
    assert {each.type for each in components} == {
        contract.CLOUD, contract.VIRT_HOST, contract.MASTER_TIER, contract.ETCD, contract.CALICO,
        contract.ENVIRONMENT, contract.PROJECT, contract.PROCESS, contract.MACHINE, contract.MACHINE_POOL,
    }  # fmt: skip
    for each in components:
        assert each.outputs == [each.inputs], each.name
        assert each.inputs, each.name


def test_the_clouds_own_facts(dev: list[Recorded]) -> None:
    assert facts(dev, contract.CLOUD) == {
        "cloud": {
            "profile": "lab",
            "architecture": "100",
            "release": "2026.1",
            "target": "render",
            "machines": "managed",
            "features": ["reduced-footprint"],
            "acknowledged": [],
            "computes": 3,
            "stack": "test",
        }
    }


def test_a_virt_host_and_its_machines(dev: list[Recorded]) -> None:
    hosts = facts(dev, contract.VIRT_HOST)
    assert hosts.keys() == {"cloud-virt1", "cloud-virt2", "cloud-virt3"}
    assert hosts["cloud-virt1"] == {
        "server": "virt1",
        "hypervisor": "kvm",
        "vms": [
            {"node": "master1", "cpu": 4, "memory": 8, "roles": ["master"]},
            {"node": "messaging1", "cpu": 8, "memory": 16, "roles": ["controller"]},
            {"node": "database1", "cpu": 8, "memory": 16, "roles": ["controller"]},
            {"node": "storage1", "cpu": 4, "memory": 8, "roles": ["storage"]},
        ],
        "hostMemory": 128,
        "hostCpu": 32,
        "hostRoles": ["virt", "compute"],
    }
    children = {each.name for each in dev if each.parent == "cloud-virt1"}
    assert children == {f"cloud-virt1-{name}" for name in ("master1", "messaging1", "database1", "storage1")}


class Making(Render):
    """Makes no virtual machine, and records which ones are to be protected."""

    def __init__(self, protected: dict[str, bool | None]) -> None:
        super().__init__("test")
        self.protected = protected

    def virtual_machine(
        self, name: str, vm: GuestMachine, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
    ) -> Sequence[pulumi.Resource]:
        del name, after
        self.protected[vm.node.name] = opts.protect
        return []


@pytest.mark.parametrize("profile", ["production", "lab"])
def test_virtual_machines_are_protected_in_production(profile: str) -> None:
    image = {"source": "image.qcow2", "sha256": "0" * 64}
    virt = Virt.model_validate({"image": image, "authorizedKeys": ("ssh-ed25519 AAAA",)})
    made = replace(DEV, settings=DEV.settings.model_copy(update={"profile": profile, "virt": virt}))
    protected: dict[str, bool | None] = {}

    def build() -> None:
        Cloud("cloud", CloudArgs(made, "test", Making(protected), pulumi.Output.secret(ROOT_SECRET)))

    record(build)
    virtual = [node.name for node in made.nodes if node.virtual]
    assert protected == dict.fromkeys(virtual, profile == "production")


def test_the_master_tier(dev: list[Recorded], large: list[Recorded]) -> None:
    (masters,) = facts(dev, contract.MASTER_TIER).values()
    assert [master["node"] for master in masters["masters"]] == ["master1", "master2", "master3"]
    assert masters["masters"][0] == {"node": "master1", "server": "virt1", "rack": "lab1", "address": "10.20.0.21"}
    (etcd,) = facts(dev, contract.ETCD).values()
    assert [member["server"] for member in etcd["members"]] == ["virt1", "virt2", "virt3"]
    (small,), (big,) = facts(dev, contract.CALICO).values(), facts(large, contract.CALICO).values()
    assert small == {"routeReflectors": [], "datastore": "kubernetes"}
    assert big == {"routeReflectors": ["master1", "master2", "master3"], "datastore": "kubernetes"}


def test_a_physical_master_is_the_tiers_and_a_virtual_one_its_hosts(dev: list[Recorded], large: list[Recorded]) -> None:
    parents = {each.inputs["node"]: each.parent for each in [*dev, *large] if each.type == contract.MACHINE}
    assert parents["master1"] == "cloud-masters", "of the large one"
    assert {each.parent for each in dev if each.inputs.get("node") == "master1"} == {"cloud-virt1"}


def test_a_process_is_what_the_plan_says_of_it(large: list[Recorded]) -> None:
    processes = {each["process"]: each for each in facts(large, contract.PROCESS).values()}
    assert processes.keys() == {name for name, _ in LARGE.workloads}
    for name, each in LARGE.workloads:
        given = {
            "process": name,
            "project": PROCESSES[each.name].project,
            "row": None if each.companion_of else each.row,
            "companionOf": each.companion_of,
            "instances": each.instances,
            "dedicatedNodes": each.dedicated_nodes,
            "shareable": each.shareable,
            "loadBalancer": each.load_balancer,
            "pools": list(each.pools),
            "everywhere": each.everywhere,
            "quorum": each.quorum,
            "source": each.source,
        }
        assert processes[name] == {key: value for key, value in given.items() if value is not None}


def test_a_companions_setting_changes_no_object_of_its_row(large: list[Recorded]) -> None:
    """Otherwise a change of ProxySQL's configuration would restart the database's members."""
    services = {"proxysql": {"config": {"proxysql-members.cnf": "x"}, "replicas": 2}}
    changed = cloud(plan(parsed(full_size("1000", computes=4, services=services))))
    before, after = ({(e.type, e.name): e.inputs for e in each} for each in (large, changed))
    assert before.keys() == after.keys()
    assert {name for kind, name in after if after[kind, name] != before[kind, name]} == {
        "cloud-openstack-mariadb-proxysql", "cloud-openstack-mariadb-proxysql-kolla",
    }  # fmt: skip


def test_a_companion_stands_where_its_row_does(large: list[Recorded]) -> None:
    """Beside the database, one on a node, spread over servers, and never counted as one of its members."""
    found = {(each.kind, each.name): each.inputs for each in large}
    proxy = found["Deployment", "cloud-openstack-mariadb-proxysql"]
    database = found["StatefulSet", "cloud-openstack-mariadb-mysqld"]
    assert proxy["spec"]["replicas"] == database["spec"]["replicas"] == 3
    pods, members = (each["spec"]["template"]["spec"] for each in (proxy, database))
    assert pods["affinity"]["nodeAffinity"] == members["affinity"]["nodeAffinity"]
    assert pods["tolerations"] == members["tolerations"]
    (apart,) = pods["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["topologyKey"] == "kubernetes.io/hostname"
    assert pods["topologySpreadConstraints"][0]["topologyKey"] == "quorate.io/server"
    noted = proxy["metadata"]["annotations"]
    assert noted == {"quorate.io/companion-of": "mysqld-server"}
    assert noted.items() <= proxy["spec"]["template"]["metadata"]["annotations"].items()
    ports = found["Service", "cloud-openstack-mariadb-proxysql"]["spec"]
    assert ports["selector"] == {"app.kubernetes.io/name": "proxysql"}
    assert ("Service", "cloud-openstack-mariadb-mysqld") not in found
    assert found["PodDisruptionBudget", "cloud-openstack-mariadb-proxysql"]["spec"]["maxUnavailable"] == 1


def test_the_environment_holds_projects_and_these_their_processes(large: list[Recorded]) -> None:
    environment = facts(large, contract.ENVIRONMENT)
    names = [project.name for project in PROJECTS if project.processes]
    assert environment == {"cloud-openstack": {"environment": "openstack", "release": "2026.1", "projects": names}}
    assert facts(large, contract.PROJECT)["cloud-openstack-cinder"] == {
        "project": "cinder",
        "environment": "openstack",
        "needs": ["keystone", "mariadb", "rabbitmq", "memcached", "ceph"],
        "processes": ["cinder-api", "cinder-scheduler", "cinder-volume", "cinder-backup"],
        "jobs": [
            "cinder-storage",
            "cinder-databases",
            "cinder-messaging",
            "cinder-notifications",
            "cinder-db-sync",
            "cinder-identity",
        ],
    }
    parents = {each.name: each.parent for each in large if each.type in (contract.PROJECT, contract.PROCESS)}
    assert {parents[f"cloud-openstack-{name}"] for name in names} <= {"cloud-openstack"} | {
        f"cloud-openstack-{project.name}" for project in PROJECTS if project.name in PROCESSES
    }
    assert parents["cloud-openstack-mariadb-mysqld"] == "cloud-openstack-mariadb"
    assert parents["cloud-openstack-nova-api"] == "cloud-openstack-nova"


def test_a_project_waits_for_the_workloads_of_those_that_it_needs(large: list[Recorded]) -> None:
    """In a cluster, a workload's resource is complete when its pods are ready, a job's when it is done."""
    waits = waited_for(large, "cloud-openstack-glance-api")
    assert {"cloud-openstack-keystone", "cloud-openstack-mariadb-mysqld", "cloud-openstack-ceph-mon"} <= waits
    assert not {"cloud-openstack-nova-api", "cloud-openstack-horizon"} & waits
    assert "cloud-openstack-mariadb-mysqld" not in waited_for(large, "cloud-openstack-memcached")


def test_quorums_are_changed_one_after_the_other(large: list[Recorded]) -> None:
    chain = ("mariadb-mysqld", "rabbitmq", "ceph-mon", "opensearch-elasticsearch-kibana")
    for before, after in pairwise(f"cloud-openstack-{name}" for name in chain):
        assert before in waited_for(large, after)


def test_a_projects_jobs_follow_each_other_before_its_processes(large: list[Recorded]) -> None:
    jobs = [f"cloud-openstack-glance-{name}" for name in ("databases", "db-sync", "identity")]
    waits = {each.name: each.depends_on for each in large if each.kind in ("Deployment", "Job")}
    assert set(jobs[:1]) <= waits[jobs[1]]
    assert set(jobs[1:2]) <= waits[jobs[2]]
    assert set(jobs[2:]) <= waits["cloud-openstack-glance-api"]


def test_what_asks_another_process_in_its_start_is_created_after_it(large: list[Recorded]) -> None:
    """Otherwise these workloads, which are not ready without the other one, could take all turns of Pulumi from it."""
    asking = {
        "neutron-server": ("dhcp-agent", "l2-agent", "l2-agent-network", "l3-agent", "metadata-agent"),
        "nova-conductor": ("compute",),
    }
    for asked, others in asking.items():
        project = asked.partition("-")[0]
        for other in others:
            assert f"cloud-openstack-{asked}" in waited_for(large, f"cloud-openstack-{project}-{other}"), other
    assert "cloud-openstack-nova-conductor" not in waited_for(large, "cloud-openstack-nova-api")


def test_pods_wait_for_their_namespace_and_classes(large: list[Recorded]) -> None:
    shared = {f"cloud-openstack{suffix}" for suffix in ("", "-local", "-quorum", "-control-plane")}
    for each in large:
        if each.kind in ("Deployment", "StatefulSet", "DaemonSet", "Job"):
            assert shared <= waited_for(large, each.name), each.name


def waited_for(resources: list[Recorded], name: str) -> set[str]:
    """Names of all resources that those of a name wait for, directly or through another."""
    direct: dict[str, set[str]] = defaultdict(set)  # a workload and its ServiceAccount share a name
    for each in resources:
        direct[each.name] |= each.depends_on
    found: set[str] = set()
    waiting = {name}
    while waiting:
        waiting = set[str]().union(*(direct[each] for each in waiting)) - found
        found |= waiting
    return found


def test_two_environments_fit_one_cluster() -> None:
    """No Kubernetes object of one has the name of an object of the other, and none shares a directory of a node."""
    both = [environment(LARGE, name) for name in ("blue", "green")]
    one, two = (
        {
            (each.kind, each.inputs["metadata"].get("namespace"), each.inputs["metadata"]["name"])
            for each in found
            if each.kind != "Provider"
        }
        for found in both
    )
    assert not one & two
    assert {namespace for _, namespace, _ in one} == {None, "blue"}
    one, two = ({each.inputs["spec"]["local"]["path"] for each in found if each.kind == VOLUME} for found in both)
    assert one
    assert not one & two
    # Digests of configurations, in annotations and in the names of jobs, follow the environment's name.
    texts = [DIGEST.sub("digest", json.dumps([each.inputs for each in found])) for found in both]
    assert texts[0].replace("blue", "green") == texts[1]


VOLUME = "PersistentVolume"
DIGEST = re.compile(r"(?<=[\"-])([0-9a-f]{10}|[0-9a-f]{16})(?=\")")


def environment(made: Plan, name: str) -> list[Recorded]:
    """Returns the Kubernetes objects of an environment with this name."""

    def build() -> None:
        Environment(f"cloud-{name}", EnvironmentArgs(name, made, Render("test"), root_secret=None))

    return sorted(
        (each for each in record(build) if each.type.startswith("kubernetes:")), key=lambda each: (each.kind, each.name)
    )


JOBS = ("databases", "db-sync", "bootstrap")
SUFFIXES = {"ConfigMap": "-kolla", "Secret": "-secrets"}


def test_each_process_brings_the_objects_of_its_kind(large: list[Recorded]) -> None:
    kinds: dict[str, set[str]] = defaultdict(set)
    for each in large:
        if each.type.startswith("kubernetes:"):
            kinds[each.parent].add(f"{each.kind} {each.name.removeprefix('cloud-openstack').removeprefix('-')}")
    jobs = {f"{kind} keystone-{job}" for job in JOBS for kind in ("Job", "ConfigMap", "Secret")}
    jobs = {f"{each}{SUFFIXES.get(each.split()[0], '')}" for each in jobs}
    assert kinds["cloud-openstack-keystone"] - jobs == {
        "ServiceAccount keystone", "ConfigMap keystone-kolla", "Service keystone", "PodDisruptionBudget keystone",
        "Deployment keystone", "Secret keystone-secrets", "NetworkPolicy keystone",
    }  # fmt: skip
    assert kinds["cloud-openstack-nova-compute"] == {
        "ServiceAccount nova-compute", "ConfigMap nova-compute-kolla", "DaemonSet nova-compute",
        "Secret nova-compute-secrets",
    }  # fmt: skip
    volumes = {f"PersistentVolume rabbitmq-{node.name}" for node in LARGE.pool("rabbitmq")}
    assert len(volumes) == 3
    assert kinds["cloud-openstack-rabbitmq"] == volumes | {
        "ServiceAccount rabbitmq", "ConfigMap rabbitmq-kolla", "Service rabbitmq-members",
        "PodDisruptionBudget rabbitmq", "StatefulSet rabbitmq", "Secret rabbitmq-secrets",
        "NetworkPolicy rabbitmq",
    }  # fmt: skip
    assert kinds["cloud-openstack"] == {
        "Namespace ", "StorageClass local", "PriorityClass quorum", "PriorityClass control-plane",
    }  # fmt: skip
    assert not kinds["cloud"]


def test_data_may_lie_on_every_node_that_may_carry_the_service() -> None:
    """Beyond its home: volumes on surplus controllers too, or the pods could never use them."""
    made = plan(parsed(full_size("100", controllers=8)))
    (store,) = (each for each in made.services if each.name == "influxdb-grafana")
    assert set(store.pools) == {"mysqld", "controller"}
    volumes = {each.name for each in cloud(made) if each.kind == "PersistentVolume" and store.name in each.name}
    assert volumes == {
        f"cloud-openstack-prometheus-influxdb-grafana-{node.name}" for node in made.nodes if node.pool in store.pools
    }
    assert len(volumes) == 5


def test_given_files_stand_where_their_processes_look() -> None:
    """Through Kolla's start script, or where the program itself looks for them."""
    given = {"glance-api": {"config": {"glance-api.conf": "a"}}, "ceph-mon": {"config": {"ceph.conf": "b"}}}
    resources = {(each.kind, each.name): each.inputs for each in cloud(plan(parsed(full_size("100", services=given))))}
    assert resources["ConfigMap", "cloud-openstack-glance-api-kolla"]["data"]["glance-api.conf"] == "a"
    assert resources["ConfigMap", "cloud-openstack-ceph-mon-config"]["data"]["ceph.conf"] == "b"
    assert files(resources["Deployment", "cloud-openstack-glance-api"]) == {
        "/var/lib/kolla/config_files": {"config.json", "glance-api.conf", "glance-api-uwsgi.ini", "ceph.conf"},
    }
    assert files(resources["StatefulSet", "cloud-openstack-ceph-mon"]) == {
        "/etc/ceph": {"ceph.conf", "ceph_state.py", "monitors"},
    }


def files(workload: dict[str, Any]) -> dict[str, set[str]]:
    """Where the first container of a workload finds files of its ConfigMap, and which."""
    pod = workload["spec"]["template"]["spec"]
    maps = {each["name"]: each["configMap"] for each in pod["volumes"] if "configMap" in each}
    mounts = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] in maps]
    return {each["mountPath"]: {item["path"] for item in maps[each["name"]]["items"]} for each in mounts}


def test_a_change_of_configuration_rolls_the_pods() -> None:
    digests = {
        text: next(
            each.inputs["spec"]["template"]["metadata"]["annotations"]["quorate.io/config"]
            for each in cloud(plan(parsed(full_size("100", services={"horizon": {"config": {"x.py": text}}}))))
            if each.name == "cloud-openstack-horizon" and each.kind == "Deployment"
        )
        for text in ("a", "b")
    }
    assert digests["a"] != digests["b"]


def test_pods_are_replaced_when_a_file_with_secrets_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Horizon's settings contain a secret, so that all of the file is in a Secret object and none in a ConfigMap."""

    def noted() -> dict[str, str]:
        pods = {each.name: each.inputs["spec"] for each in environment(LARGE, "x") if each.kind == "Deployment"}
        return {name: spec["template"]["metadata"]["annotations"][contract.CONFIG] for name, spec in pods.items()}

    before = noted()
    monkeypatch.setattr(horizon, "CACHE_TIMEOUT", horizon.CACHE_TIMEOUT + 1)
    assert {name for name, digest in noted().items() if digest != before[name]} == {"cloud-x-horizon"}


def test_names_start_with_their_components_and_tell_resources_apart(dev: list[Recorded], large: list[Recorded]) -> None:
    for resources in (dev, large):
        identities = [(each.type, each.name) for each in resources]
        assert len(identities) == len(set(identities))
        for each in resources:
            if each.parent and not each.parent.startswith("quorate-"):
                assert each.name.startswith(f"{each.parent}"), each.name


def test_machines_tell_rules_what_they_are(large: list[Recorded]) -> None:
    machines = {each.inputs["node"]: each.inputs for each in large if each.type == contract.MACHINE}
    assert {name: each["pool"] for name, each in machines.items()} == {
        node.name: node.pool for node in LARGE.nodes if node.pool not in ("compute", "storage")
    }
    one = machines["ctl01"]
    assert one.keys() == {
        "node", "server", "rack", "address", "labels", "existing", "pinned", "virtual", "definition", "files", "pool",
        "roles", "taints", "cpu", "memory", "allocatable", "fileAttributes", "steps", "restarts", "quorumChecks",
    }  # fmt: skip
    assert (one["server"], one["virtual"], one["definition"]) == ("ctl01", False, {})
    assert one["allocatable"] == {"cpu": one["cpu"], "memory": one["memory"]}


def test_masters_say_which_quorum_their_restarts_disrupt(large: list[Recorded]) -> None:
    machines = {each.inputs["node"]: each for each in large if each.type == contract.MACHINE}
    for name, each in machines.items():
        restarts = each.inputs["restarts"]
        own = (
            {
                "etcd.service": "etcd",
                "etcd-backup.timer": "",
                "etcd-backup-test.timer": "",
                "etcd-defragmentation.timer": "",
                "certificate-renewal.timer": "",
            }
            if "master" in name
            else {}
        )
        shared = dict.fromkeys(("node-dns-address.service", "kubelet.service", "quorate-metrics.timer"), "")
        assert restarts == own | shared, name
        checks = each.inputs["quorumChecks"]
        assert checks.keys() == ({"etcd"} if "master" in name else set()), name
        assert all(check.endswith(" may-stop") for check in checks.values())


def test_machines_of_one_quorum_are_made_one_after_the_other(dev: list[Recorded], large: list[Recorded]) -> None:
    """The masters of `dev` are virtual, on a host each; those of `large` are servers."""
    for resources in (dev, large):
        waits = {
            each.inputs["node"]: each.depends_on & {f"{other.name}-tree" for other in resources if _disrupts(other)}
            for each in resources
            if _disrupts(each)
        }
        names = {each.inputs["node"]: f"{each.name}-tree" for each in resources if _disrupts(each)}
        assert waits == {
            "master1": frozenset(),
            "master2": frozenset({names["master1"]}),
            "master3": frozenset({names["master2"]}),
        }
        assert {each.name for each in resources if each.kind == "Tree"} >= set(names.values())


def _disrupts(each: Recorded) -> bool:
    return each.type == contract.MACHINE and "etcd" in each.inputs["restarts"].values()


def test_pools_tell_rules_what_their_nodes_are(large: list[Recorded]) -> None:
    pools = {each.name: each.inputs for each in large if each.type == contract.MACHINE_POOL}
    one = pools["cloud-compute-24c-256g-no-rack"]
    assert one.keys() == {
        "pool", "roles", "labels", "existing", "taints", "cpu", "memory", "allocatable", "nodes", "files",
        "fileAttributes",
        "steps", "restarts", "quorumChecks",
    }  # fmt: skip
    assert one["labels"] == {"quorate.io/pool": "compute", "openstack-compute-node": "enabled"}
    assert json.loads(one["nodes"])[0] == {"node": "cmp1", "server": "cmp1", "rack": "", "address": "10.20.4.1"}


def test_a_new_compute_changes_its_pool_and_nothing_else(large: list[Recorded]) -> None:
    more = cloud(plan(parsed(full_size("1000", computes=5))))
    before, after = ({(e.type, e.name): e.inputs for e in each} for each in (large, more))
    assert before.keys() == after.keys()
    changed = {name for (kind, name) in after if after[kind, name] != before[kind, name]}
    assert changed == {
        "cloud", "cloud-compute-24c-256g-no-rack", "cloud-compute-24c-256g-no-rack-tree",
        "cloud-openstack-nova-compute", "cloud-openstack-nova-libvirt", "cloud-openstack-nova-ssh",
        "cloud-openstack-neutron-l2-agent", "cloud-openstack-neutron-openvswitch-db",
        "cloud-openstack-neutron-openvswitch-vswitchd",
        "cloud-openstack-prometheus-node-exporter", "cloud-openstack-fluentd-log-collector",
    }  # fmt: skip


def test_nothing_depends_on_the_order_of_anything(dev: list[Recorded]) -> None:
    again = cloud(plan(load_file(STACKS["dev"])))
    assert {(e.type, e.name): e.inputs for e in again} == {(e.type, e.name): e.inputs for e in dev}


def test_an_update_of_a_deployment_needs_no_node_to_spare(dev: list[Recorded]) -> None:
    """Each node has one instance at most: a pod beyond the replicas would wait for a node that there is not."""
    deployments = [each for each in dev if each.kind == "Deployment"]
    assert len(deployments) > 20
    for each in deployments:
        strategy = each.inputs["spec"]["strategy"]
        assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}, each.name
