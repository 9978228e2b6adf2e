"""Sound stacks with priorities, quotas and webhooks that leave members alone."""

from __future__ import annotations

from tests.attacks.attack import given
from tests.policy.world import Given, Props
from tests.sound.sound import NAMESPACE, Sound, nodes, quorum

OTHERS: Props = {
    "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [NAMESPACE]}]
}
NEW_PODS: Props = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def _webhook(**fields: object) -> Given:
    scan: Props = {"name": "scan.example.com", "rules": [NEW_PODS], **fields}
    type_ = "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration"
    return given(type_, "scan", namespace="", webhooks=[scan])


CASES = [
    Sound("a webhook for other namespaces", [*nodes(3), *quorum("meta", "etcd"), _webhook(namespaceSelector=OTHERS)]),
    Sound("a webhook that fails open", [*nodes(3), *quorum("meta", "etcd"), _webhook(failurePolicy="Ignore")]),
    Sound(
        "a class that waits, and a quota with room",
        [
            *nodes(3),
            *quorum("meta", "etcd"),
            given("scheduling.k8s.io/v1:PriorityClass", "wait", namespace="", value=9, preemptionPolicy="Never"),
            given("core/v1:ResourceQuota", "room", {"hard": {"pods": "10", "requests.memory": "64Gi"}}),
        ],
    ),
]
