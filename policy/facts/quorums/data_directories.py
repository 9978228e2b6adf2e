"""Reads where members of a quorum keep their data, by explicit settings, and whether a volume is there.

A directory that is not set is that of the image, which a preview cannot know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from policy.facts.kubernetes.configuration import COMMAND, Written, written
from policy.facts.kubernetes.workload import Workload
from policy.facts.stack import Facts
from policy.properties import Properties

_VARIABLES = frozenset(
    {
        *("ETCD_DATA_DIR", "ETCD_WAL_DIR", "RABBITMQ_MNESIA_BASE", "RABBITMQ_MNESIA_DIR", "PGDATA"),
        *("ZOO_DATA_DIR", "ZOO_DATA_LOG_DIR", "MYSQL_DATADIR", "MARIADB_DATADIR", "CONSUL_DATA_DIR"),
    }
)
_SETTINGS = re.compile(
    r"""(?:^|[\s"'])(?:--?)?(data[-_.]dir|wal[-_]dir|datadir|innodb[-_]log[-_]group[-_]home[-_]dir|innodb[-_]data[-_]home[-_]dir|"""
    r"""innodb[-_]undo[-_]directory|dataDir|dataLogDir|path\.data|db[pP]ath|mon[ _]data)"""
    r"""[ \t]*(?:[=:][ \t]*|[ \t]+)["']?(/[^\s"',;]*)""",
    re.MULTILINE,
)
"""Options of etcd, MariaDB, ZooKeeper, OpenSearch, MongoDB, Consul and Ceph that name directories of data."""
_COMMENT = re.compile(r"^\s*[#;].*$", re.MULTILINE)


@dataclass(frozen=True)
class MemberDirectory:
    """A directory in which members keep data."""

    setting: str
    path: str


def data_directories(facts: Facts, workload: Workload) -> Iterator[MemberDirectory]:
    """Yields the directories that a workload's configuration names."""
    for each in written(workload, facts.config_maps):
        yield from _of(each)


def _of(each: Written) -> Iterator[MemberDirectory]:
    if each.name in _VARIABLES:
        path = each.read()
        if path.startswith("/"):
            yield MemberDirectory(each.name, path)
    elif each.name == COMMAND or "." in each.name:
        yield from (MemberDirectory(*found) for found in _SETTINGS.findall(_COMMENT.sub("", each.read())))


def kept_directories(workload: Workload) -> tuple[str, ...]:
    """Returns the directories in which a workload's containers mount volumes that outlive their pods."""
    pod = workload.pod
    kept = {each.at("metadata", "name").text() for each in workload.claim_templates}
    kept |= {each.at("name").text() for each in pod.at("volumes").items() if _outlives(each)}
    mounts = (mount for container in pod.at("containers").items() for mount in container.at("volumeMounts").items())
    return tuple(mount.at("mountPath").text() for mount in mounts if mount.at("name").text() in kept)


def _outlives(volume: Properties) -> bool:
    return any(volume.at(kind).given() for kind in ("persistentVolumeClaim", "hostPath", "nfs", "csi", "iscsi", "rbd"))
