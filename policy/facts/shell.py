"""Commands that a stack runs on machines: pulumi-command's resources, over SSH or on the deployer's own machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from policy.facts.resource import Resource

REMOTE, LOCAL = "command:remote:Command", "command:local:Command"
WORDS = ("create", "update", "delete")
"""Properties with what is run."""

_UNITS = (
    r"etcd|kubelet|containerd|docker|crio|kube-apiserver|mariadb|mysqld?|galera|percona|rabbitmq(?:-server)?|ceph-mon|"
    r"opensearch|elasticsearch|influxdb|libvirtd|nginx|network(?:ing)?|NetworkManager"
)
_DISRUPTS = {
    "stops or restarts a service": re.compile(
        rf"\b(?:systemctl|service|docker|podman|nerdctl|crictl)\b[^\n;|&]*\b(?:restart|stop|kill|rm|disable|"
        rf"try-restart|reload-or-restart)\b[^\n;|&]*\b(?:{_UNITS})\b"
        rf"|\bservice\s+(?:{_UNITS})\s+(?:restart|stop)\b"
        r"|\brabbitmqctl\s+(?:stop|stop_app|reset|force_reset)\b"
    ),
    "restarts or stops the machine": re.compile(
        r"(?:^|[;&|(]|\bthen\b|\bdo\b)\s*(?:sudo\s+)?(?:ssh\s+(?:-[oilpFJ]\s*\S+\s+|-\S+\s+)*\S+\s+[\"']?(?:sudo\s+)?)?"
        r"(?:(?:/\S*/)?(?:reboot|poweroff|halt|shutdown)|init\s+[06]|systemctl\s+(?:reboot|poweroff|halt|kexec))\b",
        re.M,
    ),
    "drains or deletes a node": re.compile(
        r"\bkubectl\b[^\n;|&]*\b(?:drain|delete\s+(?:node|pod|statefulset|sts)s?)\b"
    ),
    "stops or deletes a virtual machine": re.compile(
        r"\bvirsh\b[^\n;|&]*\b(?:destroy|undefine|shutdown|reboot|reset)\b"
    ),
    "takes a member away": re.compile(
        r"\betcdctl\b[^\n;|&]*\bmember\s+remove\b|\bceph\s+(?:mon|osd)\s+(?:rm|remove|purge)\b"
    ),
    "upgrades the machine's software": re.compile(
        r"\bkubeadm\s+upgrade\b|\b(?:apt(?:-get)?|dnf|yum)\b[^\n;|&]*\b(?:install|upgrade|update|dist-upgrade)\b"
        r"[^\n;|&]*\b(?:etcd|kube\w+|containerd|mariadb\S*|rabbitmq\S*)"
    ),
}
_ASKS = re.compile(
    r"\betcdctl\b[^\n;|&]*\b(?:endpoint\s+(?:health|status)|member\s+list)"
    r"|\bwsrep_(?:cluster_status|cluster_size|local_state\w*|ready)"
    r"|\brabbitmq(?:-diagnostics|ctl|-queues)\b[^\n;|&]*\b(?:cluster_status|check_\w+)"
    r"|\bceph\b[^\n;|&]*\b(?:quorum_status|health|mon\s+stat|ok-to-stop)\b|\bceph\s+(?:-s|status)\b"
    r"|\bkubectl\b[^\n;|&]*\b(?:wait|rollout\s+status)\b"
)
_DRAIN = re.compile(r"\bkubectl\b[^\n;|&]*\bdrain\b[^\n;|&]*")
_PAST_BUDGETS = re.compile(r"--disable-eviction\b|--force\b.*--grace-period[= ]0")
_UPGRADES = re.compile(r"\bkubeadm\s+upgrade\b|\b(?:apt(?:-get)?|dnf|yum)\b[^\n;|&]*\b(?:etcd|kube\w+)")
_BACKS_UP = re.compile(r"\betcd(?:ctl|utl)\b[^\n;|&]*\bsnapshot\s+save\b")
_SEVERAL = re.compile(
    r"\bfor\s+\w+\s+in\s+\S+\s+\S+[^\n]*[;\n]\s*do\b|\b(?:pssh|pdsh|clush|parallel-ssh|parallel)\b|\bxargs\b[^\n]*-P"
)


@dataclass(frozen=True)
class Command:
    """A command resource."""

    resource: Resource

    @property
    def title(self) -> str:
        """What a message calls it."""
        return f"command {self.resource.name}"

    @property
    def host(self) -> str:
        """The machine that it runs on; empty on the deployer's own."""
        return self.resource.props.at("connection", "host").text()

    @cached_property
    def text(self) -> str:
        """Everything that it runs, one below the other. Never for a message: there may be secrets in it."""
        return "\n".join(self.resource.props.at(word).text() for word in WORDS)

    @property
    def disrupts(self) -> str:
        """What it does that a quorum's member may not survive, in words; empty where it does nothing of the kind."""
        return next((words for words, pattern in _DISRUPTS.items() if pattern.search(self.text)), "")

    @property
    def asks(self) -> bool:
        """Whether it looks at a quorum, or lets Kubernetes do so by evicting within the budgets."""
        drains = _DRAIN.findall(self.text)
        if drains and not any(_PAST_BUDGETS.search(drain) for drain in drains):
            return True
        return bool(_ASKS.search(self.text))

    @property
    def several(self) -> bool:
        """Whether it goes over several machines by itself."""
        return bool(_SEVERAL.search(self.text))

    @property
    def upgrades(self) -> bool:
        """Whether it changes the version of Kubernetes or of etcd."""
        return bool(_UPGRADES.search(self.text))

    @property
    def backs_up(self) -> bool:
        """Whether it saves a copy of etcd's data."""
        return bool(_BACKS_UP.search(self.text))


def commands(resources: Iterable[Resource]) -> tuple[Command, ...]:
    """Every command among these resources."""
    return tuple(Command(resource) for resource in resources if resource.type in (REMOTE, LOCAL))
