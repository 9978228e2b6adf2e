"""Broken and sound stacks on the real engine, with the policy pack as users run it.

The cases are those of tests/attacks and tests/sound, a choice for each part of the gate (docs/auditing.md). The engine
previews all of them as one program, and the pack evaluates each with the resources as the engine sends them. One case
of each part is a preview of its own: what is compared there is what an operator gets, the exit code and the engine's
own events. Providers only give back their inputs; test_engine_hand_written and test_engine_rendered run the Kubernetes
provider itself.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.attacks.attack import Attack
from tests.attacks.cases import BY_NAME as ATTACKS
from tests.policy import echo
from tests.policy.conftest import Previews, previewed
from tests.policy.requests import Sent, merged
from tests.shared import made_once
from tests.sound.cases import BY_NAME as SOUND
from tests.sound.sound import Sound

CONFIG = {"quorate:profile": "production"}
PACKAGES = ("kubernetes", "command", "libvirt", "docker", "openstack")

BROKEN_BY_PART = {
    "the gate": (
        "replicas that are not known",
        "an affinity that is not known",
        "a component type of the project on foreign facts",
    ),
    "a closed world": (
        "an operator's RabbitMQ of two",
        "an operator's Galera of two",
        "an operator's Percona without anti-affinity",
        "an operator's monitors on one node",
        "an operator's etcd of two",
        "a chart of RabbitMQ with two replicas",
        "members as containers of one Docker host",
        "three masters in another cloud, softly apart",
        "an autoscaler that may leave one member",
        "a network policy that denies everything",
        "members restarted at night",
        "a patch to two replicas",
    ),
    "quorums by structure": (
        "a Galera of two that claims no row",
        "an etcd in an image called nginx",
        "OVN southbound databases of two",
        "two sentinels",
        "Galera as a ReplicationController of two",
        "three workloads of one Service that claim three clusters",
    ),
    "placement is counted": (
        "a spread with a skew of three",
        "spread over two racks and over nothing else",
        "all members on a node by its name",
        "one volume for three members of etcd",
        "local volumes that are all on one node",
        "bare pods of etcd on one node",
        "a replica set in three workloads on two servers",
    ),
    "what the machine gets": (
        "kubelet labels that disagree with the machine",
        "nodes that say three servers, domains that say one",
        "emulated masters",
        "a unit that is copied",
    ),
    "defaults of the products": (
        "RabbitMQ without configuration",
        "a Galera that ignores split brain",
        "etcd without fsync",
        "members without requests",
        "a liveness probe that asks all of etcd",
    ),
    "commands": (
        "command: rm through a variable",
        "command: a firewall at the peers' port",
        "command: base64",
        "command: xargs",
        "three masters that ask at the same time",
        "a command at the end of a stack",
    ),
    "what is around members": (
        "members of etcd that are not found before they are ready",
        "a guest whose class is above that of the members",
        "a default class above that of the members",
        "a largest container below the members'",
        "a quota of two pods for three members",
        "a member that a busy second restarts",
        "a readiness probe that always succeeds",
        "members that an update does not await",
        "members that are awaited for their name only",
        "a taint on a member's node by a patch",
        "an admission webhook in the way of everything",
        "two masters on one server by two addresses of its libvirt",
        "masters that stay off after a power cut",
    ),
    "the stack as a whole": (
        "horizon on keystone's nodes",
        "RabbitMQ and Galera on the same nodes of 1000",
        "a foreign workload that tolerates everything",
    ),
}
"""Names of attacks, by the part of the gate that stops them."""

PASSED = (
    "commands that only name what would be harmful",
    "members restarted one after the other by a script that asks",
    "a node that is drained, restarted and taken back",
    "two instances of Prometheus with their own data",
    "RabbitMQ of an operator",
    "Percona XtraDB Cluster with the operator's defaults",
    "MariaDB Galera of an operator",
    "five Ceph monitors of Rook, two of them evictable",
    "PostgreSQL of CloudNativePG",
    "ZooKeeper behind a NetworkPolicy",
    "Vault of five over five racks, two of which may be drained",
    "etcd of five with its arguments, spread over hosts",
    "NATS kept apart by an expression",
    "Valkey of three with three sentinels, two of which decide",
    "OVN: two databases of three, northd of two, relays of three",
    "a Galera with its options behind a proxy of its own",
    "OpenSearch: three managers and four data nodes",
    "MinIO of four, which needs parity and no majority",
    "an autoscaler of a stateless API",
    "a backup of etcd at night",
    "a Galera of five over the table's three",
    "daemons of the nodes themselves, everywhere",
    "ZooKeeper, a rack for each member",
    "MongoDB spread over hosts, as many as members",
    "Vault spread over racks with minDomains",
    "ports of the node keep members apart",
    "volumes on the disks of the members' nodes",
    "an unrelated small virtual machine",
    "three masters on three hypervisors, which start with their hosts",
    "a webhook for other namespaces",
    "a class that waits, and a quota with room",
    "members on local disks of a class that retains",
    "members whose probes open connections, and are patient",
    "Prometheus, Alertmanager, Grafana and certificates by operators",
)
"""Names of sound stacks, no two of a kind."""
STOPPED = [ATTACKS[name] for names in BROKEN_BY_PART.values() for name in names]
SOUND_ONES = [SOUND[name] for name in PASSED]
PREFIX = {case.name: f"c{number:02}-" for number, case in enumerate((*STOPPED, *SOUND_ONES))}
"""What the names of a case's resources begin with in the program of all cases."""
PACKS = Path(__file__).parent / "packs"


@pytest.fixture(scope="module")
def providers() -> Generator[str]:
    with echo.serving(*PACKAGES) as addresses:
        yield addresses


def mandatory(violations: dict[str, set[str]]) -> set[str]:
    return {each.partition(" ")[2] for each in violations if each.startswith("mandatory ")}


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """What the engine sends to the pack in one preview of all cases together."""

    def record(directory: Path) -> None:
        with echo.serving(*PACKAGES) as addresses:
            given = merged({PREFIX[case.name]: case.given for case in (*STOPPED, *SOUND_ONES)})
            previewed(
                directory,
                given,
                CONFIG,
                pack=PACKS / "recording",
                PULUMI_DEBUG_PROVIDERS=addresses,
                QUORATE_REQUESTS=str(directory),
            )

    return Sent.read(made_once(tmp_path_factory, "engine-stacks", record))


@pytest.mark.parametrize("attack", STOPPED, ids=lambda attack: attack.name)
def test_the_pack_stops_what_the_engine_sends(attack: Attack, sent: Sent) -> None:
    found = sent.of_case(PREFIX[attack.name]).violations()
    assert "mandatory" in found[attack.caught_by].values()


@pytest.mark.parametrize("sound", SOUND_ONES, ids=lambda sound: sound.name)
def test_the_pack_lets_pass_what_the_engine_sends(sound: Sound, sent: Sent) -> None:
    found = sent.of_case(PREFIX[sound.name]).violations()
    assert {(rule, level) for rule, levels in found.items() for level in levels.values()} == {
        (rule, "advisory") for rule in sound.notes
    }


@pytest.mark.parametrize("attack", [ATTACKS[names[0]] for names in BROKEN_BY_PART.values()], ids=lambda each: each.name)
def test_the_engine_stops_it(attack: Attack, preview: Previews, providers: str) -> None:
    result = preview(attack.given, CONFIG, PULUMI_DEBUG_PROVIDERS=providers)
    assert attack.caught_by in mandatory(result.violations()), result.output
    assert result.code != 0
    assert attack.caught_by in result.output


@pytest.mark.parametrize("sound", SOUND_ONES[:3], ids=lambda sound: sound.name)
def test_the_engine_lets_it_pass(sound: Sound, preview: Previews, providers: str) -> None:
    result = preview(sound.given, CONFIG, PULUMI_DEBUG_PROVIDERS=providers)
    assert result.violations().keys() == {f"advisory {rule}" for rule in sound.notes}, result.output
    assert result.code == 0, result.output
