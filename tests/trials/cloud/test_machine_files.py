"""What a machine has before its `apply` runs, and the scripts that start it."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.trials import lab_stack
from tests.components.machine.test_directory import shellcheck
from tests.stacks import STACKS
from trials.cloud import bring_up, cgroups, image_store, node_files
from trials.cloud.lab_machines import Lab, LabMachine, lab_of

SCRIPTS = Path(node_files.__file__).parent
OVERLAY = "etc/quorate-lab/overlay.sh"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = lab_of("dev", plan(load_file(STACKS["dev"])), tmp_path / "rendered")
    machines = (replace(each, directory=tmp_path / each.name) for each in made.machines)
    return replace(made, machines=tuple(machines))


@pytest.fixture
def upper(lab: Lab) -> Path:
    """The upper directory of database1."""
    database = lab.machine("database1")
    node_files.write(lab, database, "registry.example/pause:1")
    return database.directory / "upper"


def tunnelled(tmp_path: Path, name: str) -> Path:
    """The upper directory of a machine of a stack with a network of tunnels."""
    made = lab_of("two-computes-ovn", plan(load_file(STACKS["two-computes-ovn"])), tmp_path / "rendered")
    machine = replace(made.machine(name), directory=tmp_path / name)
    node_files.write(made, machine, "registry.example/pause:1")
    return machine.directory / "upper"


def test_scripts_have_no_finding(tmp_path: Path, upper: Path) -> None:
    scripts = {path.name: path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.sh")}
    assert len(scripts) == 2
    scripts["kubeadm"] = (upper / "usr/local/bin/kubeadm").read_text(encoding="utf-8")
    scripts["container"] = "#!/bin/sh\n" + (upper / "etc/quorate-lab/container.sh").read_text(encoding="utf-8")
    scripts["overlay"] = "#!/bin/sh\n" + (tunnelled(tmp_path, "cmp2") / OVERLAY).read_text(encoding="utf-8")
    assert shellcheck(tmp_path, scripts) == ""


def test_a_machine_sets_the_address_of_its_tunnels_on_the_bridge(tmp_path: Path) -> None:
    upper = tunnelled(tmp_path, "cmp2")
    assert "ip address replace 10.21.0.62/24 dev br-ex &&" in (upper / OVERLAY).read_text(encoding="utf-8")
    wanted = upper / "etc/systemd/system/multi-user.target.wants/quorate-overlay.service"
    assert (wanted.parent / wanted.readlink()).is_file()


def test_a_machine_without_tunnels_has_no_unit_for_their_address(tmp_path: Path) -> None:
    upper = tunnelled(tmp_path, "storage1")
    assert not (upper / OVERLAY).exists()
    assert not list((upper / "etc/systemd/system").rglob("quorate-overlay*"))


def test_every_machine_knows_all_others(lab: Lab, upper: Path) -> None:
    hosts = (upper / "etc/hosts").read_text(encoding="utf-8").splitlines()
    assert {f"{each.address} {each.name}" for each in lab.machines} < set(hosts)


def test_memory_that_kubelet_keeps_is_added(lab: Lab, upper: Path) -> None:
    """Allocatable is then what the plan counts with."""
    patch = yaml.safe_load((upper / "etc/kubernetes/patches/kubeletconfiguration1+merge.yaml").read_text("utf-8"))
    assert patch["evictionHard"]["memory.available"] == f"{node_files.EVICTION}Mi"
    shown = int((upper / "etc/quorate-lab/memory").read_text(encoding="utf-8"))
    assert shown // 1024 - node_files.EVICTION == lab.machine("database1").capacity.memory * 1024


@pytest.mark.parametrize("is_v2", [True, False])
def test_kubelet_and_containerd_have_the_same_driver(lab: Lab, monkeypatch: pytest.MonkeyPatch, *, is_v2: bool) -> None:
    """With cgroup v2 only it is the rendered one."""
    monkeypatch.setattr(cgroups, "is_v2", lambda: is_v2)
    machine = lab.machines[0]
    node_files.write(lab, machine, "registry.example/pause:1")
    etc = machine.directory / "upper/etc"
    patch = yaml.safe_load((etc / "kubernetes/patches/kubeletconfiguration1+merge.yaml").read_text("utf-8"))
    assert patch.get("cgroupDriver") == (None if is_v2 else "cgroupfs")
    assert patch.get("failCgroupV1") == (None if is_v2 else False)
    containerd = tomllib.loads((etc / "containerd/config.toml").read_text("utf-8"))
    runc = containerd["plugins"]["io.containerd.grpc.v1.cri"]["containerd"]["runtimes"]["runc"]
    assert runc["options"]["SystemdCgroup"] is is_v2


def test_with_calico_the_first_master_has_its_manifest(lab: Lab, tmp_path: Path) -> None:
    """No machine of the lab reaches a mirror; `apply` takes the file that it has."""
    text = "kind: List\n"
    (tmp_path / "calico/manifests").mkdir(parents=True)
    (tmp_path / "calico/manifests/calico.yaml").write_text(text, encoding="utf-8")
    connected = replace(lab, calico=tmp_path / "calico")
    for machine in connected.masters:
        node_files.write(connected, machine, "registry.example/pause:1")
    digest = lab_stack.pods_network(connected.calico)["quorate:calico"]["manifest"]["sha256"]
    assert digest == hashlib.sha256(text.encode()).hexdigest()
    path = f"upper/etc/kubernetes/calico/calico-{digest[:12]}.yaml"
    assert [(machine.directory / path).exists() for machine in connected.masters] == [True, False, False]
    assert not list((connected.masters[0].directory / "upper/etc/cni").rglob("*"))


def test_pods_get_addresses_of_their_machine(lab: Lab, upper: Path) -> None:
    network = json.loads((upper / "etc/cni/net.d/10-quorate.conflist").read_text(encoding="utf-8"))
    assert network["plugins"][0]["ipam"]["ranges"] == [[{"subnet": str(lab.machine("database1").pods)}]]


def test_kubelet_waits_for_its_configuration(upper: Path) -> None:
    """Without it, kubelet would restart again and again before the machine joins."""
    unit = (upper / "etc/systemd/system/kubelet.service").read_text(encoding="utf-8")
    assert "ConditionPathExists=/var/lib/kubelet/config.yaml" in unit


def test_nothing_that_apply_writes_is_there_before(upper: Path) -> None:
    assert not (upper / "etc/etcd").exists()
    assert {path.name for path in (upper / "etc/kubernetes").iterdir()} == {"patches"}


def test_a_store_is_shared_without_its_layers(tmp_path: Path) -> None:
    store, layers = tmp_path / "store", "io.containerd.snapshotter.v1.overlayfs"
    (store / layers / "snapshots/1/fs/etc").mkdir(parents=True)
    (store / layers / "snapshots/1/fs/etc/conf.db").write_text("a layer's own file")
    (store / layers / "metadata.db").write_text("snapshots")
    (store / "content").mkdir()
    (store / "content/blob").write_text("blob")
    machine = tmp_path / "machine"
    image_store.link(store, machine, "/opt/quorate/store")
    assert (machine / layers / "snapshots/1/fs").readlink() == Path(f"/opt/quorate/store/{layers}/snapshots/1/fs")
    assert (machine / "content/blob").stat().st_ino == (store / "content/blob").stat().st_ino
    (machine / layers / "metadata.db").write_text("changed by the machine's containerd")
    assert (store / layers / "metadata.db").read_text() == "snapshots"


def test_a_node_that_is_missing_or_not_ready_is_named(lab: Lab) -> None:
    def node(machine: LabMachine, status: str) -> dict[str, object]:
        return {"metadata": {"name": machine.name}, "status": {"conditions": [{"type": "Ready", "status": status}]}}

    first, second, *others = lab.machines
    found = [node(first, "False"), *(node(each, "True") for each in others)]
    assert bring_up.not_ready(lab, found) == [first.name, second.name]
