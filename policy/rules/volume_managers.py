"""Managers of volumes: each volume has one instance of cinder-volume at a time."""

from __future__ import annotations

import configparser
from collections.abc import Iterator, Mapping

from policy.facts.kubernetes.configuration import COMMAND, read_by, sections, written
from policy.facts.kubernetes.workload import Workload
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

_SERVICE, _FILE = "cinder-volume", "cinder.conf"
_BY_LEASE = "one_manager run"
"""Part of a command that runs cinder-volume only while its pod holds a Lease (openstack/scripts/one_manager)."""
_HOST_VARIABLE = "OS_DEFAULT__HOST"
_LOCAL = "file://$state_path"
"""Cinder's default of backend_url: files of the instance's own."""
_UNSAFE: Mapping[str, str] = {
    "file": "are files of each instance",
    "memcached": "may be lost at any time",
}
"""Schemes of backend_url that do not keep two instances apart, and why not."""


def _instances(facts: Facts, workload: Workload) -> int:
    return len(facts.eligible(workload)) if workload.replicas is None else workload.replicas


def _has_several(facts: Facts, workload: Workload) -> bool:
    if facts.service(workload) != _SERVICE or not workload.is_long_running or _instances(facts, workload) < 2:
        return False
    return any(_FILE in each.files for each in read_by(workload, facts.config_maps))


@rule(
    id="one-manager-per-volume",
    title="Each volume is managed by one instance of cinder-volume at a time",
    severity=Severity.HIGH,
    rationale="Instances with one host name are one service to Cinder. One that starts takes over the unfinished work "
    "of the others: volumes that are being made become `error`. Two instances may also change one volume at once, "
    "because each has locks of its own.",
    sources=(RuleSource("004", "5.3.10", 16),),
    remediation="Run cinder-volume by openstack/scripts/one_manager, so that the pod that holds the Lease is the only "
    "one. Or give each instance a host of its own (no backend_host), a common `cluster` in section [DEFAULT], and a "
    "backend_url in [coordination] that all instances reach, such as etcd3+http.",
    subjects=lambda facts: facts.workloads,
    applies=_has_several,
    not_applicable_reason="no cinder-volume has several instances",
    since="0.7.0",
)
def one_manager_per_volume(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reads hosts, cluster and locks in cinder.conf, and whether the command runs under a Lease.

    Instances that have hosts of their own and no cluster have volumes of their own.
    """
    texts = [config.files[_FILE] for config in read_by(workload, facts.config_maps) if _FILE in config.files]
    options = sections("\n".join(texts))
    if hosts := sorted(_shared_hosts(options, workload)):
        # Kolla's config.json has the command of a container. Other files may be the program itself.
        commands = [each for each in written(workload, facts.config_maps) if each.name in (COMMAND, "config.json")]
        if not any(_BY_LEASE in each.read() for each in commands):
            count = _instances(facts, workload)
            yield RuleProblem(f"{count} instances share the host {join_names(hosts)}", "one at a time, by a Lease")
        return
    cluster = options.get("DEFAULT", "cluster", fallback="")
    url = options.get("coordination", "backend_url", fallback=None) or _LOCAL
    if cluster and (why := _UNSAFE.get(url.partition(":")[0])):
        yield RuleProblem(
            f"the locks of the cluster {cluster} {why} ({url})",
            "a backend_url that all instances reach and that keeps locks, such as etcd3+http",
        )


def _shared_hosts(options: configparser.ConfigParser, workload: Workload) -> set[str]:
    """Returns the host names that all instances have in common. The variable of each container overrides `host`."""
    backends = (options.get("DEFAULT", "enabled_backends", fallback="") or "").split(",")
    found = {options.get(each.strip(), "backend_host", fallback="") or "" for each in backends}
    containers = workload.pod.at("containers").items()
    names = {each.at("name").text() for container in containers for each in container.at("env").items()}
    if _HOST_VARIABLE not in names:
        found.add(options.get("DEFAULT", "host", fallback="") or "")
    return found - {""}
