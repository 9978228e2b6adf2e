"""The lab on a host with cgroup v2 only: a machine with a subtree of its own, and kubelet with the systemd driver."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.k8s_master.kubeadm import kubelet_configuration
from console.errors import UserError
from console.progress import Reporter
from tests import host_programs
from tests.stacks import STACKS
from tests.trials.machines import cgroups_program, emulated_host
from toolchain import cluster_programs, debian_root
from trials.cloud.images import archive
from trials.cloud.images.archive import Image, ImageLayer

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

LIMIT = 2400.0
"""Seconds from power on to power off."""


def test_a_machine_on_a_host_with_cgroup_v2_only(tmp_path: Path) -> None:
    host_programs.require(emulated_host.PROGRAMS, emulated_host.PACKAGES)
    try:
        root = debian_root.ensure(Reporter(), debian_root.EMULATED_HOST)
        machine = debian_root.ensure(Reporter(), debian_root.MACHINE)
    except UserError as reason:
        pytest.skip(str(reason))
    trial = tmp_path / "trial"
    emulated_host.stage(trial)
    add_software(trial, cluster_programs.ensure(Reporter(), cluster_programs.NODE))
    said = emulated_host.run(root, machine, trial, "cgroups_program", LIMIT)
    print(said)
    found: dict[str, Any] = {}
    for line in said.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
    assert "cgroup v2" in found["host"]
    assert "cgroupDriver" not in found["patched"], "the driver is the rendered one"
    assert found["driver"].splitlines() == ["cgroupDriver: systemd", "      SystemdCgroup = true"]
    for name in ("container", "pod"):
        assert found[name]["memory.max"] == str(cgroups_program.MEMORY)
        assert found[name]["cpu.max"] == cgroups_program.CPU
    assert int(found["all pods"]["memory.max"]) > 2**30
    assert found["path"].startswith("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod")
    assert found["runs after the cut"] is False
    assert "pod runs again after seconds" in found
    assert found["left"] == []


def add_software(trial: Path, programs: Path) -> None:
    """Adds kubelet with its rendered configuration, and the sandbox image as an archive."""
    rendered = kubelet_configuration(plan(load_file(STACKS["dev"])))
    (trial / "kubelet.yaml").write_text(yaml.safe_dump(rendered), encoding="utf-8")
    target, tree = trial / "programs", trial.parent / "pause"
    target.mkdir()
    tree.mkdir()
    shutil.copy2(programs / "kubelet", target)
    shutil.copy2(programs / "pause", tree)
    layer = trial.parent / "pause.layer"
    packed = ImageLayer(path=layer, **archive.pack(tree, layer))  # pyright: ignore[reportArgumentType]
    archive.write(target / "pause.tar", [Image(cgroups_program.PAUSE, [packed], {"Entrypoint": ["/pause"]})])
