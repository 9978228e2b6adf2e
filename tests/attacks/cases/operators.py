"""Objects that make or change members from outside of workloads: operators, charts, autoscalers, network policies."""

from tests.attacks.attack import Attack, container, given, with_container
from tests.policy.world import Given, Props
from tests.sound.sound import nodes, quorum

ETCD = [*nodes(3), *quorum("etcd", "etcd")]
DB = [*nodes(3), *quorum("db", "zookeeper")]


def custom(api: str, kind: str, name: str, spec: Props) -> Given:
    """A custom resource, as Pulumi's Kubernetes provider names it."""
    return given(f"{api}:{kind}", name, spec, apiVersion=api).but(kind=kind)


def cron(command: list[str]) -> Given:
    """A CronJob that runs at night."""
    pod = {**with_container("kubectl", command=command), "restartPolicy": "Never"}
    job = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    return given("batch/v1:CronJob", "nightly", job)


def scaling(kind: str, spec: Props) -> list[Given]:
    """A quorum, and an autoscaler that scales it."""
    return [*DB, given(kind, "scaler", spec)]


TARGET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}
CASES = [
    Attack(
        "an operator's RabbitMQ of two",
        [*nodes(3), custom("rabbitmq.com/v1beta1", "RabbitmqCluster", "rabbit", {"replicas": 2})],
        caught_by="rabbitmq-size",
    ),
    Attack(
        "an operator's Galera of two",
        [*nodes(3), custom("k8s.mariadb.com/v1alpha1", "MariaDB", "db", {"replicas": 2, "galera": {"enabled": True}})],
        caught_by="galera-size",
    ),
    Attack(
        "an operator's Percona without anti-affinity",
        [
            *nodes(3),
            custom(
                "pxc.percona.com/v1",
                "PerconaXtraDBCluster",
                "db",
                {
                    "unsafeFlags": {"pxcSize": True},
                    "pxc": {"size": 3, "affinity": {"antiAffinityTopologyKey": "none"}},
                },
            ),
        ],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "an operator's monitors on one node",
        [
            *nodes(3),
            custom("ceph.rook.io/v1", "CephCluster", "ceph", {"mon": {"count": 3, "allowMultiplePerNode": True}}),
        ],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "an operator's etcd of two",
        [*nodes(3), custom("operator.etcd.io/v1alpha1", "EtcdCluster", "etcd", {"size": 2, "version": "3.6.5"})],
        caught_by="etcd-size",
    ),
    Attack(
        "Strimzi with two controllers",
        [
            *nodes(3),
            custom(
                "kafka.strimzi.io/v1beta2", "KafkaNodePool", "controllers", {"replicas": 2, "roles": ["controller"]}
            ),
        ],
        caught_by="resource-is-known",
    ),
    Attack(
        "an advanced StatefulSet of two members",
        [
            *nodes(3),
            custom(
                "apps.kruise.io/v1beta1",
                "StatefulSet",
                "db",
                {
                    "replicas": 2,
                    "serviceName": "db",
                    "template": {"metadata": {"labels": {"app": "db"}}, "spec": with_container("mariadb")},
                },
            ),
        ],
        caught_by="galera-size",
    ),
    Attack(
        "a chart of RabbitMQ with two replicas",
        [
            *nodes(3),
            Given("kubernetes:helm.sh/v3:Release", "rabbit", {"chart": "rabbitmq", "values": {"replicaCount": 2}}),
        ],
        caught_by="resource-is-known",
    ),
    Attack(
        "manifests from a file that is not rendered",
        [*nodes(3), Given("kubernetes:yaml/v2:ConfigGroup", "database", {"files": ["galera-of-two.yaml"]})],
        caught_by="resource-is-known",
    ),
    Attack(
        "a kustomization that is not rendered",
        [*nodes(3), Given("kubernetes:kustomize/v2:Directory", "database", {"directory": "overlays/production"})],
        caught_by="resource-is-known",
    ),
    Attack(
        "members as containers of one Docker host",
        [
            Given("docker:index/container:Container", f"etcd-{each}", {"image": "etcd:3.6.5", "name": f"etcd-{each}"})
            for each in (0, 1, 2)
        ],
        caught_by="resource-is-known",
    ),
    Attack(
        "three masters in another cloud, softly apart",
        [
            Given("openstack:compute/serverGroup:ServerGroup", "masters", {"policies": "soft-anti-affinity"}),
            *(
                Given("openstack:compute/instance:Instance", f"master-{each}", {"name": f"master-{each}"})
                for each in (1, 2, 3)
            ),
        ],
        caught_by="resource-is-known",
    ),
    Attack(
        "an autoscaler that may leave one member",
        scaling(
            "autoscaling/v2:HorizontalPodAutoscaler", {"minReplicas": 1, "maxReplicas": 3, "scaleTargetRef": TARGET}
        ),
        caught_by="autoscaler-keeps-members",
    ),
    Attack(
        "a scaler to zero",
        scaling(
            "keda.sh/v1alpha1:ScaledObject", {"minReplicaCount": 0, "maxReplicaCount": 3, "scaleTargetRef": TARGET}
        ),
        caught_by="autoscaler-keeps-members",
    ),
    Attack(
        "an autoscaler that restarts members for their size",
        scaling(
            "autoscaling.k8s.io/v1:VerticalPodAutoscaler",
            {"targetRef": TARGET, "updatePolicy": {"updateMode": "Recreate"}},
        ),
    ),
    Attack(
        "a network policy that closes the peers' port",
        [
            *ETCD,
            given(
                "networking.k8s.io/v1:NetworkPolicy",
                "etcd",
                {
                    "podSelector": {"matchLabels": {"app": "etcd"}},
                    "policyTypes": ["Ingress"],
                    "ingress": [{"ports": [{"port": 2379, "protocol": "TCP"}]}],
                },
            ),
        ],
        caught_by="network-policy-admits-members",
    ),
    Attack(
        "a network policy that denies everything",
        [
            *ETCD,
            given(
                "networking.k8s.io/v1:NetworkPolicy", "deny", {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
            ),
        ],
        caught_by="network-policy-admits-members",
    ),
    Attack(
        "a network policy that opens the ports between members to the cluster",
        [
            *ETCD,
            given(
                "networking.k8s.io/v1:NetworkPolicy",
                "etcd",
                {
                    "podSelector": {"matchLabels": {"app": "etcd"}},
                    "ingress": [
                        {"from": [{"podSelector": {"matchLabels": {"app": "etcd"}}}]},
                        {"from": [{"namespaceSelector": {}}], "ports": [{"port": 2380, "protocol": "TCP"}]},
                    ],
                },
            ),
        ],
        caught_by="quorum-closed-to-cluster",
    ),
    Attack(
        "a network policy of Calico against members",
        [
            *ETCD,
            given(
                "crd.projectcalico.org/v1:NetworkPolicy",
                "deny",
                {"selector": "app == 'etcd'", "types": ["Ingress"], "ingress": [{"action": "Deny"}]},
            ),
        ],
        caught_by="resource-is-known",
    ),
    Attack(
        "members restarted at night",
        [*DB, cron(["kubectl", "delete", "pod", "-l", "app=db"])],
        caught_by="command-asks-quorum",
    ),
    Attack(
        "members scaled down at night",
        [*DB, cron(["sh", "-c", "kubectl scale statefulset db --replicas=0"])],
        caught_by="command-asks-quorum",
    ),
    Attack(
        "a patch to two replicas",
        [*DB, given("apps/v1:StatefulSetPatch", "db-patch", {"replicas": 2})],
        caught_by="resource-is-known",
    ),
    Attack(
        "a quota of two pods for three members",
        [*ETCD, given("core/v1:ResourceQuota", "small", {"hard": {"pods": "2"}})],
        caught_by="quotas-admit-members",
    ),
    Attack(
        "RabbitMQ on each of four nodes",
        [
            *nodes(4),
            given(
                "apps/v1:DaemonSet",
                "rabbit",
                {
                    "selector": {"matchLabels": {"app": "rabbit"}},
                    "template": {"metadata": {"labels": {"app": "rabbit"}}, "spec": with_container("rabbitmq")},
                },
            ),
        ],
        caught_by="rabbitmq-size",
    ),
    Attack(
        "Galera as a ReplicationController of two",
        [
            *nodes(3),
            given(
                "core/v1:ReplicationController",
                "db",
                {
                    "replicas": 2,
                    "selector": {"app": "db"},
                    "template": {
                        "metadata": {"labels": {"app": "db"}},
                        "spec": with_container(
                            "mariadb", args=["--wsrep-on=ON", "--wsrep-cluster-address=gcomm://db-a,db-b"]
                        ),
                    },
                },
            ),
        ],
        caught_by="galera-size",
    ),
    Attack(
        "a ReplicaSet of etcd of two",
        [
            *nodes(3),
            given(
                "apps/v1:ReplicaSet",
                "etcd",
                {
                    "replicas": 2,
                    "selector": {"matchLabels": {"app": "etcd"}},
                    "template": {
                        "metadata": {"labels": {"app": "etcd"}},
                        "spec": {"containers": [container("etcd", command=["etcd", "--discovery-srv=etcd.example"])]},
                    },
                },
            ),
        ],
        caught_by="etcd-size",
    ),
    Attack(
        "an admission webhook in the way of everything",
        [
            *ETCD,
            given(
                "admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration",
                "all",
                namespace="",
                webhooks=[
                    {
                        "name": "all.example",
                        "failurePolicy": "Fail",
                        "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}],
                    }
                ],
            ),
        ],
        caught_by="webhooks-admit-members",
    ),
]
