"""RabbitMQ, the message broker, with quorum queues.

It has no load balancer, because clients have all members' addresses.

A stack file may define further RabbitMQ clusters (docs/adr/0017-further-brokers.md), each with its own names and
secrets.

Members find each other by a list of names. With RabbitMQ's plugin for Kubernetes instead, the member with ordinal 0
would begin a new cluster when it has lost its data
(https://www.rabbitmq.com/blog/2025/04/04/new-k8s-peer-discovery). Before 4.1, the plugin also needed an account of the
Kubernetes API. With the list, a member without data searches for the other members until it finds them, and
scripts/rabbitmq_start.sh makes them accept it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from openstack import scripts
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, TextFile, WrittenFile
from openstack.config.ports import AMQP
from openstack.config.wiring import Wiring
from openstack.definition import Claim, ConfigurationFile, Container, Port, ProcessDefinition, ProjectDefinition, Tcp

FIRST_MEMBERS = 3
"""Number of RabbitMQ members in the configured list, by which a member without data finds the cluster. The list does
not grow with the cluster, so that adding a member does not restart the others."""

PATIENCE = 15
"""Minutes that a member waits for the others when it starts. RabbitMQ's default of 5 is also kubelet's longest delay
between two starts of a container that ends: after a power cut of all, members ended again and again before all of them
ran at the same time. Project figure."""
_FORMATION = "https://www.rabbitmq.com/docs/cluster-formation"
_START = ConfigurationFile("rabbitmq-start.sh", "/etc/rabbitmq/rabbitmq-start.sh")
_COOKIE = ConfigurationFile("erlang-cookie", "/var/lib/rabbitmq/.erlang.cookie")


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    domain = wiring.host(f"{name}-members")
    return (
        ConfigFile("rabbitmq.conf", "flat", tuple(_layers(wiring, name)), fragment="/etc/rabbitmq/conf.d/secrets.conf"),
        # Host names of the members contain dots, which Erlang calls long names.
        TextFile("rabbitmq-env.conf", (_environment(domain),)),
        TextFile("enabled_plugins", ("[rabbitmq_management,rabbitmq_prometheus].\n",)),
        TextFile(_START.name, (scripts.text("rabbitmq_start.sh"),)),
        TextFile(_COOKIE.name, (Secret(f"{name}/cookie"),)),
    )


def _environment(domain: str) -> str:
    # rabbitmq.conf has no key for the wait for Khepri's leader (rabbit_khepri.erl of 4.2), only for Mnesia's tables.
    wait = f"-rabbit khepri_leader_wait_retry_timeout {PATIENCE * 60_000}"
    return f"""\
USE_LONGNAME=true
NODENAME=rabbit@$(uname -n).{domain}
SERVER_ADDITIONAL_ERL_ARGS="{wait}"
"""


def _layers(wiring: Wiring, name: str) -> Iterator[Layer]:
    # RabbitMQ pauses on the minority side of a partition; by default both sides would continue. Khepri, the metadata
    # store of new clusters from 4.2, always requires a majority (https://www.rabbitmq.com/docs/metadata-store). 4.3,
    # which Kolla has in 2026.2, has no other store and accepts the option without effect.
    yield _layer("004, 5.3.12", {"cluster_partition_handling": "pause_minority"})
    # A quorum queue is replicated and needs a majority; a classic queue is only on the member that it was declared on.
    yield _layer("https://www.rabbitmq.com/docs/quorum-queues", {"default_queue_type": "quorum"})
    members = wiring.members(name)[:FIRST_MEMBERS]
    nodes = {
        f"cluster_formation.classic_config.nodes.{number}": f"rabbit@{member}"
        for number, member in enumerate(members, start=1)
    }
    yield _layer(_FORMATION, {"cluster_formation.peer_discovery_backend": "classic_config", **nodes})
    # A member that lost its disk becomes a replica of its queues again automatically.
    yield _layer(
        "https://www.rabbitmq.com/docs/quorum-queues#replica-reconciliation",
        {
            "quorum_queue.continuous_membership_reconciliation.enabled": True,
            "quorum_queue.continuous_membership_reconciliation.target_group_size": len(members),
        },
    )
    # After the last attempt, a member without data would form a new cluster, so it retries for eleven days.
    attempts = {
        "cluster_formation.discovery_retry_limit": 1_000_000,
        "cluster_formation.discovery_retry_interval": 1000,
    }
    yield _layer(f"{_FORMATION}#discovery-retries", attempts)
    # Mnesia needs all members that ran when the power of all was cut: 30 s for each attempt.
    waits = {"mnesia_table_loading_retry_timeout": 30_000, "mnesia_table_loading_retry_limit": PATIENCE * 2}
    yield _layer("https://www.rabbitmq.com/docs/clustering#restarting", waits)
    # An unreachable member is detected after 23 to 38 s, before Kubernetes marks its node as not ready (50 s).
    yield _layer("https://www.rabbitmq.com/docs/nettick", {"net_ticktime": 30})
    # Otherwise RabbitMQ would take 60 % of the node's memory instead of 60 % of the container's limit.
    limit = {"total_memory_available_override_value": f"{wiring.memory[name]}MiB"}
    yield _layer("https://www.rabbitmq.com/docs/memory#absolute-limit", limit)
    # Log to the container's standard output.
    yield _layer("https://www.rabbitmq.com/docs/logging", {"log.console": True, "log.file": False})
    yield _layer("openstack/accounts.py", {"default_user": "admin", "default_pass": Secret(f"{name}/admin")})


def _layer(source: str, options: Mapping[str, str | int | bool | Secret]) -> Layer:
    return Layer(Origin.PROJECT, source, {"": options})


RABBITMQ = ProcessDefinition(
    name="rabbitmq",
    project="rabbitmq",
    kind="StatefulSet",
    uid=42439,
    claim=Claim(production=50, lab=5),
    grace=120,
    containers=(
        Container(
            name="rabbitmq",
            image="rabbitmq",
            user="rabbitmq",
            command=f"sh {_START.path}",
            ports=(
                # Agents of Nova and Neutron connect from the addresses of their nodes.
                Port("amqp", AMQP, clients=("project", "needs", "nodes")),
                Port("management", 15672),
                Port("metrics", 15692, clients=("monitoring",)),
                Port("distribution", 25672, clients=("members",)),
                Port("epmd", 4369, clients=("members",)),
            ),
            # The port is open when the member has booted, and closed while it is paused. rabbitmq-diagnostics would
            # start an Erlang VM for each probe, which took most of an idle member's CPU.
            ready=Tcp("amqp"),
            # The Erlang VM's port, which is also open while a member is paused or waits for other members: such a
            # member must not be restarted.
            alive=Tcp("distribution"),
            patience=PATIENCE,
            files=(
                ConfigurationFile("rabbitmq.conf", "/etc/rabbitmq/rabbitmq.conf"),
                ConfigurationFile("rabbitmq-env.conf", "/etc/rabbitmq/rabbitmq-env.conf"),
                ConfigurationFile("advanced.config", "/etc/rabbitmq/advanced.config"),
                ConfigurationFile("enabled_plugins", "/etc/rabbitmq/enabled_plugins"),
                _START,
                _COOKIE,
            ),
            data="/var/lib/rabbitmq",
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="rabbitmq",
    processes=(RABBITMQ,),
    configure=_configure,
)
