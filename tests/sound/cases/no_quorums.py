"""Replicas that do not vote: no requirement on quorums applies to them."""

from tests.policy.world import Given, workload
from tests.sound.sound import Sound, member, nodes, quorum

IMAGE = f"registry.example/website:1.0.0@sha256:{'0' * 64}"
SHARED = {"name": "uploads", "persistentVolumeClaim": {"claimName": "uploads"}}
WEBSITE = workload("website", image=IMAGE, labels={"app": "website"}, replicas=2, apart=())


def service(name: str, **spec: object) -> Given:
    """A Service for the pods of the website."""
    written = {"selector": {"app": "website"}, "ports": [{"port": 80}], **spec}
    return Given(
        "kubernetes:core/v1:Service", name, {"metadata": {"name": name, "namespace": "openstack"}, "spec": written}
    )


CASES = [
    Sound(
        "a website of two behind one balancer, with shared uploads",
        [*nodes(3), WEBSITE.but(spec__template__spec__volumes=[SHARED]), service("website")],
    ),
    Sound(
        "a website with a balancer and with names for its pods",
        [*nodes(3), WEBSITE, service("website"), service("website-pods", clusterIP="None")],
    ),
    Sound("two instances of Prometheus with their own data", [*nodes(3), *quorum("metrics", "prometheus", replicas=2)]),
    Sound("one instance of a program with data", [*nodes(3), member("wiki", "wiki", replicas=1, apart=())]),
    Sound(
        "two workloads of one image that do not know each other",
        [*nodes(3), *(workload(name, image=IMAGE, labels={"app": name}, replicas=1) for name in ("blue", "green"))],
    ),
]
