"""Objects that keep quorum members from starting, or remove them: priorities, quotas, webhooks and patches."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from policy.facts.kubernetes.quantity import quantity
from policy.facts.kubernetes.selectors import Labels, label_selector
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.facts.quorums.quorums import is_member, voting_nodes
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Properties
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

SYSTEM_PRIORITY = 2_000_000_000
"""The value of Kubernetes' built-in class system-cluster-critical; that of system-node-critical is larger.

See https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/.
"""
_PODS = ("pods", "pods/*", "*", "*/*")


class _Object:
    """A Kubernetes object as a rule's subject."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.title = f"{kubernetes_kind(resource)} {resource.name}"


def _objects(facts: Facts, *kinds: str) -> Iterator[_Object]:
    yield from (_Object(each) for each in facts.resources if kubernetes_kind(each) in kinds)


@lru_cache(maxsize=2)
def _members(facts: Facts) -> tuple[Workload, ...]:
    return tuple(each for each in facts.workloads if is_member(facts, each))


@lru_cache(maxsize=2)
def _priorities(facts: Facts) -> dict[str, int]:
    """Returns the value of each PriorityClass of the stack by name; "" for pods without a class."""
    found = {"": 0}
    for each in _objects(facts, "PriorityClass"):
        props = each.resource.props
        value = props.at("value").number(0)
        found[props.at("metadata", "name").text(each.resource.name)] = value
        if props.at("globalDefault").flag():
            found[""] = value
    return found


def _class(workload: Workload) -> str:
    return workload.pod.at("priorityClassName").text()


@rule(
    id="priorities-spare-members",
    title="No PriorityClass lets other pods preempt quorum members",
    severity=Severity.HIGH,
    rationale="If a node is full, the scheduler deletes pods of lower priority to make room, at most with regard to "
    "their budgets. Pods without a class have priority 0, so that any class preempts them.",
    sources=(RuleSource("project", "Quorums", 22),),
    remediation="Give quorum members a class with a larger value than that of all other pods (priorityClassName), or "
    "set preemptionPolicy: Never in the class.",
    subjects=lambda facts: _objects(facts, "PriorityClass"),
    applies=lambda facts, _each: bool(_members(facts)),
    not_applicable_reason="the stack has no PriorityClass, or no quorum member in pods",
    since="0.7.0",
)
def priorities_spare_members(facts: Facts, each: _Object) -> Iterator[RuleProblem]:
    """Compares values with those of members' classes. Classes outside of the stack are not compared."""
    props = each.resource.props
    own, value = props.at("metadata", "name").text(each.resource.name), props.at("value").number(0)
    if props.at("preemptionPolicy").text("PreemptLowerPriority") == "Never":
        return
    known = _priorities(facts)
    members = {member: known.get(_class(member)) for member in _members(facts)}
    if any(_class(member) == own for member in members):
        return
    lower = {
        member.title: priority for member, priority in members.items() if priority is not None and priority < value
    }
    if lower:
        yield RuleProblem(
            f"its value {value} is above that of {join_names(lower)} ({min(lower.values())}), whose pods it preempts",
            "members with a class of a larger value, or preemptionPolicy Never",
        )


def _namespace(each: _Object) -> str:
    return each.resource.props.at("metadata", "namespace").text("default")


def _governed(facts: Facts, each: _Object) -> list[Workload]:
    """Returns the quorum members in the namespace of a quota or LimitRange."""
    return [member for member in _members(facts) if member.namespace == _namespace(each)]


@rule(
    id="quotas-admit-members",
    title="Quotas and limits of a namespace admit quorum members that restart",
    severity=Severity.CRITICAL,
    rationale="The API server refuses a pod that exceeds a ResourceQuota or a LimitRange. Pods that run are left "
    "alone, so that a member is refused only when it must be created again: after a failure.",
    sources=(RuleSource("project", "Quorums", 23),),
    remediation="Raise the quota above the requests of all pods in the namespace, and the LimitRange's max above the "
    "limits of each member, or remove the object.",
    subjects=lambda facts: _objects(facts, "ResourceQuota", "LimitRange"),
    applies=lambda facts, each: bool(_governed(facts, each)),
    not_applicable_reason="no ResourceQuota and no LimitRange of the stack is in a namespace with quorum members",
    since="0.7.0",
)
def quotas_admit_members(facts: Facts, each: _Object) -> Iterator[RuleProblem]:
    """Adds up the requests of the namespace's workloads for a quota. Compares each container with a LimitRange."""
    if kubernetes_kind(each.resource) == "LimitRange":
        for limit in each.resource.props.at("spec", "limits").items():
            if limit.at("type").text() == "Container":
                for member in _governed(facts, each):
                    yield from _refused(member, limit)
        return
    spec = each.resource.props.at("spec")
    there = [each_ for each_ in facts.workloads if each_.namespace == _namespace(each) and each_.is_long_running]
    pods = [(each_, each_.replicas or 0) for each_ in there if _is_in_scope(spec, each_)]
    hard = spec.at("hard")
    needs: dict[str, Decimal] = {
        "pods": Decimal(sum(count for _, count in pods)),
        "cpu": sum((workload.requests.cpu * count for workload, count in pods), Decimal(0)),
        "memory": sum((workload.requests.memory * count for workload, count in pods), Decimal(0)),
    }
    for name, need in needs.items():
        for key in (name, f"requests.{name}", f"count/{name}"):
            if hard.at(key).given() and quantity(hard.at(key)) < need:
                yield RuleProblem(f"{key} is {hard.at(key).quantity()}", f"at least {need:f} for the pods of the stack")


def _is_in_scope(spec: Properties, workload: Workload) -> bool:
    """Whether a quota counts the pods of a long-running workload, by its scopes."""
    wanted = spec.at("scopeSelector", "matchExpressions").items()
    return all(_has_scope(workload, scope, "Exists", ()) for scope in spec.at("scopes").words()) and all(
        _has_scope(workload, each.at("scopeName").text(), each.at("operator").text(), each.at("values").words())
        for each in wanted
    )


def _has_scope(workload: Workload, scope: str, operator: str, values: tuple[str, ...]) -> bool:
    if scope == "PriorityClass":
        own = _class(workload)
        return {"In": own in values, "NotIn": own not in values, "Exists": bool(own)}.get(operator, not own)
    requests = any(_is_sized(each) for each in workload.pod.at("containers").items())
    return {"Terminating": False, "BestEffort": not requests, "NotBestEffort": requests}.get(scope, True)


def _is_sized(container: Properties) -> bool:
    return container.at("resources", "requests").given() or container.at("resources", "limits").given()


def _refused(member: Workload, limit: Properties) -> Iterator[RuleProblem]:
    for container in member.pod.at("containers").items():
        given = container.at("resources")
        for name in ("cpu", "memory"):
            most, least = limit.at("max", name), limit.at("min", name)
            asked = quantity(given.at("requests", name))
            bound = quantity(given.at("limits", name)) or quantity(limit.at("default", name)) or asked
            what = f"container {container.at('name').text()} of {member.title}"
            if most.given() and max(asked, bound) > quantity(most):
                yield RuleProblem(f"its max of {name}, {most.quantity()}, refuses {what}", "a max above its limits")
            if least.given() and asked and asked < quantity(least):
                yield RuleProblem(f"its min of {name}, {least.quantity()}, refuses {what}", "a min below its requests")


WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


@rule(
    id="webhooks-admit-members",
    title="No admission webhook keeps quorum members from starting when its server is down",
    severity=Severity.CRITICAL,
    rationale="With failurePolicy Fail, the default, the API server creates no pod while the webhook's server does not "
    "answer. After a power failure its own pods, and the members that they need, wait for each other.",
    sources=(RuleSource("project", "Quorums", 24),),
    remediation="Set failurePolicy: Ignore, or exclude the members' namespace with a namespaceSelector, such as "
    "{key: kubernetes.io/metadata.name, operator: NotIn, values: [openstack]}.",
    subjects=lambda facts: _objects(facts, *WEBHOOKS),
    applies=lambda facts, _each: bool(_members(facts)),
    not_applicable_reason="the stack has no admission webhook, or no quorum member in pods",
    since="0.7.0",
)
def webhooks_admit_members(facts: Facts, each: _Object) -> Iterator[RuleProblem]:
    """Reads failure policy, operations, resources and selectors of each webhook."""
    for webhook in each.resource.props.at("webhooks").items():
        if webhook.at("failurePolicy").text("Fail") != "Fail" or not _is_about_new_pods(webhook):
            continue
        found = [member for member in _members(facts) if _is_selected(facts, webhook, member)]
        if found:
            spaces = join_names({member.namespace for member in found})
            yield RuleProblem(
                f"webhook {webhook.at('name').text()} fails closed for new pods of "
                f"{join_names([member.title for member in found])}",
                f"failurePolicy Ignore, or a namespaceSelector that excludes {spaces}",
            )


def _is_about_new_pods(webhook: Properties) -> bool:
    return any(
        {"CREATE", "*"} & set(each.at("operations").words()) and set(_PODS) & set(each.at("resources").words())
        for each in webhook.at("rules").items()
    )


def _is_selected(facts: Facts, webhook: Properties, member: Workload) -> bool:
    namespace: Labels = {"kubernetes.io/metadata.name": member.namespace, **facts.namespaces.get(member.namespace, {})}
    for key, labels in (("namespaceSelector", namespace), ("objectSelector", member.labels)):
        selector = label_selector(webhook.at(key))
        if selector is not None and not selector.selects(labels):
            return False
    return True


PATCH = "Patch"


def _patches(facts: Facts) -> Iterator[_Object]:
    for each in facts.resources:
        if kubernetes_kind(each).endswith(PATCH):
            yield _Object(each)


@rule(
    id="patches-leave-members",
    title="No patch changes a quorum member, or a node that can have one",
    severity=Severity.CRITICAL,
    rationale="A patch changes an object after the resource that the rules have read: replicas, affinity, volumes or "
    "taints differ from what was evaluated.",
    sources=(RuleSource("project", "Quorums", 25),),
    remediation="Write the change into the resource itself, or into the stack file, and remove the patch.",
    subjects=_patches,
    not_applicable_reason="the stack has no patch of a Kubernetes object",
    since="0.7.0",
)
def patches_leave_members(facts: Facts, each: _Object) -> Iterator[RuleProblem]:
    """Compares kind, namespace and name of the patched object with members' workloads and nodes."""
    kind = kubernetes_kind(each.resource).removesuffix(PATCH)
    name = each.resource.props.at("metadata", "name").text()
    what = join_names(_changed(each.resource.props)) or "something"
    if kind == "Node":
        if name in voting_nodes(facts):
            yield RuleProblem(
                f"changes {what} of node {name}, which can have a quorum member", "the node's own resource"
            )
        return
    for member in _members(facts):
        if (member.kind, member.namespace, member.name) == (kind, _namespace(each), name):
            yield RuleProblem(
                f"changes {what} of {member.title} after it was evaluated", "the change in its own resource"
            )


def _changed(props: Properties) -> list[str]:
    """Returns the fields that a patch sets: of a pod template each field of the pod, of a Node each taint and label."""
    found = [f"label {key}" for key in props.at("metadata", "labels").keys()]  # noqa: SIM118 - no mapping
    spec = props.at("spec")
    for key in spec.keys():  # noqa: SIM118 - no mapping
        inside = spec.at(key, "spec") if key == "template" else spec.at(key)
        if key == "taints":
            found += [f"taint {_taint(each)}" for each in inside.items()]
        elif key == "template":
            found += [f"template.spec.{each}" for each in inside.keys()]  # noqa: SIM118 - no mapping
        else:
            found.append(key)
    return found


def _taint(taint: Properties) -> str:
    return f"{taint.at('key').text()}={taint.at('value').text()}:{taint.at('effect').text()}"
