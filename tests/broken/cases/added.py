"""Hand-written objects beside the stack's own: they isolate, scale or restart members, or are quorums."""

from __future__ import annotations

from tests.attacks.attack import container, given, with_container
from tests.attacks.cases.operators import cron, custom
from tests.broken.broken import Broken
from tests.policy.world import Props
from tests.sound.sound import NAMESPACE

GALERA_OF_THE_STACK, RABBITMQ_OF_THE_STACK = "cloud-openstack-mariadb-mysqld", "cloud-openstack-rabbitmq"
GALERA: Props = {"app.kubernetes.io/name": "mysqld"}
CLOSED: Props = {"podSelector": {"matchLabels": GALERA}, "policyTypes": ["Egress"]}
EVICTS: Props = {"maxUnavailable": 2, "selector": {"matchLabels": GALERA}}
RABBITMQ: Props = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "rabbitmq"}
SCALED: Props = {"minReplicas": 1, "maxReplicas": 3, "scaleTargetRef": RABBITMQ}
PINNED: Props = {"nodeName": "ctl01", "containers": [container("etcd")]}
PATCHED: Props = {"name": "mysqld", "namespace": NAMESPACE}

CASES = [
    Broken(
        "hand-written objects",
        (),
        {
            "network-policy-admits-members": {GALERA_OF_THE_STACK},
            "quorum-has-budget": {GALERA_OF_THE_STACK, "broker"},
            "budget-keeps-majority": {GALERA_OF_THE_STACK},
            "autoscaler-keeps-members": {"scaler"},
            "instances-match-row": {RABBITMQ_OF_THE_STACK},
            "rabbitmq-size": {RABBITMQ_OF_THE_STACK, "broker"},
            "rabbitmq-quorum-queues": {"broker"},
            "one-instance-per-node": {"broker"},
            "one-member-per-server": {"broker"},
            "replicas-fit-nodes": {"broker"},
            "no-floating-tag": {"broker", "debug"},
            "command-asks-quorum": {"nightly"},
            "dedicated-nodes-admit-guests": {"bare"},
            "host-access-where-needed": {"debug"},
            "no-clear-secrets": {"settings"},
            "resource-is-known": {"kafka", "patch"},
            "patches-leave-members": {"patch"},
            "priorities-spare-members": {"cloud-openstack-control-plane"},
        },
        adds=(
            given("networking.k8s.io/v1:NetworkPolicy", "closed", CLOSED),
            given("policy/v1:PodDisruptionBudget", "evicts", EVICTS),
            given("autoscaling/v2:HorizontalPodAutoscaler", "scaler", SCALED),
            cron(["kubectl", "delete", "pod", "-l", "app.kubernetes.io/name=mysqld"]),
            custom("rabbitmq.com/v1beta1", "RabbitmqCluster", "broker", {"replicas": 2}),
            custom("kafka.strimzi.io/v1beta2", "Kafka", "kafka", {"kafka": {"replicas": 2}}),
            given("core/v1:Pod", "bare", PINNED),
            given("core/v1:ConfigMap", "settings", data={"admin_password": "hunter2"}),
            given("apps/v1:StatefulSetPatch", "patch", {"replicas": 2}, metadata=PATCHED),
            given("core/v1:Pod", "debug", {**with_container("debug", image="busybox"), "hostPID": True}),
        ),
    ),
]
