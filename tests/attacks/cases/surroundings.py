"""Attacks with what is around members: classes, quotas, guests, probes, waits, patches, and the hosts below them."""

from dataclasses import replace

from tests.attacks.attack import Attack, changed, container, given, with_container
from tests.policy.world import Given, Props
from tests.sound.sound import nodes, quorum

ETCD = quorum("etcd", "etcd")
ALIVE: Props = {"tcpSocket": {"port": 2379}, "periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 1}
CLASS = "scheduling.k8s.io/v1:PriorityClass"


def guest(**pod: object) -> Given:
    """A Deployment of another team on the members' nodes."""
    labels = {"app": "shop"}
    spec: Props = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {**with_container("shop"), **pod}},
    }
    return given("apps/v1:Deployment", "shop", spec, namespace="shop")


def annotated(**annotations: str) -> list[Given]:
    """Members with annotations for Pulumi."""
    own = {f"pulumi.com/{key}": value for key, value in annotations.items()}
    return changed(ETCD, "etcd", metadata__annotations=own)


def masters(*uris: str) -> list[Given]:
    """Virtual machines of masters, each with the URI of its libvirt."""
    return [
        replace(
            Given(
                "libvirt:index/domain:Domain", f"master-{number}", {"name": f"master-{number}", "autostart": True}, True
            ),
            provider=uri,
        )
        for number, uri in enumerate(uris, start=1)
    ]


CASES = [
    Attack(
        "members of etcd that are not found before they are ready",
        [*nodes(3), *changed(ETCD, "etcd-members", spec__publishNotReadyAddresses=False)],
        caught_by="members-find-each-other",
    ),
    Attack(
        "a guest whose class is above that of the members",
        [*nodes(3), *ETCD, given(CLASS, "gold", namespace="", value=1000), guest(priorityClassName="gold")],
        caught_by="priorities-spare-members",
    ),
    Attack(
        "a default class above that of the members",
        [
            *nodes(3),
            *changed(ETCD, "etcd", spec__template__spec__priorityClassName="members"),
            given(CLASS, "members", namespace="", value=10),
            given(CLASS, "all", namespace="", value=100, globalDefault=True),
            guest(),
        ],
        caught_by="priorities-spare-members",
    ),
    Attack(
        "a largest container below the members'",
        [
            *nodes(3),
            *ETCD,
            given("core/v1:LimitRange", "sizes", {"limits": [{"type": "Container", "max": {"memory": "512Mi"}}]}),
        ],
        caught_by="quotas-admit-members",
    ),
    Attack(
        "a member that a busy second restarts",
        [*nodes(3), *changed(ETCD, "etcd", spec__template__spec__containers=[container("etcd", livenessProbe=ALIVE)])],
        caught_by="liveness-is-patient",
    ),
    Attack(
        "members that an update does not await",
        [*nodes(3), *annotated(skipAwait="true")],
        caught_by="members-rollout-is-awaited",
    ),
    Attack(
        "members that are awaited for their name only",
        [*nodes(3), *annotated(waitFor="jsonpath={.metadata.name}")],
        caught_by="members-rollout-is-awaited",
    ),
    Attack(
        "a taint on a member's node by a patch",
        [
            *nodes(3),
            *ETCD,
            given("core/v1:NodePatch", "n1", {"taints": [{"key": "a", "effect": "NoExecute"}]}, namespace=""),
        ],
        caught_by="patches-leave-members",
    ),
    Attack(
        "two masters on one server by two addresses of its libvirt",
        masters("qemu+ssh://root@h1/system", "qemu+ssh://deploy@h1:22/system?no_verify=1", "qemu+ssh://root@h3/system"),
        caught_by="domains-on-different-hypervisors",
    ),
    Attack(
        "masters that stay off after a power cut",
        [
            each.but(autostart=False)
            for each in masters("qemu+ssh://h1/system", "qemu+ssh://h2/system", "qemu+ssh://h3/system")
        ],
        caught_by="virtual-voters-come-back",
    ),
]
