from policy.rules.pod_security import namespace_level_admits_members
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, Props, quorum, workload

admits = namespace_level_admits_members

SAFE: Props = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def space(level: object, name: str = "openstack") -> Given:
    metadata: Props = {"name": name, "labels": {"pod-security.kubernetes.io/enforce": level}}
    return Given("kubernetes:core/v1:Namespace", name, {"metadata": metadata})


def secured(security: object, **pod: object) -> Given:
    """A quorum whose container has this securityContext."""
    container: Props = {"name": "main", "image": "rabbitmq:4", "securityContext": security}
    fields = {f"spec__template__spec__{key}": value for key, value in pod.items()}
    return quorum().but(spec__template__spec__containers=[container], **fields)


CASES = (
    case(admits, "restricted, and members that are", space("restricted"), secured(SAFE), passes="openstack"),
    case(
        admits, "baseline, and members without access to the host", space("baseline"), secured(None), passes="openstack"
    ),
    case(
        admits,
        "restricted, and members that run as root",
        space("restricted"),
        secured({**SAFE, "runAsNonRoot": None}),
        fails="openstack",
        message="level restricted refuses StatefulSet rabbitmq: container main has no runAsNonRoot; expected pods",
    ),
    case(
        admits,
        "baseline, and members on the host's network",
        space("baseline"),
        secured(SAFE, hostNetwork=True),
        fails="openstack",
        message="level baseline refuses StatefulSet rabbitmq: hostNetwork",
    ),
    case(
        admits, "a capability", space("baseline"), secured({"capabilities": {"add": ["NET_ADMIN"]}}), fails="openstack"
    ),
    case(
        admits,
        "a volume of the host",
        space("restricted"),
        secured(SAFE, volumes=[{"name": "a", "nfs": {"server": "nas"}}]),
        fails="openstack",
    ),
    case(
        admits,
        "privileged, or no members",
        space("privileged"),
        space("restricted", "web"),
        secured(None),
        workload("a"),
    ),
    case(admits, "unknown security", space("restricted"), secured(UNKNOWN), undecided="openstack"),
)
