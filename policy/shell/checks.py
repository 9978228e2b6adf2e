"""Recognizes quorum checks in shell text: programs that fail if a quorum is unhealthy, drains that respect budgets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from policy.shell.arguments import Arguments, arguments
from policy.shell.flow import Checked, Exits, plain
from policy.shell.syntax import ASKED

KUBECTL_VALUED = frozenset(
    {
        *("-n", "--namespace", "--context", "--kubeconfig", "-s", "--server", "--cluster", "--user", "--as", "--token"),
        *("-l", "--selector", "-o", "--output", "-f", "--filename", "-k", "--kustomize", "-p", "--patch", "--type"),
        *("--timeout", "--request-timeout", "--grace-period", "--field-selector", "--replicas", "-c", "--container"),
        *("--cache-dir", "--certificate-authority", "--client-key", "--client-certificate", "--pod-selector", "--for"),
    }
)
ETCDCTL_VALUED = frozenset(
    {
        *("--endpoints", "--cacert", "--cert", "--key", "--user", "--password", "--command-timeout", "--dial-timeout"),
        *("--data-dir", "--name", "--initial-cluster", "--initial-advertise-peer-urls", "-w", "--write-out"),
        *("--initial-cluster-token", "--wal-dir", "--cluster-id"),
    }
)
RABBIT_VALUED = frozenset({"-n", "--node", "-t", "--timeout", "-p", "--vhost", "--erlang-cookie"})
CEPH_VALUED = frozenset(
    {"-c", "--conf", "-k", "--keyring", "-n", "--name", "--id", "-m", "-f", "--format", "--cluster"}
)

_NOT_EQUAL = frozenset({"!=", "-ne", "-lt", "-le", "-z"})
_WSREP = re.compile(r"wsrep_(cluster_status|cluster_size|local_state\w*|ready|evs_state)", re.I)


def is_check(words: Sequence[str]) -> bool:
    """Whether a program is a quorum check: it fails or reports an error if a quorum is unhealthy.

    `words`: the program and its arguments.
    """
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name in ("mysql", "mariadb"):
        return bool(_WSREP.search(" ".join(rest)))
    if name not in _PROGRAMS:
        return False
    valued, asks = _PROGRAMS[name]
    return asks(arguments(rest, valued))


def is_past_budgets(drain: Arguments) -> bool:
    """Whether a call of `kubectl drain` deletes pods instead of evicting them, and so ignores disruption budgets."""
    return drain.has("--disable-eviction") or (drain.has("--force") and drain.value("--grace-period") == "0")


def _etcdctl(given: Arguments) -> bool:
    return given.operands[:2] in (("endpoint", "health"), ("endpoint", "status"), ("member", "list")) or (
        given.verb == "cluster-health"
    )


def _rabbit(given: Arguments) -> bool:
    return given.verb == "cluster_status" or given.verb.startswith(("check_", "await_"))


def _ceph(given: Arguments) -> bool:
    asked = given.verb in ("quorum_status", "health", "status") or "ok-to-stop" in given.operands
    return asked or given.operands[:2] == ("mon", "stat") or (given.has("-s") and not given.operands)


def _kubectl(given: Arguments) -> bool:
    if given.verb == "drain":
        return not is_past_budgets(given)
    return given.verb == "wait" or given.operands[:2] == ("rollout", "status")


_PROGRAMS: Mapping[str, tuple[frozenset[str], Callable[[Arguments], bool]]] = {
    "etcdctl": (ETCDCTL_VALUED, _etcdctl),
    "rabbitmqctl": (RABBIT_VALUED, _rabbit),
    "rabbitmq-diagnostics": (RABBIT_VALUED, _rabbit),
    "rabbitmq-queues": (RABBIT_VALUED, _rabbit),
    "rabbitmq-upgrade": (RABBIT_VALUED, _rabbit),
    "ceph": (CEPH_VALUED, _ceph),
    "kubectl": (KUBECTL_VALUED, _kubectl),
    "oc": (KUBECTL_VALUED, _kubectl),
}


def tested(words: Sequence[str], checked: Checked) -> Exits:
    """Returns how `[ … ]` with these words can end. `checked`: whether a quorum check has succeeded before.

    If the test compares a quorum check's output, its success means a healthy quorum, or its failure if it is negated.
    """
    if checked is None or not any(ASKED in word for word in words):
        return plain(checked)
    negated = bool(_NOT_EQUAL & set(words)) is not ("!" in words)
    return Exits(checked, True) if negated else Exits(True, checked)
