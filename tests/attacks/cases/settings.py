"""Attacks with settings that are right in one place, and wrong in the place that the program reads."""

from tests.attacks.attack import GALERA, PAUSE, Attack, config, container, galera, given, mounting, rabbit
from tests.policy.world import Props
from tests.sound.sound import nodes, quorum


def started(**more: object) -> Props:
    """A RabbitMQ whose container mounts its configuration, with further properties of the pod."""
    return mounting("rabbitmq", "rabbit-config", "/etc/rabbitmq", **more)


REWRITES = {
    "initContainers": [
        {
            **container("fix", image=f"registry.example/busybox:1.36@sha256:{'0' * 64}"),
            "command": ["sh", "-c", "sed -i s/pause_minority/ignore/ /etc/rabbitmq/rabbitmq.conf"],
            "volumeMounts": [{"name": "config", "mountPath": "/etc/rabbitmq"}],
        }
    ]
}
EVAL = ["rabbitmqctl", "eval", "application:set_env(rabbit, cluster_partition_handling, ignore)."]

CASES = [
    Attack("an init container that rewrites the file", rabbit(PAUSE, {**started(), **REWRITES})),
    Attack(
        "a hook that changes the running node",
        rabbit(PAUSE, started(lifecycle={"postStart": {"exec": {"command": EVAL}}})),
        caught_by="command-asks-quorum",
    ),
    Attack(
        "a setting in the environment against the file",
        rabbit(
            PAUSE,
            started(
                env=[
                    {
                        "name": "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                        "value": "-rabbit cluster_partition_handling autoheal",
                    }
                ]
            ),
        ),
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "a setting in the environment from a ConfigMap",
        rabbit(
            PAUSE,
            started(envFrom=[{"configMapRef": {"name": "rabbit-environment"}}]),
            config(
                "rabbit-environment",
                {"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-rabbit cluster_partition_handling ignore"},
            ),
        ),
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "another file by the environment",
        rabbit(PAUSE, started(env=[{"name": "RABBITMQ_CONFIG_FILE", "value": "/opt/other.conf"}])),
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "a setting that is written twice",
        rabbit(PAUSE + "cluster_partition_handling = ignore\n"),
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack("a setting that is a comment", rabbit("# " + PAUSE), caught_by="rabbitmq-pauses-minority"),
    Attack(
        "a later file",
        [
            *nodes(3),
            *quorum("rabbit", "rabbitmq", pod=mounting("rabbitmq", "rabbit-config", "/etc/rabbitmq/conf.d")),
            config("rabbit-config", {"10-own.conf": PAUSE, "99-last.conf": "cluster_partition_handling = autoheal\n"}),
        ],
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "a file that no pod mounts",
        [*nodes(3), *quorum("rabbit", "rabbitmq"), config("rabbit-config", {"rabbitmq.conf": PAUSE})],
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "a file in base64",
        [
            *nodes(3),
            *quorum("rabbit", "rabbitmq", pod=started()),
            given(
                "core/v1:ConfigMap",
                "rabbit-config",
                binaryData={"rabbitmq.conf": "Y2x1c3Rlcl9wYXJ0aXRpb25faGFuZGxpbmcgPSBpZ25vcmUK"},
            ),
        ],
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "arguments against the file of Galera",
        galera(GALERA, mounting("mariadb", "db-config", "/etc/mysql/conf.d", args=["--wsrep-on=OFF"])),
        caught_by="galera-keeps-quorum",
    ),
    Attack(
        "provider options in arguments",
        galera(
            GALERA,
            mounting("mariadb", "db-config", "/etc/mysql/conf.d", args=["--wsrep-provider-options=pc.ignore_sb=true"]),
        ),
        caught_by="galera-keeps-quorum",
    ),
    Attack(
        "a bootstrap in arguments",
        galera(GALERA, mounting("mariadb", "db-config", "/etc/mysql/conf.d", args=["--wsrep-new-cluster"])),
        caught_by="galera-keeps-quorum",
    ),
    Attack(
        "a shell around the program",
        galera(
            GALERA,
            mounting(
                "mariadb",
                "db-config",
                "/etc/mysql/conf.d",
                command=["sh", "-c", "exec mariadbd --wsrep_provider_options='pc.ignore_sb=true'"],
            ),
        ),
        caught_by="galera-keeps-quorum",
    ),
]
