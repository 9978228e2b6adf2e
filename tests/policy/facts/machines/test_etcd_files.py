"""Tests of what among a machine's files runs a member of etcd."""

from __future__ import annotations

import pytest

from policy.facts.machines.etcd_files import runs_etcd

UNIT = "/etc/systemd/system/some.service"


@pytest.mark.parametrize(
    "command",
    [
        "/usr/bin/etcd",
        "-/opt/etcd/etcd --name a",
        "etcd",
        "/usr/bin/env etcd",
        "/bin/sh -c 'GOMAXPROCS=2 exec /usr/local/bin/etcd'",
        "/usr/bin/docker run --rm quay.io/coreos/etcd:v3.6.0 --name a",
        "/usr/bin/podman run image etcd",
    ],
)
def test_a_unit_runs_etcd(command: str) -> None:
    assert runs_etcd({UNIT: f"[Service]\nExecStart={command}\n"})


@pytest.mark.parametrize(
    "command",
    [
        "/usr/bin/systemctl try-restart etcd",
        "/usr/local/lib/quorate/backup-metrics etcd",
        "/usr/bin/find /var/lib/etcd -delete",
        "/usr/bin/etcdctl snapshot save /b.db",
    ],
)
def test_the_word_alone_runs_no_member(command: str) -> None:
    assert not runs_etcd({UNIT: f"[Service]\nExecStart={command}\n"})


def test_only_units_and_manifests_run() -> None:
    assert not runs_etcd({"/root/notes": "ExecStart=/usr/bin/etcd\n"})
    assert runs_etcd({"/etc/kubernetes/manifests/etcd.yaml": "    image: registry.k8s.io/etcd:3.6.16-0\n"})
