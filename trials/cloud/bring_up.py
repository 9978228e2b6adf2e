"""Starts a lab's machines, phase by phase. What exists already stays: the next run continues an interrupted one."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from cluster.objects import Object, holds, listed, name
from console.errors import UserError
from console.programs import run
from console.progress import Reporter
from toolchain import cluster_programs, debian_root
from trials.cloud import (
    calico_images,
    cgroups,
    control_images,
    disks,
    host,
    image_store,
    ingress_controller,
    masters,
    network,
    node_files,
    nspawn,
    power,
    ssh_access,
)
from trials.cloud.lab_machines import DIRECTORY, Lab, LabMachine

CONTEXT = "quorate-lab"
_RECORD = DIRECTORY / "lab.json"


@dataclass(frozen=True)
class Software:
    """Directories of what the machines run, all from the user's cache."""

    kubernetes: control_images.ImageSources
    machine: Path
    """Debian root of the machines."""
    archives: Sequence[Path]
    """Further OCI archives to import on every machine."""


@dataclass
class Phases:
    """The time of each phase in seconds."""

    reporter: Reporter
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    @contextmanager
    def phase(self, what: str) -> Generator[Callable[[str], None]]:
        """Reports a phase and its duration; yields a function that tells what is waited for."""
        started = time.monotonic()
        self.reporter.begin(what)
        yield self.reporter.tick
        self.reporter.end()
        self.seconds[what] = round(time.monotonic() - started, 1)


def bring_up(lab: Lab, archives: Sequence[Path], reporter: Reporter) -> dict[str, float]:
    """Starts the machines, whose Kubernetes their `apply` makes; returns the seconds of each phase.

    `archives`: further OCI archives to import on every machine. Raises UserError if something fails.
    """
    _require_same_stack(lab)
    if lab.calico:
        archives = [*archives, calico_images.made_from(calico_images.ensure(reporter))]
    software = Software(
        kubernetes=control_images.ImageSources(
            control=cluster_programs.ensure(reporter),
            node=cluster_programs.ensure(reporter, cluster_programs.NODE),
            network=debian_root.ensure(reporter, debian_root.NETWORK_IMAGES),
        ),
        machine=debian_root.ensure(reporter, debian_root.MACHINE),
        archives=archives,
    )
    phases = Phases(reporter)
    with phases.phase("Preparing images"):
        store = _images(lab, software)
    with phases.phase(f"Starting {len(lab.machines)} machines") as say:
        _start(lab, software, store, say)
    return phases.seconds


def take_down() -> None:
    """Stops all machines and removes every process, mount, namespace, cgroup and file of the lab."""
    for directory in sorted((DIRECTORY / "machines").glob("*")):
        nspawn.cut_power(directory)
    disks.remove()
    ingress_controller.stop()
    network.remove()
    host.restore_limits()
    host.remove_swap()
    if left := cgroups.remove():
        raise UserError(f"These cgroups still contain processes: {', '.join(map(str, left))}. Run this again.")
    for path in DIRECTORY.glob("*"):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "lock":
            path.unlink()


def recorded_stack() -> str | None:
    """Returns the stack of this host's lab; None if there is none."""
    return str(json.loads(_RECORD.read_text(encoding="utf-8"))["stack"]) if _RECORD.is_file() else None


def _require_same_stack(lab: Lab) -> None:
    """Raises UserError if a lab of another stack, or of other machines, is on this host."""
    facts = {"stack": lab.stack, "machines": {each.name: str(each.address) for each in lab.machines}}
    if _RECORD.is_file() and (found := json.loads(_RECORD.read_text(encoding="utf-8"))) != facts:
        raise UserError(
            f"A lab of stack {found['stack']} with {len(found['machines'])} machines is on this host; "
            "`make cloud-down` removes it."
        )
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    _RECORD.write_text(json.dumps(facts), encoding="utf-8")


def _images(lab: Lab, software: Software) -> Path:
    """Returns a containerd store with all images; makes it if this host does not have it."""
    nginx = _proxy_image(lab)
    sources = software.kubernetes
    paths = (sources.control, sources.node, sources.network, software.machine, *software.archives)
    digest = hashlib.sha256(json.dumps([*map(str, paths), nginx]).encode()).hexdigest()[:16]
    store = DIRECTORY / f"store-{digest}"
    _require_same_images(lab, store)
    if not store.is_dir():
        work = DIRECTORY / "archives"
        work.mkdir(exist_ok=True)
        control_images.write(work / "control.tar", sources, nginx)
        for archive in software.archives:
            run(["ln", "-f", archive, work / archive.name])
        names = ["control.tar", *(archive.name for archive in software.archives)]
        image_store.create(store, software.machine, [work / name for name in names])
        shutil.rmtree(work)
    return store


def _require_same_images(lab: Lab, store: Path) -> None:
    """Raises UserError if machines exist that have another store: each keeps the images that it was made with."""
    if any(_installed(machine).exists() for machine in lab.machines) and power.remembered()[1]["store"] != store:
        raise UserError(
            "The lab on this host was made with other images, and its machines keep them. Nothing was changed.\n"
            "Run `make cloud-down`, and then `make cloud` again."
        )


def _proxy_image(lab: Lab) -> str:
    """Returns the image of the rendered proxy to the API servers."""
    manifest = lab.workers[0].tree / "root/etc/kubernetes/manifests/api-proxy.yaml"
    return str(yaml.safe_load(manifest.read_text(encoding="utf-8"))["spec"]["containers"][0]["image"])


def _start(lab: Lab, software: Software, store: Path, say: Callable[[str], None]) -> None:
    host.raise_limits()
    host.add_swap()
    network.create(lab)
    programs = {"control": software.kubernetes.control, "node": software.kubernetes.node, "store": store}
    power.remember(software.machine, programs)
    pause = control_images.names(software.kubernetes.control)["pause"]
    for machine in lab.machines:
        if not nspawn.is_running(machine):
            _install(lab, machine, store, pause)
    power.switch_on(lab.machines, say)


def replace_disk(lab: Lab, machine: LabMachine) -> None:
    """Gives a machine without power an empty disk with a new host key, as a repaired server has."""
    _, programs = power.remembered()
    shutil.rmtree(machine.directory)
    _install(lab, machine, programs["store"], control_images.names(programs["control"])["pause"])


def _install(lab: Lab, machine: LabMachine, store: Path, pause: str) -> None:
    """Makes a machine's disk before its first start. A machine that was stopped keeps its own."""
    if _installed(machine).exists():
        return
    if machine.directory.is_dir():  # an interrupted installation
        shutil.rmtree(machine.directory)
    nspawn.prepare(machine)
    node_files.write(lab, machine, pause)
    ssh_access.authorize(machine)
    image_store.link(store, machine.directory / "containerd", f"{node_files.PROGRAMS}/store")
    _installed(machine).touch()


def _installed(machine: LabMachine) -> Path:
    """Returns the file that marks a machine's disk as complete."""
    return machine.directory / "installed"


def nodes(lab: Lab) -> list[Object]:
    """Returns the nodes as a running master reports them; none if no master answers."""
    done = masters.kubectl(lab, "get", "nodes", "--output=json", "--request-timeout=10s")
    return listed(json.loads(done.stdout), "items") if done.returncode == 0 else []


def not_ready(lab: Lab, found: Sequence[Object]) -> list[str]:
    """Returns the machines that should be Ready nodes and are not."""
    ready = {name(node) for node in found if holds(node, "Ready")}
    return [machine.name for machine in lab.nodes if machine.name not in ready]
