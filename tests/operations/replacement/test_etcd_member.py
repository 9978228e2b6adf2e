"""A dead machine's member of etcd is removed over SSH, on a machine whose member takes part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.plan.plan import Plan
from console.errors import UserError
from operations.living.cloud import LivingCloud
from operations.replacement import etcd_member
from tests.operations.living.living_cloud import living
from tests.operations.maintenance.small_cloud import PLAN

DEAD = PLAN.members[0]


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a program `ssh` that runs what it gets, but for the addresses in the file `refuses`."""
    (tmp_path / "refuses").touch()
    program = tmp_path / "ssh"
    program.write_text(
        f'#!/bin/sh\nfor word; do\n  if grep -qxF -e "$word" {tmp_path}/refuses; then\n'
        f'    echo "Connection refused" >&2\n    exit 255\n  fi\ndone\necho "$*" >>{tmp_path}/asked\nexec sh -s\n'
    )
    (tmp_path / "sudo").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    for name in ("ssh", "sudo"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


def etcdctl(directory: Path, text: str) -> None:
    (directory / "etcdctl").write_text(f"#!/bin/sh\n{text}\n")
    (directory / "etcdctl").chmod(0o755)


def forget(cloud: LivingCloud, plan: Plan = PLAN) -> str:
    return etcd_member.forget(plan, cloud, DEAD)


def test_the_first_machine_that_can_be_asked_does_it(ssh: Path) -> None:
    etcdctl(ssh, 'echo "1, started, x, https://10.0.0.9:2380, https://10.0.0.9:2379, false"')
    cloud = living(PLAN, {DEAD.name: "no answer"})
    assert forget(cloud) == f"etcd lists no member at https://{DEAD.address}:2380"
    assert f" {PLAN.members[1].address} " in (ssh / "asked").read_text()
    (ssh / "refuses").write_text(f"{PLAN.members[1].address}\n")
    forget(cloud)
    assert f" {PLAN.members[2].address} " in (ssh / "asked").read_text().splitlines()[1]
    (ssh / "refuses").write_text("".join(f"{node.address}\n" for node in PLAN.members))
    with pytest.raises(UserError, match=r"member of master1 was not removed from etcd: master3 was not asked: noth"):
        forget(cloud)


def test_a_member_that_takes_no_part_is_not_asked(ssh: Path) -> None:
    etcdctl(ssh, "exit 1")
    with pytest.raises(UserError, match="was not removed from etcd: no other member takes part"):
        forget(living(PLAN, dict.fromkeys((node.name for node in PLAN.members), "no answer")))
    assert not (ssh / "asked").exists()


def test_a_refusal_is_named(ssh: Path) -> None:
    etcdctl(ssh, "exit 1")
    with pytest.raises(UserError, match="on master2: etcd has no majority: it gave no list of its members"):
        forget(living(PLAN, {DEAD.name: "no answer"}))


def test_the_dead_machine_is_never_asked(ssh: Path) -> None:
    etcdctl(ssh, "exit 1")
    cloud = living(PLAN)
    first = replace(cloud.quorums[0], members=cloud.quorums[0].members[:1])
    with pytest.raises(UserError, match="no other member takes part"):
        forget(replace(cloud, quorums=(first, *cloud.quorums[1:])))
