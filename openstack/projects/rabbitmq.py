"""Configuration of RabbitMQ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.openstack.projects.records import own_records
from openstack import scripts
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, TextFile, WrittenFile
from openstack.config.wiring import Wiring

FIRST_MEMBERS = 3
"""Number of RabbitMQ members in the configured list, by which a member without data finds the cluster. The list does
not grow with the cluster, so that adding a member does not restart the others."""

_RECORD = own_records()["rabbitmq"]
PATIENCE = _RECORD.processes[0].containers[0].patience
"""Minutes that a member waits for the others when it starts; the record has the reason."""
SYNC_METHOD = "datasync"
"""How the log of quorum queues is synced before a message is confirmed: the default of Ra, RabbitMQ's Raft library, set
explicitly (https://github.com/rabbitmq/ra/blob/v2.14.0/docs/internals/INTERNALS.md). rabbitmq.conf has no such key."""
LEAST_SPACE = 1_000_000_000
"""Bytes of free disk that the alarm keeps at least: two files of the quorum queues' log, of 512 MiB at most
(https://www.rabbitmq.com/docs/quorum-queues#resource-use). At RabbitMQ's default of 50 MB, the log can fail before the
alarm. Project figure."""
WATERMARK = 0.6
"""Part of its memory that RabbitMQ uses before it blocks publishers: the default of vm_memory_high_watermark."""
MOST_OF_VOLUME = 0.2
"""Part of its volume that the alarm keeps at most, so that most of it is for messages. Project figure."""
_FORMATION = "https://www.rabbitmq.com/docs/cluster-formation"


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    domain = wiring.host(f"{name}-members")
    return (
        ConfigFile("rabbitmq.conf", "flat", tuple(_layers(wiring, name)), fragment="/etc/rabbitmq/conf.d/secrets.conf"),
        # Host names of the members contain dots, which Erlang calls long names.
        TextFile("rabbitmq-env.conf", (_environment(domain),)),
        TextFile("enabled_plugins", ("[rabbitmq_management,rabbitmq_prometheus].\n",)),
        TextFile("rabbitmq-start.sh", (scripts.text("rabbitmq_start.sh"),)),
        TextFile("erlang-cookie", (Secret(f"{name}/cookie"),)),
    )


def least_space(memory: int, volume: int) -> int:
    """Returns the bytes of free disk below which RabbitMQ blocks all publishers.

    Below it, the member also ends if the others go on without it (scripts/rabbitmq_start.sh). RabbitMQ recommends as
    much as it may have in memory. `memory`: limit of a member in MiB. `volume`: size of its volume in GiB.
    """
    return max(LEAST_SPACE, min(int(memory * 1024**2 * WATERMARK), int(volume * 1024**3 * MOST_OF_VOLUME)))


def _environment(domain: str) -> str:
    # rabbitmq.conf has no key for the wait for Khepri's leader (rabbit_khepri.erl of 4.2), only for Mnesia's tables.
    wait = f"-rabbit khepri_leader_wait_retry_timeout {PATIENCE * 60_000}"
    return f"""\
USE_LONGNAME=true
NODENAME=rabbit@$(uname -n).{domain}
SERVER_ADDITIONAL_ERL_ARGS="{wait} -ra wal_sync_method {SYNC_METHOD}"
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
    space = {"disk_free_limit.absolute": least_space(wiring.memory[name], wiring.volumes[name])}
    yield _layer("https://www.rabbitmq.com/docs/production-checklist#resource-limits-disk-space", space)
    # Log to the container's standard output.
    yield _layer("https://www.rabbitmq.com/docs/logging", {"log.console": True, "log.file": False})
    yield _layer("openstack/accounts.py", {"default_user": "admin", "default_pass": Secret(f"{name}/admin")})


def _layer(source: str, options: Mapping[str, str | int | bool | Secret]) -> Layer:
    return Layer(Origin.PROJECT, source, {"": options})
