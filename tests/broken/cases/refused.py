"""Broken stacks with objects that preempt, refuse or change members; each is hand-written beside the stack's own."""

from __future__ import annotations

from tests.attacks.attack import given
from tests.broken.broken import Broken
from tests.policy.world import Given, Props

NEW_PODS: Props = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
SCAN: Props = {"name": "scan.example.com", "rules": [NEW_PODS], "failurePolicy": "Fail"}
SMALL: Props = {"limits": [{"type": "Container", "max": {"memory": "64Mi"}}]}


def _priority(name: str, *, is_default: bool = False) -> Given:
    value = 1_500_000_000
    return given("scheduling.k8s.io/v1:PriorityClass", name, namespace="", value=value, globalDefault=is_default)


CASES = [
    Broken("a class above that of members", (), {"priorities-spare-members": {"batch"}}, adds=(_priority("batch"),)),
    Broken(
        "a default above the class of members",
        (),
        {"priorities-spare-members": {"default"}},
        adds=(_priority("default", is_default=True),),
    ),
    Broken(
        "a quota that is full",
        (),
        {"quotas-admit-members": {"full"}},
        adds=(given("core/v1:ResourceQuota", "full", {"hard": {"pods": "12"}}),),
    ),
    Broken(
        "a limit below that of members",
        (),
        {"quotas-admit-members": {"small"}},
        adds=(given("core/v1:LimitRange", "small", SMALL),),
    ),
    Broken(
        "a webhook that fails closed",
        (),
        {"webhooks-admit-members": {"scan"}},
        adds=(
            given(
                "admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration", "scan", namespace="", webhooks=[SCAN]
            ),
        ),
    ),
    Broken(
        "a patch of a broker",
        (),
        {"patches-leave-members": {"patch"}, "resource-is-known": {"patch"}},
        adds=(
            given(
                "apps/v1:StatefulSetPatch",
                "patch",
                {"replicas": 1},
                metadata={"name": "rabbitmq", "namespace": "openstack"},
            ),
        ),
    ),
]
