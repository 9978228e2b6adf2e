"""Detects calls of cluster, database and hypervisor tools, such as kubectl, that may stop or damage quorum members.

Each reader gets a program's arguments and returns the effect in words, or "" if there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from policy.shell.arguments import Arguments, arguments
from policy.shell.checks import CEPH_VALUED, ETCDCTL_VALUED, KUBECTL_VALUED, RABBIT_VALUED
from policy.shell.effects_machine import LEAVES, STOPS, UPGRADES
from policy.shell.member_traces import in_data, is_container
from policy.shell.syntax import Unreadable, is_known

DRAINS = "drains or deletes a node"
DELETES_WORKLOAD = "deletes pods, workloads or their volumes"
SCALES = "changes the number of members"
MOVES = "changes where pods may run"
STOPS_VM = "stops or deletes a virtual machine"
DELETES = "deletes a member's data"
CHANGES = "changes a member's state in place"
SPLITS = "starts a second cluster"

_KINDS = {
    **dict.fromkeys(("node", "nodes", "no"), "node"),
    **dict.fromkeys(("pod", "pods", "po"), "pod"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts"), "statefulset"),
    **dict.fromkeys(("deployment", "deployments", "deploy"), "deployment"),
    **dict.fromkeys(("daemonset", "daemonsets", "ds"), "daemonset"),
    **dict.fromkeys(("persistentvolumeclaim", "persistentvolumeclaims", "pvc"), "claim"),
    **dict.fromkeys(("persistentvolume", "persistentvolumes", "pv"), "volume"),
    **dict.fromkeys(("namespace", "namespaces", "ns"), "namespace"),
    **dict.fromkeys(("poddisruptionbudget", "poddisruptionbudgets", "pdb"), "budget"),
    **dict.fromkeys(("customresourcedefinition", "customresourcedefinitions", "crd", "crds"), "definition"),
    "all": "all",
}
_DELETED = frozenset(_KINDS.values()) - {"node"}
_PLACING = re.compile(
    r"(quorate\.io|topology\.kubernetes\.io|node-role\.kubernetes\.io|failure-domain\.\S+|kubernetes\.io|"
    r"node\.kubernetes\.io|openstack\S*)(/|$|=|-)"
)
_SQL = re.compile(
    r"\b(drop\s+(database|schema|table)|truncate|shutdown|reset\s+master|"
    r"set\s+global\s+(wsrep_\w+|read_only|super_read_only)|pc\.bootstrap)\b",
    re.I,
)


def _kubectl(words: Sequence[str]) -> str:
    given = arguments(words, KUBECTL_VALUED)
    if not is_known(given.verb):
        raise Unreadable("what it does to the cluster is not known")
    reader = _KUBECTL.get(given.verb)
    return reader(given) if reader and given.value("--dry-run") in (None, "none") else ""


def _kinds(given: Arguments) -> set[str]:
    """Returns the kinds of objects in kubectl's operands, such as pod and claim for `delete pod,pvc -l app=x`.

    Kinds that are not in `_KINDS` are omitted. Raises Unreadable if the operand is not known.
    """
    if len(given.operands) < 2:
        return set()
    if not is_known(given.operands[1]):
        raise Unreadable("what it changes in the cluster is not known")
    words = [given.operands[1]] if "/" not in given.operands[1] else [each for each in given.operands if "/" in each]
    bare = {part.split("/")[0].split(".")[0].lower() for word in words for part in word.split(",")}
    return {_KINDS[part] for part in bare if part in _KINDS}


def _delete(given: Arguments) -> str:
    kinds = _kinds(given)
    if "node" in kinds:
        return DRAINS
    if (given.value("--field-selector") or "").startswith(("status.phase=Succeeded", "status.phase==Succeeded")):
        return ""
    if kinds & _DELETED:
        return DELETES_WORKLOAD
    if given.has("-f", "--filename", "-k", "--kustomize"):
        raise Unreadable("what it deletes is in a file")
    return ""


def _scale(given: Arguments) -> str:
    kinds = _kinds(given)
    named = any(is_container(name.rpartition("/")[2]) for name in given.operands[1:])
    return SCALES if "statefulset" in kinds or named or given.has("--all") else ""


def _label(given: Arguments) -> str:
    if "node" not in _kinds(given):
        return ""
    changes = [word for word in given.operands[2:] if "=" in word or word.endswith("-")]
    unknown = any(not is_known(word) for word in given.operands[2:])
    if any(word.endswith("-") or _PLACING.match(word) for word in changes) or (changes and given.has("--overwrite")):
        return MOVES
    if unknown and not changes:
        raise Unreadable("the label that it changes is not known")
    return ""


def _taint(given: Arguments) -> str:
    changes = [word for word in given.operands[2:] if ":" in word or word.endswith("-")]
    return MOVES if any(not word.endswith(":PreferNoSchedule") for word in changes) else ""


def _patch(given: Arguments) -> str:
    return SCALES if _kinds(given) & {"statefulset", "budget", "claim", "volume", "node"} else ""


def _replace(given: Arguments) -> str:
    return DELETES_WORKLOAD if given.has("--force") else ""


def _apply(given: Arguments) -> str:
    return DELETES_WORKLOAD if given.has("--prune") else ""


def _drain(_given: Arguments) -> str:
    return DRAINS


_KUBECTL: Mapping[str, Callable[[Arguments], str]] = {
    "drain": _drain,
    "delete": _delete,
    "scale": _scale,
    "label": _label,
    "taint": _taint,
    "patch": _patch,
    "edit": _patch,
    "replace": _replace,
    "apply": _apply,
}


def _kubeadm(words: Sequence[str]) -> str:
    given = arguments(words)
    if given.verb == "reset":
        return LEAVES
    return UPGRADES if given.verb == "upgrade" and given.operands[1:2] in (("apply",), ("node",)) else ""


def _helm(words: Sequence[str]) -> str:
    given = arguments(words, ("-n", "--namespace", "--kube-context", "--kubeconfig"))
    return DELETES_WORKLOAD if given.verb in ("uninstall", "delete", "del", "un") and not given.has("--dry-run") else ""


def _virsh(words: Sequence[str]) -> str:
    given = arguments(words, ("-c", "--connect"))
    if not is_known(given.verb):
        raise Unreadable("what it does to a virtual machine is not known")
    if given.verb in ("vol-delete", "vol-wipe", "pool-delete", "pool-destroy"):
        return DELETES
    verbs = ("destroy", "undefine", "shutdown", "reboot", "reset", "suspend", "managedsave", "save", "detach-disk")
    return STOPS_VM if given.verb in verbs else ""


def _openstack(words: Sequence[str]) -> str:
    given = arguments(words)
    if given.operands[:1] != ("server",):
        return ""
    return (
        STOPS_VM
        if given.operands[1:2] and given.operands[1] in ("delete", "stop", "reboot", "rebuild", "pause")
        else ""
    )


def _etcdctl(words: Sequence[str]) -> str:
    given = arguments(words, ETCDCTL_VALUED)
    if given.operands[:2] == ("member", "remove"):
        return LEAVES
    if given.operands[:2] == ("snapshot", "restore"):
        return DELETES if in_data(given.value("--data-dir") or "") else ""
    if given.verb in ("del", "rm", "rmdir"):
        key = [*given.operands[1:], ""][0]
        several = given.has("--prefix", "--from-key", "--recursive", "-r") or len(given.operands) > 2
        return DELETES if several or not is_known(key) or key.startswith("/registry") else ""
    return STOPS if given.verb == "defrag" else ""  # a member answers nothing until it is defragmented


def _etcd(words: Sequence[str]) -> str:
    return (
        SPLITS if any(word.startswith("--force-new-cluster") and not word.endswith("=false") for word in words) else ""
    )


_COPIES = ("size", "min_size", "osd_pool_default_size", "osd_pool_default_min_size")
_ONE_COPY = {*((each, "1") for each in _COPIES), ("osd_crush_chooseleaf_type", "0")}
"""Settings with which one disk has all copies of an acknowledged write."""


def _ceph(words: Sequence[str]) -> str:
    given = arguments(words, CEPH_VALUED)
    area, verb = [*given.operands, "", ""][:2]
    if (area, verb) == ("orch", "daemon") or (area, verb) == ("orch", "host"):
        return LEAVES if set(given.operands[2:3]) & {"rm", "stop", "restart", "drain", "redeploy"} else ""
    if area == "orch" and verb in ("stop", "restart", "rm", "redeploy"):
        return STOPS
    if area in ("mon", "osd", "mds", "mgr") and verb in ("rm", "remove", "purge", "destroy", "out", "down", "fail"):
        return LEAVES
    if given.operands[:3] == ("osd", "pool", "set") and given.operands[4:6] in _ONE_COPY:
        return CHANGES
    if (area, verb) == ("config", "set") and given.operands[3:5] in _ONE_COPY:
        return CHANGES
    deletes = (area, verb) in (("osd", "pool"), ("fs", "rm"), ("fs", "volume")) and {"delete", "rm"} & set(
        given.operands
    )
    return DELETES if deletes else ""


_OBJECTS = re.compile(r"/apis?/\S*/(persistentvolumes|persistentvolumeclaims|pods|statefulsets|namespaces)\b")


def _http(words: Sequence[str]) -> str:
    """Reader for curl and wget, of requests to the API server that delete members' objects."""
    deletes = any(re.fullmatch(r"(-X|--request=?|--method=?)?DELETE", word) for word in words)
    return DELETES_WORKLOAD if deletes and any(map(_OBJECTS.search, words)) else ""


def _rados(words: Sequence[str]) -> str:
    return DELETES if {"rmpool", "purge"} & set(arguments(words).operands) else ""


def _rabbit(words: Sequence[str]) -> str:
    verb = arguments(words, RABBIT_VALUED).verb
    if verb in ("stop", "stop_app", "shutdown", "drain"):
        return STOPS
    if verb in ("reset", "force_reset", "forget_cluster_node", "delete_member", "shrink"):
        return LEAVES if verb not in ("reset", "force_reset") else DELETES
    if verb == "force_boot":
        return SPLITS
    if verb == "eval" and "cluster_partition_handling" in " ".join(words):
        return CHANGES
    return DELETES if verb in ("delete_vhost", "delete_queue", "purge_queue") else ""


def _mysql(words: Sequence[str]) -> str:
    found = _SQL.search(" ".join(words))
    if not found:
        return ""
    said = found[0].lower()
    if "bootstrap" in said:
        return SPLITS
    return DELETES if said.startswith(("drop", "truncate", "reset")) else STOPS


def _mysqladmin(words: Sequence[str]) -> str:
    operands = arguments(words, ("-h", "-u", "-P", "-S")).operands
    return STOPS if "shutdown" in operands else DELETES if "drop" in operands else ""


def _mysqld(words: Sequence[str]) -> str:
    return SPLITS if {"--wsrep-new-cluster", "--wsrep-cluster-address=gcomm://"} & set(words) else ""


def _new_cluster(_words: Sequence[str]) -> str:
    return SPLITS


READERS: Mapping[str, Callable[[Sequence[str]], str]] = {
    **dict.fromkeys(("kubectl", "oc"), _kubectl),
    "kubeadm": _kubeadm,
    "helm": _helm,
    "virsh": _virsh,
    "openstack": _openstack,
    **dict.fromkeys(("etcdctl", "etcdutl"), _etcdctl),
    "etcd": _etcd,
    "ceph": _ceph,
    "rados": _rados,
    **dict.fromkeys(("rabbitmqctl", "rabbitmq-queues", "rabbitmq-upgrade"), _rabbit),
    **dict.fromkeys(("mysql", "mariadb"), _mysql),
    **dict.fromkeys(("mysqladmin", "mariadb-admin"), _mysqladmin),
    **dict.fromkeys(("mysqld", "mysqld_safe", "mariadbd"), _mysqld),
    "galera_new_cluster": _new_cluster,
    **dict.fromkeys(("curl", "wget"), _http),
}
