"""Rendered Kubernetes objects against the plan, row by row: what the scheduler, a drain and a client will see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blueprint.plan.layout import ServicePlan
from blueprint.plan.plan import Plan
from tests.engine.conftest import Project, Projects
from tests.projects import PROCESSES

KINDS = ("Deployment", "StatefulSet", "DaemonSet")
STATEFUL = {"rabbitmq", "mysqld", "ceph-mon", "influxdb-grafana", "elasticsearch-kibana", "lma-aggregator"}
NAMED = STATEFUL | {"memcached"}
"""Services whose pods have stable names; memcached keeps no data."""
DISCOVERED = NAMED | {"nagios", "node-exporter"}
"""Services whose pods a headless Service lists."""
Manifests = dict[tuple[str, str], dict[str, Any]]
Pod = dict[str, Any]

pytestmark = pytest.mark.parametrize("stack", ["dev", "ra1000"], scope="module")


@pytest.fixture(scope="module")
def project(rendered: Projects, stack: str) -> Project:
    return rendered(stack)


@pytest.fixture(scope="module")
def plan(project: Project) -> Plan:
    return project.plan


@pytest.fixture(scope="module")
def manifests(project: Project) -> Manifests:
    """The rendered objects, which no test changes."""
    return project.manifests()


def alive(plan: Plan) -> list[ServicePlan]:
    """Everything that runs, under the name of its workload: rows and their companions."""
    return [replace(each, name=name) for name, each in plan.workloads]


def workload(manifests: Manifests, service: str) -> dict[str, Any]:
    (found,) = [manifests[kind, service] for kind in KINDS if (kind, service) in manifests]
    return found


def pod(manifests: Manifests, service: str) -> Pod:
    return workload(manifests, service)["spec"]["template"]["spec"]


def anti_affinity(pod: Pod) -> set[tuple[str, tuple[str, ...]]]:
    """Returns the required anti-affinity terms of a pod: topology key, and services to keep apart."""
    terms = pod["affinity"].get("podAntiAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", [])
    return {(term["topologyKey"], services(term["labelSelector"])) for term in terms}


def services(selector: dict[str, Any]) -> tuple[str, ...]:
    """The services that a label selector is about; anything it says beyond their names is an error."""
    if "matchLabels" in selector:
        assert selector.keys() == {"matchLabels"}
        assert selector["matchLabels"].keys() == {"app.kubernetes.io/name"}
        return (selector["matchLabels"]["app.kubernetes.io/name"],)
    (expression,) = selector["matchExpressions"]
    assert (expression["key"], expression["operator"]) == ("app.kubernetes.io/name", "In")
    return tuple(expression["values"])


def test_a_row_is_one_workload_of_its_kind_and_a_retired_one_none(plan: Plan, manifests: Manifests) -> None:
    expected = {
        ("DaemonSet" if each.everywhere else "StatefulSet" if each.name in NAMED else "Deployment", each.name)
        for each in alive(plan)
    }
    assert {key for key in manifests if key[0] in KINDS} == expected
    assert not [name for _, name in manifests if "registry" in name or "consoleauth" in name]


def test_instances_are_the_plans(plan: Plan, manifests: Manifests) -> None:
    found = {each.name: workload(manifests, each.name)["spec"].get("replicas") for each in alive(plan)}
    assert found == {each.name: None if each.everywhere else each.instances for each in alive(plan)}


def test_a_workload_and_its_pods_name_their_row(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        found = workload(manifests, each.name)
        assert found["metadata"]["namespace"] == "openstack"
        for metadata in (found["metadata"], found["spec"]["template"]["metadata"]):
            kind = "companion-of" if each.companion_of else "row"
            assert metadata["annotations"].keys() & {"quorate.io/row", "quorate.io/companion-of"} == {
                f"quorate.io/{kind}"
            }
            assert metadata["annotations"][f"quorate.io/{kind}"] == each.row
            assert metadata["labels"].keys() == {
                f"app.kubernetes.io/{key}" for key in ("name", "component", "part-of", "managed-by")
            }
            assert metadata["labels"]["app.kubernetes.io/name"] == each.name
            assert metadata["labels"]["app.kubernetes.io/part-of"] == "openstack"
            assert metadata["labels"]["app.kubernetes.io/managed-by"] == "quorate"
        assert found["spec"]["selector"] == {"matchLabels": {"app.kubernetes.io/name": each.name}}
    assert workload(manifests, "nova-api")["metadata"]["labels"]["app.kubernetes.io/component"] == "nova"


def test_what_replaced_a_retired_row_says_so(plan: Plan, manifests: Manifests) -> None:
    found = {
        each.name: workload(manifests, each.name)["metadata"]["annotations"].get("quorate.io/replaces")
        for each in alive(plan)
    }
    assert {name: replaced for name, replaced in found.items() if replaced} == {"glance-api": "glance-registry"}


def tolerated(pool: str) -> dict[str, str]:
    if pool == "master":
        return {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
    return {"key": "quorate.io/dedicated", "operator": "Equal", "value": pool, "effect": "NoSchedule"}


def test_agents_of_nodes_reach_every_node_before_all_others(plan: Plan, manifests: Manifests) -> None:
    pools = {node.pool for node in plan.nodes}
    agents = [each for each in alive(plan) if each.every_node]
    assert {each.name for each in agents} == {"node-exporter", "log-collector"}
    for each in alive(plan):
        critical = pod(manifests, each.name)["priorityClassName"] == "system-node-critical"
        assert critical == (each in agents), each.name
        assert not critical or set(each.pools) == pools, each.name


def test_pods_go_to_their_pools_and_to_no_other(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        found = pod(manifests, each.name)
        required = found["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (term,) = required["nodeSelectorTerms"]
        assert term == {
            "matchExpressions": [{"key": "quorate.io/pool", "operator": "In", "values": list(each.pools)}]
        }, each.name
        assert found["tolerations"] == [tolerated(pool) for pool in each.pools], each.name


def test_pods_are_apart_as_the_architecture_says(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        expected: set[tuple[str, tuple[str, ...]]] = set()
        # One term over nodes: the scheduler wakes a waiting pod for a pod that matches all its terms.
        if on_node := (*(() if each.everywhere else (each.name,)), *each.apart_from):
            expected.add(("kubernetes.io/hostname", on_node))
        if each.quorum:
            expected.add(("quorate.io/server", (each.name,)))
        assert anti_affinity(pod(manifests, each.name)) == expected, each.name
    quorums = {each.name for each in alive(plan) if each.quorum}
    assert quorums == STATEFUL - {"influxdb-grafana", "lma-aggregator"}, "instances of Prometheus do not vote"


def test_what_is_no_quorum_spreads_over_servers_where_it_can(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        found = pod(manifests, each.name).get("topologySpreadConstraints", [])
        soft = [(rule["topologyKey"], rule["maxSkew"], rule["whenUnsatisfiable"]) for rule in found]
        wanted = [] if each.everywhere or each.quorum else [("quorate.io/server", 1, "ScheduleAnyway")]
        assert soft == wanted, each.name
        assert [services(rule["labelSelector"]) for rule in found] == [(each.name,)] * len(wanted)


def test_a_drain_takes_one_pod_of_a_service_at_a_time(plan: Plan, manifests: Manifests) -> None:
    budgets = {name: each["spec"] for (kind, name), each in manifests.items() if kind == "PodDisruptionBudget"}
    assert budgets.keys() == {each.name for each in alive(plan) if not each.everywhere}
    for name, spec in budgets.items():
        assert spec == {"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": name}}}
        wanted = spec["selector"]["matchLabels"].items()
        selected = {
            other.name
            for other in alive(plan)
            if wanted <= workload(manifests, other.name)["spec"]["template"]["metadata"]["labels"].items()
        }
        assert selected == {name}, "a budget counts the pods of its own service"


def test_a_rollout_needs_no_node_more_than_there_are(plan: Plan, manifests: Manifests) -> None:
    for name, each in plan.workloads:
        spec = workload(manifests, name)["spec"]
        if each.everywhere:
            unavailable = "10%" if "compute" in each.pools else 1
            assert spec["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": unavailable}, name
        elif name not in NAMED:
            assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}, name


def test_a_pod_behind_a_service_serves_until_no_client_is_sent_to_it(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        found = pod(manifests, each.name)
        served = ("Service", each.name) in manifests
        hooks = [container.get("lifecycle") for container in found["containers"]]
        assert hooks == [{"preStop": {"sleep": {"seconds": 10}}} if served else None for _ in hooks], each.name
        grace = PROCESSES[each.name.removesuffix("-network")].grace
        assert found["terminationGracePeriodSeconds"] == grace + (10 if served else 0)


def test_only_members_of_a_quorum_may_stall_for_two_minutes(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        for container in pod(manifests, each.name)["containers"]:
            probe = container.get("livenessProbe", {})
            assert probe.get("failureThreshold") == (12 if probe and each.quorum else None), each.name


def test_clients_and_members_find_each_other(plan: Plan, manifests: Manifests) -> None:
    found = {name: each["spec"] for (kind, name), each in manifests.items() if kind == "Service"}
    balanced = {each.name for each in alive(plan) if each.load_balancer and PROCESSES[each.name].exposed}
    assert found.keys() == balanced | {f"{name}-members" for name in DISCOVERED}
    for name, spec in found.items():
        service = name.removesuffix("-members")
        assert spec["selector"] == {"app.kubernetes.io/name": service}
        ports = {port["name"] for each in pod(manifests, service)["containers"] for port in each.get("ports", [])}
        assert {port["targetPort"] for port in spec["ports"]} <= ports
    assert [(port["port"], port["targetPort"]) for port in found["proxysql"]["ports"]] == [(3306, "proxysql")]
    for name in DISCOVERED:
        assert found[f"{name}-members"]["clusterIP"] == "None"
        assert found[f"{name}-members"]["publishNotReadyAddresses"] is True
    for name in NAMED:
        assert workload(manifests, name)["spec"]["serviceName"] == f"{name}-members"


def test_data_has_a_volume_on_every_node_that_may_hold_it(plan: Plan, manifests: Manifests) -> None:
    found = {name: each["spec"] for (kind, name), each in manifests.items() if kind == "PersistentVolume"}
    homes = {
        f"openstack-{each.name}-{node.name}": (each.name, node.name)
        for each in alive(plan)
        if each.name in STATEFUL
        for node in plan.nodes
        if node.pool in each.pools
    }
    backups = {
        name.replace("openstack-mysqld-", "openstack-mysqld-backup-"): ("mysqld-backup", node)
        for name, (service, node) in homes.items()
        if service == "mysqld"
    }
    assert found.keys() == homes.keys() | backups.keys()
    for name, spec in found.items():
        service, node = (homes | backups)[name]
        (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]
        assert spec["local"] == {"path": f"/var/lib/quorate/openstack/{service}"}
        if name in backups:
            claim = manifests["PersistentVolumeClaim", service]
        else:
            (claim,) = workload(manifests, service)["spec"]["volumeClaimTemplates"]
        assert claim["spec"]["storageClassName"] == spec["storageClassName"] == "openstack-local"
        assert claim["spec"]["resources"]["requests"] == spec["capacity"]
        assert claim["spec"]["selector"] == {"matchLabels": {"app.kubernetes.io/name": service}}
        assert manifests["PersistentVolume", name]["metadata"]["labels"]["app.kubernetes.io/name"] == service
    storage_class = manifests["StorageClass", "openstack-local"]
    assert storage_class["provisioner"] == "kubernetes.io/no-provisioner"
    assert storage_class["volumeBindingMode"] == "WaitForFirstConsumer"


def test_containers_of_a_pod_share_what_the_service_is_sized_for(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        sized = plan.sizes[each.name.removesuffix("-network")]
        resources = [container["resources"] for container in pod(manifests, each.name)["containers"]]
        assert sum(millicores(part["requests"]["cpu"]) for part in resources) == sized.cpu_m
        assert sum(mebibytes(part["requests"]["memory"]) for part in resources) == sized.memory_mi
        assert sum(mebibytes(part["limits"]["memory"]) for part in resources) == sized.limit_memory_mi


def millicores(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def mebibytes(text: str) -> int:
    return int(text[:-2]) * {"Mi": 1, "Gi": 1024}[text[-2:]]


PROBES = ("readinessProbe", "livenessProbe", "startupProbe")


def test_every_container_is_probed(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        for container in pod(manifests, each.name)["containers"]:
            # A manager of Ceph whose module cannot serve metrics goes on to do everything else.
            serves = container.get("ports") and container["name"] != "ceph-mgr"
            required = PROBES if serves else PROBES[:1]
            assert set(required) <= container.keys(), (each.name, container["name"])
            for probe in container.keys() & set(PROBES):
                handlers = container[probe].keys() & {"httpGet", "tcpSocket", "exec"}
                assert len(handlers) == 1, (each.name, container["name"], probe)


def test_no_liveness_probe_only_looks_for_a_process(plan: Plan, manifests: Manifests) -> None:
    """Kubelet restarts a container whose process ends, and each command that it runs costs processor time."""
    without: set[str] = set()
    for each in alive(plan):
        for container in pod(manifests, each.name)["containers"]:
            command = container.get("livenessProbe", {}).get("exec", {}).get("command", ["none"])
            assert command[0] != "pgrep", (each.name, container["name"])
            if "livenessProbe" not in container:
                without.add(container["name"])
                # Without a liveness probe, a startup probe only restarts what does not connect.
                startup = container.get("startupProbe", {}).get("exec", {}).get("command", ["healthcheck_port"])
                assert startup[0] == "healthcheck_port", (each.name, container["name"])
    assert {"neutron-l3-agent", "nova-conductor", "ceph-osd", "ceph-mgr"} <= without
    assert not {"mysqld", "rabbitmq", "ceph-mon", "keystone", "openvswitch-vswitchd", "fluentd"} & without


def test_a_process_that_never_connects_is_restarted_and_one_that_lost_its_connection_is_not(
    plan: Plan, manifests: Manifests
) -> None:
    agent = pod(manifests, "neutron-dhcp-agent")["containers"][0]
    connected = {"exec": {"command": ["healthcheck_port", "neutron-dhcp-agent", "5672"]}, "timeoutSeconds": 15}
    assert agent["startupProbe"] == {**connected, "periodSeconds": 30, "failureThreshold": 22}
    assert agent["readinessProbe"] == {**connected, "periodSeconds": 60}
    assert "livenessProbe" not in agent


def test_an_l2_agent_that_waits_for_good_is_restarted(manifests: Manifests) -> None:
    (agent,) = pod(manifests, "neutron-l2-agent")["containers"]
    assert agent["readinessProbe"]["exec"]["command"] == ["healthcheck_port", "neutron-openvswitch-agent", "5672"]
    *shell, asked = agent["livenessProbe"]["exec"]["command"]
    assert shell == ["sh", "-c"]
    assert "dump-flows br-int table=23" in asked


def test_commands_of_probes_run_less_often_than_requests(manifests: Manifests) -> None:
    (switch,) = pod(manifests, "openvswitch-vswitchd")["containers"]
    command = {"exec": {"command": ["ovs-appctl", "version"]}, "timeoutSeconds": 15}
    assert switch["readinessProbe"] == {**command, "periodSeconds": 30}
    assert switch["livenessProbe"] == {**command, "periodSeconds": 60}
    assert switch["startupProbe"] == {**command, "periodSeconds": 30, "failureThreshold": 30}
    (collector,) = pod(manifests, "log-collector")["containers"]
    assert collector["readinessProbe"]["httpGet"] == {"path": "/api/plugins.json", "port": "monitor"}


def test_an_api_has_started_when_it_answers_and_not_when_its_port_is_open(manifests: Manifests) -> None:
    """uWSGI opens the port before it loads the API, which may take minutes: Neutron's inserts a row per network id."""
    for service, path in (("nova-api", "/"), ("neutron-server", "/healthcheck")):
        server = pod(manifests, service)["containers"][0]
        answers = {"httpGet": {"path": path, "port": "api"}, "periodSeconds": 10, "timeoutSeconds": 5}
        assert server["startupProbe"] == answers | {"failureThreshold": 90}
        assert server["readinessProbe"] == answers
        assert server["livenessProbe"] == {"tcpSocket": {"port": "api"}, "periodSeconds": 10, "timeoutSeconds": 5}


@pytest.mark.parametrize("service", ["nova-conductor", "nova-scheduler", "cinder-scheduler", "cinder-backup"])
def test_services_are_registered_under_their_nodes(manifests: Manifests, service: str) -> None:
    (container,) = pod(manifests, service)["containers"]
    field = {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert {"name": "OS_DEFAULT__HOST", "valueFrom": field} in container["env"]


def test_kolla_containers_find_their_configuration(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        found = pod(manifests, each.name)
        volumes = {volume["name"]: volume for volume in found.get("volumes", [])}
        for container in found["containers"]:
            if "/ceph/" in container["image"]:
                continue
            environment = {variable["name"]: variable.get("value") for variable in container["env"]}
            assert environment["KOLLA_CONFIG_STRATEGY"] == "COPY_ALWAYS"
            assert "KOLLA_BOOTSTRAP" not in environment, "it counts as set, even empty"
            (mount,) = [m for m in container["volumeMounts"] if m["mountPath"] == "/var/lib/kolla/config_files"]
            assert mount["readOnly"] is True
            source = volumes[mount["name"]]["configMap"]
            assert source["name"] == f"{each.name}-kolla"
            keys = {item["path"]: item["key"] for item in source["items"]}
            assert keys["config.json"] in manifests["ConfigMap", source["name"]]["data"]


def test_pods_mount_nothing_that_is_not_there(plan: Plan, manifests: Manifests) -> None:
    for each in alive(plan):
        found = pod(manifests, each.name)
        claims = {
            claim["metadata"]["name"]
            for claim in workload(manifests, each.name)["spec"].get("volumeClaimTemplates", [])
        }
        there = {volume["name"] for volume in found.get("volumes", [])} | claims
        mounted = {mount["name"] for container in found["containers"] for mount in container.get("volumeMounts", [])}
        assert mounted == there, each.name


def test_pods_hold_no_key_to_the_api(plan: Plan, manifests: Manifests) -> None:
    """Only cinder-volume has one, for its Lease."""
    for each in alive(plan):
        found = pod(manifests, each.name)
        assert found["serviceAccountName"] == each.name
        assert found["automountServiceAccountToken"] is (each.name == "cinder-volume"), each.name
        assert manifests["ServiceAccount", each.name]["automountServiceAccountToken"] is False
        assert found["enableServiceLinks"] is False


def test_priorities_are_there_and_quorums_come_first(plan: Plan, manifests: Manifests) -> None:
    value = {name: each["value"] for (kind, name), each in manifests.items() if kind == "PriorityClass"}
    of = {each.name: value.get(pod(manifests, each.name)["priorityClassName"]) for each in alive(plan)}
    agents = {name for name, found in of.items() if found is None}  # Kubernetes' own class
    assert agents == {"node-exporter", "log-collector"}
    quorums = {each.name for each in alive(plan) if each.quorum}
    assert {of[name] for name in quorums} == {max(value.values())}
    assert not {of[name] for name in of.keys() - quorums} & {max(value.values())}


def test_machines_on_disk_are_those_of_the_plan(plan: Plan, project: Project) -> None:
    there = {path.name for path in (project.build / "machines").iterdir()} - {".owners"}
    assert there == {node.name for node in plan.nodes}


def test_no_secret_is_rendered(manifests: Manifests) -> None:
    assert not [name for kind, name in manifests if kind == "Secret"]
