"""Clusters of operators are evaluated as the objects that the operator creates; findings name the custom resource."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from policy.catalogue import RULES
from policy.facts.kubernetes.operators import OPERATORS
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Enforcement, Finding, Verdict, resource_name
from policy.rule import evaluate
from tests.policy.tables.network import autoscaler
from tests.policy.world import UNKNOWN, Given, Props, config_map, facts, stack
from tests.sound.cases.operators import BUDGET, apart, ceph, etcd, mariadb, percona, postgres, rabbitmq
from tests.sound.sound import node, nodes
from tests.sound.sound import quorum as sound_quorum

NOT_APART = {"one-instance-per-node", "one-member-per-server", "quorum-survives-host"}


def reported(given: Iterable[Given], verdict: Verdict = Verdict.FAIL) -> list[Finding]:
    judged = facts([stack(), *given])
    findings = [each for rule in RULES for each in evaluate(rule, judged, rule.enforced(PRODUCTION))]
    return [each for each in findings if each.verdict is verdict and each.enforcement is Enforcement.MANDATORY]


def broken_rules(name: str, *given: Given) -> set[str]:
    """The rules that the custom resource breaks; nothing else breaks any."""
    found = reported(given)
    assert {resource_name(each.resource) for each in found} <= {name}, found
    return {each.rule for each in found}


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ([rabbitmq(replicas=2), BUDGET], {"rabbitmq-size", "budget-keeps-majority"}),
        ([rabbitmq(replicas=4), BUDGET, node("n5")], {"rabbitmq-size"}),
        ([rabbitmq(affinity=None), BUDGET], NOT_APART),
        ([rabbitmq()], {"quorum-has-budget"}),
        ([rabbitmq(persistence={"storage": "0"}), BUDGET], {"stateful-keeps-data"}),
        ([rabbitmq(image=None), BUDGET], {"images-pinned", "no-floating-tag"}),
        ([rabbitmq(rabbitmq={}), BUDGET], {"rabbitmq-quorum-queues"}),
        (
            [rabbitmq(rabbitmq={"additionalConfig": "cluster_partition_handling = ignore\n"}), BUDGET],
            {"rabbitmq-pauses-minority", "rabbitmq-quorum-queues"},
        ),
        (
            [rabbitmq(rabbitmq={"additionalConfig": "default_queue_type = quorum\ndefault_pass = hunter2\n"}), BUDGET],
            {"no-clear-secrets"},
        ),
        (
            [rabbitmq(override={"statefulSet": {"spec": {"replicas": 1}}}), BUDGET],
            {"rabbitmq-size"},
        ),
    ],
)
def test_rabbitmq(given: list[Given], rules: set[str]) -> None:
    assert broken_rules("broker", *nodes(4), *given) == rules


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        (percona(size=2), {"galera-size", "budget-keeps-majority"}),
        (percona(size=None), {"galera-size"}),
        (percona(affinity={"antiAffinityTopologyKey": "none"}), NOT_APART),
        (percona(affinity={"antiAffinityTopologyKey": "example.org/shelf"}), set[str]()),
        (percona(podDisruptionBudget={"maxUnavailable": 2}), {"budget-keeps-majority"}),
        (percona(volumeSpec={"emptyDir": {}}), {"stateful-keeps-data"}),
        (percona(size=5), {"one-member-per-server", "replicas-fit-nodes"}),
    ],
)
def test_percona(given: Given, rules: set[str]) -> None:
    assert broken_rules("db", *nodes(3), given) == rules


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        (mariadb(affinity={}), NOT_APART),
        (mariadb(replicas=4), {"galera-size", "budget-keeps-majority"}),
        (mariadb(storage={"ephemeral": True}), {"stateful-keeps-data"}),
        (mariadb(galera=None), {"quorum-has-budget", "galera-keeps-quorum"}),
        (mariadb(galera=None, replication={"enabled": True}), {"galera-keeps-quorum"}),
        (mariadb(env=[{"name": "MARIADB_ROOT_PASSWORD", "value": "hunter2"}]), {"no-clear-secrets"}),
        (mariadb(env=[{"name": "MARIADB_ROOT_PASSWORD", "value": 12345}]), {"no-clear-secrets"}),
        (mariadb(rootPassword=12345.0), {"no-clear-secrets"}),
        (mariadb(rootPassword=0), set[str]()),
    ],
)
def test_mariadb(given: Given, rules: set[str]) -> None:
    assert broken_rules("galera", *nodes(5), given) == rules


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        (ceph(mon={"count": 2}), {"ceph-mon-size", "quorum-has-budget"}),
        (ceph(mon={"count": 0}), set[str]()),
        (ceph(mon={"count": 3, "allowMultiplePerNode": True}), NOT_APART),
        (ceph(mon={"count": 3, "allowMultiplePerNode": True}, network={"provider": "host"}), set[str]()),
        (ceph(disruptionManagement={}), {"quorum-has-budget"}),
    ],
)
def test_ceph(given: Given, rules: set[str]) -> None:
    assert broken_rules("ceph", *nodes(3), given) == rules


def test_external_ceph_has_no_monitor() -> None:
    assert broken_rules("ceph", *nodes(3), ceph(external={"enable": True}, mon=None)) <= {"ceph-mon-size"}


def test_etcd_and_postgres() -> None:
    unset = {"quorum-has-budget", "images-pinned", "members-request-resources"}
    assert broken_rules("kv", *nodes(3), etcd()) == {*unset, "no-floating-tag"}
    assert broken_rules("kv", *nodes(4), etcd(size=4, version="v3.6.5")) == {*unset, "etcd-size"}
    forced = etcd(version="v3.6.5", etcdOptions=["--force-new-cluster"])
    assert broken_rules("kv", *nodes(3), forced) == {*unset, "etcd-settings-keep-quorum"}
    shared = etcd(version="v3.6.5", storageSpec={"accessModes": "ReadWriteMany", "pvcName": "one"})
    assert broken_rules("kv", *nodes(3), shared) == {*unset, "stateful-keeps-data"}
    assert broken_rules("pg", *nodes(3), postgres(affinity={})) == NOT_APART
    by_hand = {"additionalPodAntiAffinity": apart({"cnpg.io/cluster": "pg"})["podAntiAffinity"]}
    assert broken_rules("pg", *nodes(3), postgres(affinity=by_hand)) == set()
    assert "quorum-has-budget" in broken_rules("pg", *nodes(3), postgres(enablePDB=False))


def test_two_physical_hosts_are_too_few() -> None:
    shared = [node("n1", "h1"), node("n2", "h1"), node("n3", "h2")]
    assert broken_rules("db", *shared, percona()) == {"one-member-per-server", "quorum-survives-host"}


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (rabbitmq(replicas=UNKNOWN), "rabbitmq-size"),
        (percona(size=UNKNOWN), "galera-size"),
        (percona(affinity={"antiAffinityTopologyKey": UNKNOWN}), "one-member-per-server"),
        (mariadb(affinity={"antiAffinityEnabled": UNKNOWN}), "one-member-per-server"),
        (ceph(mon=UNKNOWN), "ceph-mon-size"),
        (ceph(placement=UNKNOWN), "one-member-per-server"),
        (ceph(disruptionManagement={"managePodBudgets": UNKNOWN}), "quorum-has-budget"),
        (postgres(affinity=UNKNOWN), "one-member-per-server"),
    ],
)
def test_an_unknown_value_is_not_evaluated(given: Given, rule: str) -> None:
    assert rule in {each.rule for each in reported([*nodes(3), given], Verdict.NOT_EVALUATED)}


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("spec", [None, UNKNOWN, {}, "text", {"mon": "text", "pxc": "text", "affinity": "text"}])
def test_any_specification_is_read_without_an_error(kind: str, spec: object) -> None:
    """What is missing has the operator's default, and what is malformed is reported by the rules that need it."""
    group, name = kind.split("/")
    props: Props = {"metadata": {"name": "x", "namespace": "openstack"}, "spec": spec}
    given = [*nodes(3), Given(f"kubernetes:{group}/v1:{name}", "x", props)]
    found = reported(given, Verdict.NOT_EVALUATED)
    assert not [each.message for each in found if "the rule failed with" in each.message]
    assert "resource-is-known" not in {each.rule for each in (*found, *reported(given))}


def test_a_config_map_of_the_stack_is_not_taken_for_the_operators_settings() -> None:
    for name in ("settings", "broker"):
        other = config_map(name, {"other.conf": "size = small\n"})
        assert broken_rules("broker", *nodes(4), rabbitmq(rabbitmq={}), BUDGET, other) == {"rabbitmq-quorum-queues"}


def test_an_autoscaled_quorum_has_its_fewest_members() -> None:
    given = [*nodes(3), *sound_quorum("rabbitmq", "rabbitmq"), autoscaler(least=2, most=3)]
    without_configuration = {"rabbitmq-pauses-minority", "rabbitmq-quorum-queues"}
    assert {each.rule for each in reported(given)} - without_configuration == {
        "rabbitmq-size",
        "budget-keeps-majority",
        "autoscaler-keeps-members",
    }


def test_an_unknown_value_of_a_custom_resource_is_a_secret_only_under_the_name_of_one() -> None:
    for spec, undecided in (({"storageClassName": UNKNOWN}, False), ({"password": UNKNOWN}, True)):
        found = reported([*nodes(4), rabbitmq(persistence=spec), BUDGET], Verdict.NOT_EVALUATED)
        assert ("no-clear-secrets" in {each.rule for each in found}) == undecided
