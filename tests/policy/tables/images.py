from policy.rules.images import images_pinned, no_floating_tag, public_images_flagged, rendered_images_pinned
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, machine, stack, workload

floating, pinned, public, alike = no_floating_tag, images_pinned, public_images_flagged, rendered_images_pinned

DIGEST = "@sha256:" + "0123456789abcdef" * 4
KOLLA = "quay.io/openstack.kolla/keystone:2026.1-debian-trixie"


def static_pod(image: str) -> Given:
    text = f"kind: Pod\nmetadata: {{name: p, namespace: kube-system}}\nspec: {{containers: [{{image: '{image}'}}]}}\n"
    return machine("ctl-1", "rabbitmq", files={"pod.yaml": text})


CASES = (
    case(floating, "a version", workload("app", image="r/app:1.2"), static_pod("nginx:1.28"), passes="app ctl-1"),
    case(floating, "a digest without a tag", workload("app", image=f"r/app{DIGEST}"), passes="app"),
    case(floating, "a digest beside latest", workload("app", image=f"r/app:latest{DIGEST}"), passes="app"),
    case(
        floating,
        "latest",
        workload("app", image="r/app:latest"),
        fails="app",
        message="r/app:latest can be any version; expected a version tag or a digest",
    ),
    case(floating, "no tag, and a port", workload("app", image="r:5000/app"), fails="app"),
    case(floating, "a static pod without a tag", static_pod("nginx"), fails="ctl-1"),
    case(
        floating,
        "a container before the others",
        workload("app").but(spec__template__spec__initContainers=[{"name": "i", "image": "busybox"}]),
        fails="app",
        message="busybox can be any version; expected a version tag or a digest",
    ),
    case(floating, "no pod", cloud()),
    case(floating, "an unknown image", workload("app", image=UNKNOWN), undecided="app"),
    case(pinned, "a digest", cloud(target="live"), workload("app", image=f"r/app:1{DIGEST}"), passes="app"),
    case(
        pinned,
        "a tag alone",
        cloud(target="live"),
        workload("app", image="r/app:1"),
        fails="app",
        message="r/app:1 not pinned; expected a digest (@sha256:…)",
    ),
    case(
        pinned,
        "a digest that is cut off",
        cloud(target="live"),
        workload("app", image=f"r/app{DIGEST[:-1]}"),
        fails="app",
    ),
    case(
        pinned,
        "rendered, and one of two is pinned",
        cloud(target="render"),
        workload("app", image=f"r/app:1{DIGEST}"),
        workload("other", image="r/other:1"),
        passes="app",
    ),
    case(pinned, "a program of its own, without a Cloud", workload("app", image="r/app:1"), fails="app"),
    case(pinned, "rendered, and none is pinned", cloud(target="render"), workload("app", image="r/app:1")),
    case(pinned, "a lab", cloud(profile="lab", target="live"), workload("app", image="r/app:1")),
    case(pinned, "an unknown image", cloud(target="live"), workload("app", image=UNKNOWN), undecided="app"),
    case(
        alike,
        "one of three is pinned",
        cloud(target="render"),
        workload("app", row="horizon", image=f"r/app:1{DIGEST}"),
        workload("other", row="nova-api", image="r/other:1"),
        workload("third", row="nova-conductor", image="r/third:1"),
        fails="cloud",
        message="r/other:1, r/third:1 not pinned, other images are; expected a digest (@sha256:…) for each image",
    ),
    case(
        alike,
        "all are pinned",
        cloud(target="render"),
        workload("app", row="horizon", image=f"r/app:1{DIGEST}"),
        passes="cloud",
    ),
    case(alike, "none is pinned", cloud(target="render"), workload("app", row="horizon", image="r/app:1")),
    case(
        alike,
        "a hand-written workload is pinned, and none of the cloud's",
        cloud(target="render"),
        workload("own", image=f"r/own:1{DIGEST}"),
        workload("app", row="horizon", image="r/app:1"),
    ),
    case(
        alike,
        "a live stack",
        cloud(target="live"),
        workload("app", row="horizon", image=f"r/app:1{DIGEST}"),
        workload("other", row="nova-api"),
    ),
    case(
        alike,
        "an unknown image",
        cloud(target="render"),
        workload("app", row="horizon", image=UNKNOWN),
        undecided="cloud",
    ),
    case(public, "a mirror", cloud(), workload("app", image="mirror.example/kolla/keystone:1"), passes="cloud"),
    case(public, "pinned", cloud(), workload("app", image=f"{KOLLA}{DIGEST}"), passes="cloud"),
    case(
        public,
        "Kolla's own, by their tags",
        cloud(),
        workload("app", image=KOLLA),
        workload("other", image="r/app:1"),
        fails="cloud",
        message=f"{KOLLA} come from quay.io/openstack.kolla without a digest; expected a mirror or digests",
    ),
    case(public, "without a Cloud", workload("app", image=KOLLA), workload("web"), fails="app", passes="web"),
    case(public, "no pod", stack()),
    case(public, "a lab", cloud(profile="lab"), workload("app", image=KOLLA)),
    case(public, "an unknown image", cloud(), workload("app", image=UNKNOWN), undecided="cloud"),
)
