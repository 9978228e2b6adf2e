"""Pod Security admission: whether a namespace's level admits the quorum members in it."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums.quorums import is_member
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Properties
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

ENFORCED = "pod-security.kubernetes.io/enforce"
BASELINE, RESTRICTED = "baseline", "restricted"
_HOST = ("hostNetwork", "hostPID", "hostIPC")
_DEFAULT_CAPABILITIES = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
"""Capabilities that the level baseline lets a container add (https://kubernetes.io/docs/concepts/security/
pod-security-standards/)."""
_VOLUMES = frozenset(
    {
        *("name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected"),
        "secret",
    }
)


class _Space:
    """A namespace of the stack that enforces a level."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.name = resource.props.at("metadata", "name").text(resource.name)
        self.title = f"namespace {self.name}"
        self.level = resource.props.at("metadata", "labels").texts().get(ENFORCED, "")


def _spaces(facts: Facts) -> Iterator[_Space]:
    yield from (_Space(each) for each in facts.resources if each.type == "kubernetes:core/v1:Namespace")


def _governed(facts: Facts, space: _Space) -> list[Workload]:
    return [each for each in facts.workloads if each.namespace == space.name and is_member(facts, each)]


@rule(
    id="namespace-level-admits-members",
    title="The Pod Security level of a namespace admits its quorum members",
    severity=Severity.CRITICAL,
    rationale="The API server refuses pods that the level does not admit. Pods that run are left alone, so that a "
    "member is refused only when it must be created again: after a failure, one member after the other.",
    sources=(RuleSource("project", "Quorums", 27),),
    remediation="Give the members the securityContext that the level asks for, or enforce a lower level "
    "(pod-security.kubernetes.io/enforce) and keep the higher one as warn and audit.",
    subjects=_spaces,
    applies=lambda facts, space: space.level in (BASELINE, RESTRICTED) and bool(_governed(facts, space)),
    not_applicable_reason="no namespace of the stack with quorum members enforces a Pod Security level",
    since="0.7.0",
)
def namespace_level_admits_members(facts: Facts, space: _Space) -> Iterator[RuleProblem]:
    """Compares each member's pod with the level, without the controls of SELinux, AppArmor, sysctls and Windows."""
    for member in _governed(facts, space):
        found = [*_beyond_baseline(member.pod)]
        found += _beyond_restricted(member.pod) if space.level == RESTRICTED else ()
        if found:
            yield RuleProblem(f"level {space.level} refuses {member.title}: {join_names(found)}", "pods that it admits")


def _containers(pod: Properties) -> Iterator[Properties]:
    yield from pod.at("initContainers").items()
    yield from pod.at("containers").items()


def _beyond_baseline(pod: Properties) -> Iterator[str]:
    yield from (field for field in _HOST if pod.at(field).flag())
    if any(each.at("hostPath").given() for each in pod.at("volumes").items()):
        yield "hostPath"
    for container in _containers(pod):
        security, name = container.at("securityContext"), container.at("name").text()
        if security.at("privileged").flag():
            yield f"container {name} is privileged"
        if strange := set(security.at("capabilities", "add").words()) - _DEFAULT_CAPABILITIES:
            yield f"container {name} adds {join_names(strange)}"
        if any(each.at("hostPort").number(0) for each in container.at("ports").items()):
            yield f"container {name} has a hostPort"


def _beyond_restricted(pod: Properties) -> Iterator[str]:
    for volume in pod.at("volumes").items():
        if strange := set(volume.keys()) - _VOLUMES - {"hostPath"}:
            yield f"volume {volume.at('name').text()} is {join_names(strange)}"
    own = pod.at("securityContext")
    for container in _containers(pod):
        security, name = container.at("securityContext"), container.at("name").text()
        escalation = security.at("allowPrivilegeEscalation")
        if not escalation.given() or escalation.flag():
            yield f"container {name} may escalate privileges"
        if "ALL" not in security.at("capabilities", "drop").words():
            yield f"container {name} does not drop ALL capabilities"
        if not any(each.at("runAsNonRoot").flag() for each in (security, own)):
            yield f"container {name} has no runAsNonRoot"
        if not any(each.at("seccompProfile", "type").given() for each in (security, own)):
            yield f"container {name} has no seccompProfile"
