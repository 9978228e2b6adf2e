from policy.rules.messaging import (
    rabbitmq_keeps_members,
    rabbitmq_pauses_minority,
    rabbitmq_quorum_queues,
    rabbitmq_syncs_log,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, config_map, of_cluster, quorum, reading, workload

pauses, queues, syncs = rabbitmq_pauses_minority, rabbitmq_quorum_queues, rabbitmq_syncs_log

RABBIT = reading(quorum(), "rabbit")
GOOD = "# ours\ncluster_partition_handling = pause_minority\ndefault_queue_type = quorum\n"
CLIENT = "[DEFAULT]\ndebug = false\n[oslo_messaging_rabbit]\n"


def configured(text: object, file: str = "rabbitmq.conf") -> Given:
    return config_map("rabbit", {file: text})


CLEANUP = "cluster_formation.node_cleanup.only_log_warning = "
remembers = rabbitmq_keeps_members

CASES = (
    case(remembers, "by default", RABBIT, configured(GOOD), passes="rabbitmq"),
    case(remembers, "set explicitly", RABBIT, configured(f"{CLEANUP}true\n"), passes="rabbitmq"),
    case(
        remembers,
        "members that are down are removed",
        RABBIT,
        configured(f"{GOOD}{CLEANUP}false\n"),
        fails="rabbitmq",
        message="cluster_formation.node_cleanup.only_log_warning is false in rabbitmq.conf of "
        "ConfigMap rabbit-config; expected true",
    ),
    case(remembers, "one broker", reading(quorum(replicas=1), "rabbit"), configured(f"{CLEANUP}false\n")),
    case(remembers, "unknown configuration", RABBIT, configured(UNKNOWN), undecided="rabbitmq"),
    case(syncs, "by default", RABBIT, configured(GOOD), passes="rabbitmq"),
    case(
        syncs,
        "in advanced.config",
        RABBIT,
        configured("[{ra, [{wal_sync_method, datasync}]}].", "advanced.config"),
        passes="rabbitmq",
    ),
    case(
        syncs,
        "not at all",
        RABBIT,
        configured("[{ra, [{wal_sync_method, none}]}].", "advanced.config"),
        fails="rabbitmq",
        message="wal_sync_method is none in advanced.config of ConfigMap rabbit-config; expected datasync",
    ),
    case(syncs, "no RabbitMQ", workload("keystone")),
    case(syncs, "unknown configuration", RABBIT, configured(UNKNOWN, "advanced.config"), undecided="rabbitmq"),
    case(pauses, "in rabbitmq.conf", RABBIT, configured(GOOD), passes="rabbitmq"),
    case(
        pauses,
        "in Erlang's own form",
        RABBIT,
        configured("[{rabbit, [{cluster_partition_handling, pause_minority}]}].", "advanced.config"),
        passes="rabbitmq",
    ),
    case(
        pauses,
        "nothing of it",
        RABBIT,
        configured("default_queue_type = quorum\n"),
        fails="rabbitmq",
        message="cluster_partition_handling is not set (default: ignore); expected pause_minority",
    ),
    case(
        pauses,
        "a comment is none",
        RABBIT,
        configured("# cluster_partition_handling = pause_minority"),
        fails="rabbitmq",
    ),
    case(
        pauses,
        "autoheal",
        RABBIT,
        configured("cluster_partition_handling = autoheal"),
        fails="rabbitmq",
        message="cluster_partition_handling is autoheal in",
    ),
    case(
        pauses,
        "a hand-written Deployment of two",
        reading(workload("queue", image="rabbitmq:4", labels={"app": "queue"}, replicas=2), "rabbit"),
        configured("{cluster_partition_handling, ignore}", "advanced.config"),
        fails="queue",
    ),
    case(
        pauses,
        "without any configuration, the default counts",
        quorum().but(spec__template__spec__volumes=None),
        fails="rabbitmq",
        message="cluster_partition_handling is not set (default: ignore); expected pause_minority",
    ),
    case(
        pauses,
        "a ConfigMap from elsewhere",
        RABBIT,
        fails="rabbitmq",
        message="(default: ignore) in the stack, and ConfigMap rabbit is not part of it; expected pause_minority",
    ),
    case(
        pauses,
        "in the arguments of Erlang",
        quorum().but(
            spec__template__spec__containers=[
                {
                    "name": "rabbitmq",
                    "image": "rabbitmq:4",
                    "env": [
                        {
                            "name": "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                            "value": "-rabbit cluster_partition_handling pause_minority",
                        }
                    ],
                }
            ]
        ),
        passes="rabbitmq",
    ),
    case(
        pauses,
        "a comment in Erlang's form is none",
        RABBIT,
        configured(
            "% {cluster_partition_handling, ignore}\n[{rabbit, [{cluster_partition_handling, pause_minority}]}].",
            "advanced.config",
        ),
        passes="rabbitmq",
    ),
    case(
        pauses,
        "members in a workload each",
        [of_cluster(quorum(f"rabbit-{each}", replicas=1)) for each in "abc"],
        fails="rabbit-a rabbit-b rabbit-c",
    ),
    case(
        pauses,
        "one member, or no RabbitMQ",
        quorum("other", replicas=1),
        reading(workload("keystone"), "other"),
        config_map("other", {"x.conf": ""}),
    ),
    case(pauses, "unknown configuration", RABBIT, configured(UNKNOWN), undecided="rabbitmq"),
    case(queues, "quorum queues", RABBIT, configured(GOOD), passes="rabbitmq rabbit-config"),
    case(
        queues,
        "clients that ask for them",
        config_map("nova", {"nova.conf": f"{CLIENT}rabbit_quorum_queue = true\n"}),
        passes="nova-config",
    ),
    case(
        queues,
        "classic by default",
        RABBIT,
        configured("cluster_partition_handling = pause_minority\n"),
        fails="rabbitmq",
        passes="rabbit-config",
        message="default_queue_type is not set (default: classic); expected quorum",
    ),
    case(
        queues,
        "classic queues",
        RABBIT,
        configured("default_queue_type = classic"),
        fails="rabbitmq",
        passes="rabbit-config",
        message="default_queue_type is classic in rabbitmq.conf of ConfigMap rabbit-config; expected quorum",
    ),
    case(queues, "without any configuration", quorum().but(spec__template__spec__volumes=None), fails="rabbitmq"),
    case(
        queues,
        "in one of two ConfigMaps",
        reading(quorum(), "rabbit", "plugins"),
        configured(GOOD),
        config_map("plugins", {"enabled_plugins": "[rabbitmq_management]."}),
        passes="rabbitmq rabbit-config plugins-config",
    ),
    case(
        queues,
        "mirrored by policy",
        RABBIT,
        config_map("rabbit", {"rabbitmq.conf": GOOD, "definitions.json": '{"policies": [{"ha-mode": "all"}]}'}),
        fails="rabbit-config",
        passes="rabbitmq",
        message="definitions.json mirrors queues",
    ),
    case(
        queues,
        "clients that do not",
        config_map("nova", {"nova.conf": f"{CLIENT}rabbit_ha_queues = true\n"}),
        fails="nova-config",
        message="nova.conf does not set rabbit_quorum_queue = true; expected it in [oslo_messaging_rabbit]",
    ),
    case(queues, "no word of queues", config_map("nova", {"nova.conf": "[DEFAULT]\n"}), workload("keystone")),
    case(queues, "unknown configuration", RABBIT, configured(UNKNOWN), undecided="rabbitmq rabbit-config"),
    case(
        queues,
        "a configuration that cannot be read",
        config_map("nova", {"nova.conf": f"debug = true\n{CLIENT}rabbit_quorum_queue = true\n"}),
        undecided="nova-config",
        message="cannot be read",
    ),
)
