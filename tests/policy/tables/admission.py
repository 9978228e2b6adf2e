from policy.rules.admission import (
    patches_leave_members,
    priorities_spare_members,
    quotas_admit_members,
    webhooks_admit_members,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, Props, machines, quorum, requesting, workload

priority, quota, hook, patch = (
    priorities_spare_members,
    quotas_admit_members,
    webhooks_admit_members,
    patches_leave_members,
)

CLASS = "spec__template__spec__priorityClassName"


def priority_class(name: str, value: object, **fields: object) -> Given:
    props: Props = {"metadata": {"name": name}, "value": value, **fields}
    return Given("kubernetes:scheduling.k8s.io/v1:PriorityClass", name, props)


def limits(namespace: str = "openstack", **fields: object) -> Given:
    spec: Props = {"limits": [{"type": "Container", **fields}]}
    return Given("kubernetes:core/v1:LimitRange", "limits", {"metadata": {"namespace": namespace}, "spec": spec})


def quota_of(namespace: str = "openstack", scopes: object = None, **hard: object) -> Given:
    """A quota; `__` in a name stands for a dot."""
    spec: Props = {"hard": {key.replace("__", "."): value for key, value in hard.items()}, "scopes": scopes}
    return Given("kubernetes:core/v1:ResourceQuota", "quota", {"metadata": {"namespace": namespace}, "spec": spec})


def scoped(operator: str, *values: str, **hard: object) -> Given:
    """A quota for pods by their priority class."""
    expression: Props = {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}
    return quota_of("openstack", None, **hard).but(spec__scopeSelector={"matchExpressions": [expression]})


def webhook(resources: str = "pods", operations: str = "CREATE", **fields: object) -> Given:
    """A webhook for these resources and operations, which fails closed by default."""
    hook: Props = {
        "name": "scan.example.com",
        "rules": [{"operations": [operations], "resources": [resources]}],
        **fields,
    }
    type_ = "kubernetes:admissionregistration.k8s.io/v1:ValidatingWebhookConfiguration"
    return Given(type_, "scan", {"metadata": {"name": "scan"}, "webhooks": [hook]})


def not_in(key: str, value: str) -> Props:
    return {"matchExpressions": [{"key": key, "operator": "NotIn", "values": [value]}]}


def patched(kind: str, name: object, namespace: str = "openstack") -> Given:
    type_ = f"kubernetes:{'core/v1' if kind == 'Node' else 'apps/v1'}:{kind}Patch"
    return Given(type_, "patch", {"metadata": {"name": name, "namespace": namespace}})


MEMBER = requesting(quorum(), "2", "4Gi")

CHANGES = (
    case(
        patch,
        "a taint of a node, which is named",
        machines("rabbitmq"),
        quorum(),
        patched("Node", "rabbitmq-1").but(
            spec={"taints": [{"key": "a", "value": "b", "effect": "NoExecute"}], "unschedulable": True}
        ),
        fails="patch",
        message="changes taint a=b:NoExecute, unschedulable of node rabbitmq-1, which can have a quorum member",
    ),
    case(
        patch,
        "fields of a member's pod, which are named",
        quorum(),
        patched("StatefulSet", "rabbitmq").but(
            spec={"replicas": 2, "template": {"spec": {"affinity": {}, "terminationGracePeriodSeconds": 0}}}
        ),
        fails="patch",
        message="changes replicas, template.spec.affinity, template.spec.terminationGracePeriodSeconds of StatefulSet",
    ),
    case(
        quota,
        "a quota for the members' class",
        MEMBER.but(**{CLASS: "quorum"}),
        scoped("In", "quorum", pods=2),
        fails="quota",
        message="pods is 2; expected at least 3 for the pods of the stack",
    ),
    case(quota, "a quota for another class", MEMBER, scoped("In", "batch", pods=0), passes="quota"),
    case(quota, "a quota for pods without a class", MEMBER, scoped("DoesNotExist", pods=2), fails="quota"),
    case(quota, "a quota for pods with requests", MEMBER, quota_of(scopes=["NotBestEffort"], pods=2), fails="quota"),
    case(quota, "a quota for pods without requests", MEMBER, quota_of(scopes=["BestEffort"], pods=0), passes="quota"),
)

CASES = (
    *CHANGES,
    case(
        priority,
        "members have the highest class",
        quorum().but(**{CLASS: "high"}),
        priority_class("high", 1000),
        priority_class("low", 10, globalDefault=True),
        passes="high low",
    ),
    case(
        priority,
        "members without a class",
        quorum(),
        priority_class("batch", 10),
        fails="batch",
        message="its value 10 is above that of StatefulSet rabbitmq (0), whose pods it preempts",
    ),
    case(
        priority,
        "a class above the members' own",
        quorum().but(**{CLASS: "high"}),
        priority_class("high", 1000),
        priority_class("higher", 2000),
        passes="high",
        fails="higher",
    ),
    case(priority, "members get the default", quorum(), priority_class("d", 5, globalDefault=True), passes="d"),
    case(priority, "it waits", quorum(), priority_class("w", 5, preemptionPolicy="Never"), passes="w"),
    case(
        priority, "a class that is not in the stack", quorum().but(**{CLASS: "x"}), priority_class("b", 9), passes="b"
    ),
    case(priority, "no member", workload("keystone"), priority_class("batch", 10)),
    case(priority, "an unknown value", quorum(), priority_class("batch", UNKNOWN), undecided="batch"),
    case(quota, "enough", MEMBER, quota_of(pods="3", requests__cpu="6", memory="12Gi"), passes="quota"),
    case(
        quota,
        "too few cores",
        MEMBER,
        quota_of(requests__cpu="5"),
        fails="quota",
        message="requests.cpu is 5; expected at least 6 for the pods of the stack",
    ),
    case(quota, "too few pods, with those of others", MEMBER, workload("keystone"), quota_of(pods="5"), fails="quota"),
    case(quota, "a quota of other pods", MEMBER, quota_of(scopes=["BestEffort"], pods="0"), passes="quota"),
    case(
        quota, "limits that fit", MEMBER, limits(max={"cpu": "2", "memory": "4Gi"}, min={"cpu": "1"}), passes="limits"
    ),
    case(
        quota,
        "a max below its request",
        MEMBER,
        limits(max={"memory": "2Gi"}),
        fails="limits",
        message="its max of memory, 2Gi, refuses container main of StatefulSet rabbitmq",
    ),
    case(quota, "a min above its request", MEMBER, limits(min={"cpu": "3"}), fails="limits"),
    case(quota, "another namespace", MEMBER, limits("else", max={"memory": "2Gi"}), quota_of("else", pods="0")),
    case(quota, "an unknown quota", MEMBER, quota_of(pods=UNKNOWN), undecided="quota"),
    case(
        hook,
        "fails closed on all pods",
        quorum(),
        webhook(),
        fails="scan",
        message="webhook scan.example.com fails closed for new pods of StatefulSet rabbitmq; expected failurePolicy "
        "Ignore, or a namespaceSelector that excludes openstack",
    ),
    case(hook, "all resources", quorum(), webhook(resources="*", operations="*"), fails="scan"),
    case(hook, "fails open", quorum(), webhook(failurePolicy="Ignore"), passes="scan"),
    case(
        hook,
        "scoped to other namespaces",
        quorum(),
        webhook(namespaceSelector=not_in("kubernetes.io/metadata.name", "openstack")),
        passes="scan",
    ),
    case(
        hook,
        "scoped to other pods",
        quorum(),
        webhook(objectSelector=not_in("app.kubernetes.io/name", "rabbitmq")),
        passes="scan",
    ),
    case(hook, "not about pods, or not new ones", quorum(), webhook(resources="secrets"), passes="scan"),
    case(hook, "no member", workload("keystone"), webhook()),
    case(hook, "an unknown policy", quorum(), webhook(failurePolicy=UNKNOWN), undecided="scan"),
    case(
        patch,
        "a patch of members",
        quorum(),
        patched("StatefulSet", "rabbitmq"),
        fails="patch",
        message="changes something of StatefulSet rabbitmq after it was evaluated; expected the change",
    ),
    case(
        patch,
        "a patch of a member's node",
        machines("rabbitmq"),
        quorum(),
        patched("Node", "rabbitmq-1"),
        fails="patch",
    ),
    case(patch, "of another workload", quorum(), patched("Deployment", "rabbitmq"), passes="patch"),
    case(patch, "of another namespace", quorum(), patched("StatefulSet", "rabbitmq", "else"), passes="patch"),
    case(patch, "no patch", quorum()),
    case(patch, "an unknown name", quorum(), patched("StatefulSet", UNKNOWN), undecided="patch"),
)
