"""The stack of a lab, and the images that its machines need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commands import drill, lab_stack, machine_lab
from files import atomic
from toolchain.progress import UserError

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
    assert machine_lab.images_of(tmp_path) == {"registry.example/wait:1", "registry.example/main:1"}


def test_what_the_stack_file_says_wins_over_the_host() -> None:
    given: dict[str, Any] = {
        "nova": {"options": {"nova.conf": {"libvirt": {"virt_type": "kvm"}, "DEFAULT": {"debug": True}}}}
    }
    host: dict[str, Any] = {
        "nova": {"options": {"nova.conf": {"libvirt": {"virt_type": "qemu"}}}},
        "neutron": {"options": {}},
    }
    assert lab_stack.merged(host, given) == {**given, "neutron": {"options": {}}}


def test_a_drill_needs_a_server_or_all(tmp_path: Path) -> None:
    for server, every in (("", False), ("virt1", True)):
        with pytest.raises(UserError, match="Write which server loses its power: SERVER=virt1, or ALL=1"):
            drill.start(tmp_path, "dev", server, every=every)


def test_the_lab_s_stack_has_its_own_name() -> None:
    """So that the state of the rendered stack stays as it is."""
    assert lab_stack.name_of("dev") == "dev-cloud"
