from policy.rules.messaging import rabbitmq_pauses_minority, rabbitmq_quorum_queues
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, config_map, quorum, reading, workload

pauses, queues = rabbitmq_pauses_minority, rabbitmq_quorum_queues

RABBIT = reading(quorum(), "rabbit")
GOOD = "# ours\ncluster_partition_handling = pause_minority\ndefault_queue_type = quorum\n"
CLIENT = "[DEFAULT]\ndebug = false\n[oslo_messaging_rabbit]\n"


def configured(text: object, file: str = "rabbitmq.conf") -> Given:
    return config_map("rabbit", {file: text})


CASES = (
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
        message="cluster_partition_handling is autoheal",
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
        "configured from elsewhere, one member, or no RabbitMQ",
        RABBIT,
        reading(quorum("other", replicas=1), "other"),
        reading(workload("keystone"), "other"),
        config_map("other", {"x.conf": ""}),
    ),
    case(pauses, "unknown configuration", RABBIT, configured(UNKNOWN), undecided="rabbitmq"),
    case(queues, "quorum queues", RABBIT, configured(GOOD), passes="rabbit-config"),
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
        fails="rabbit-config",
        message="rabbitmq.conf does not set default_queue_type (default: classic); expected quorum",
    ),
    case(
        queues,
        "mirrored by policy",
        RABBIT,
        config_map("rabbit", {"rabbitmq.conf": GOOD, "definitions.json": '{"policies": [{"ha-mode": "all"}]}'}),
        fails="rabbit-config",
        message="definitions.json mirrors queues",
    ),
    case(
        queues,
        "clients that do not",
        config_map("nova", {"nova.conf": f"{CLIENT}rabbit_ha_queues = true\n"}),
        fails="nova-config",
        message="nova.conf does not set rabbit_quorum_queue = true; expected it in [oslo_messaging_rabbit]",
    ),
    case(queues, "no word of queues", config_map("nova", {"nova.conf": "[DEFAULT]\n"}), quorum()),
    case(queues, "unknown configuration", RABBIT, configured(UNKNOWN), undecided="rabbit-config"),
    case(
        queues,
        "a configuration that nobody can read",
        config_map("nova", {"nova.conf": f"debug = true\n{CLIENT}rabbit_quorum_queue = true\n"}),
        undecided="nova-config",
        message="cannot be read",
    ),
)
