"""The stack of a lab, and the images that its machines need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.trials import drill, lab_commands, lab_stack
from commands.trials.drill import DrillRequest
from console.errors import UserError
from files import atomic
from tests.stacks import ROOT, STACKS
from trials.cloud.lab_machines import Lab, lab_of

MANIFEST = """\
kind: CronJob
spec:
  jobTemplate:
    spec:
      template:
        spec:
          initContainers: [{name: wait, image: registry.example/wait:1}]
          containers: [{name: main, image: registry.example/main:1}]
---
kind: ConfigMap
data: {image: registry.example/not-an-image:1}
"""


def test_images_of_every_container_are_found(tmp_path: Path) -> None:
    atomic.write(tmp_path / "manifests/1-manifest/job.yaml", MANIFEST)
    assert lab_commands.images_of(tmp_path) == {"registry.example/wait:1", "registry.example/main:1"}


def test_what_the_stack_file_says_wins_over_the_host() -> None:
    given: dict[str, Any] = {
        "nova": {"options": {"nova.conf": {"libvirt": {"virt_type": "kvm"}, "DEFAULT": {"debug": True}}}}
    }
    host: dict[str, Any] = {
        "nova": {"options": {"nova.conf": {"libvirt": {"virt_type": "qemu"}}}},
        "neutron": {"options": {}},
    }
    assert lab_stack.merged(host, given) == {**given, "neutron": {"options": {}}}


@pytest.mark.parametrize(
    ("server", "kind", "replaced", "every"),
    [
        ("", "", "", False),
        ("virt1", "", "", True),
        ("virt1", "drains", "", False),
        ("", "drains", "", True),
        ("", "drains", "master2", False),
        ("", "", "master2", True),
    ],
)
def test_a_drill_is_of_a_server_or_a_kind_or_a_replacement_or_all(
    tmp_path: Path, server: str, kind: str, replaced: str, every: bool
) -> None:
    with pytest.raises(UserError, match="Write what to do: SERVER=virt1"):
        drill.start(tmp_path, "dev", DrillRequest(server, kind, (replaced,) if replaced else (), every))


@pytest.mark.parametrize(
    ("stack", "wanted", "message"),
    [
        ("dev", DrillRequest("virt9"), "The lab has no server virt9; it has virt1, virt2, virt3."),
        (
            "three-servers",
            DrillRequest(replaced=("cmp1",)),
            "cmp1 is the only compute: its instances can run nowhere else.",
        ),
        (
            "three-servers",
            DrillRequest(replaced=("controller2", "cmp1")),
            "cmp1: a compute, whose instances are evacuated, is replaced by itself.",
        ),
        (
            "dev",
            DrillRequest(kind="flood"),
            "flood is not a kind of drill; write one of rollout, drains, option, etcd-authority, "
            "kubernetes-authority, reboots, computes, evacuation, blackout.",
        ),
    ],
)
def test_a_drill_that_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: str, wanted: DrillRequest, message: str
) -> None:
    lab = lab_of(stack, plan(load_file(STACKS[stack])), tmp_path)

    def existing(_root: Path, _name: str, _plan: Plan) -> Lab:
        return lab

    monkeypatch.setattr(lab_commands, "existing", existing)
    with pytest.raises(UserError, match=re.escape(message)):
        drill.start(ROOT, stack, wanted)


def test_the_lab_s_stack_has_its_own_name() -> None:
    """So that the state of the rendered stack stays as it is."""
    assert lab_stack.name_of("dev") == "dev-cloud"
