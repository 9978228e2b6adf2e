"""Disks of storage nodes: sparse files as loop devices, which Ceph's OSDs use without LVM."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.objects import listed, name, text
from console.errors import UserError
from console.programs import run
from trials.cloud import masters, nspawn
from trials.cloud.lab_machines import DIRECTORY, Lab, LabMachine

SIZE = 16 * 2**30
"""Bytes of a disk; its file is sparse. Project figure: three copies of a small image and a few volumes."""
DEVICE = "/dev/ceph-osd-0"
"""Name by which the OSD's pod finds the device (openstack/scripts/ceph_osd.sh)."""
PAUSE = 5.0
"""Seconds between two looks for pods whose disk is not prepared."""
_DIRECTORY = DIRECTORY / "disks"


def attach(machine: LabMachine) -> None:
    """Makes a machine's disk a device of the machine. The file, and so its data, outlives the machine's restart."""
    _DIRECTORY.mkdir(exist_ok=True)
    file = _DIRECTORY / machine.name
    if not file.exists():
        with file.open("xb") as disk:
            disk.truncate(SIZE)
    device = _device(file) or run(["losetup", "--find", "--show", file])[-1].strip()
    number = Path(device).name.removeprefix("loop")
    script = f"[ -b {device} ] || mknod {device} b 7 {number}; ln -sfn {device} {DEVICE}"
    done = nspawn.run_in(machine, ["sh", "-c", script])
    if done.returncode:
        raise UserError(f"{machine.name} got no disk: {done.stderr.strip()}")


def discard(machine: LabMachine) -> None:
    """Removes the disk of a machine without power. It gets an empty one when it starts."""
    file = _DIRECTORY / machine.name
    _detach(file)
    file.unlink()


def remove() -> None:
    """Detaches the devices of all disks."""
    for file in _DIRECTORY.glob("*"):
        _detach(file)


def _detach(file: Path) -> None:
    if device := _device(file):
        run(["losetup", "--detach", device])


@contextmanager
def prepared(lab: Lab) -> Generator[None]:
    """Prepares new disks in the pods of their nodes, as an operator does while an `up` waits for them."""
    ended = threading.Event()

    def watch() -> None:
        done: set[str] = set()
        while not ended.wait(PAUSE):
            for pod in _pods(lab):
                if pod.node not in done and _prepare(lab, pod):
                    done.add(pod.node)

    thread = threading.Thread(target=watch, name="disks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@dataclass(frozen=True)
class _Pod:
    name: str
    namespace: str
    node: str


def _pods(lab: Lab) -> list[_Pod]:
    """Returns the OSDs' pods that run."""
    words = ["get", "pods", "--all-namespaces", "--selector=app.kubernetes.io/name=ceph-osd", "--output=json"]
    done = masters.kubectl(lab, *words)
    pods = listed(json.loads(done.stdout), "items") if done.returncode == 0 else []
    return [
        _Pod(name(pod), text(pod, "metadata", "namespace"), text(pod, "spec", "nodeName"))
        for pod in pods
        if text(pod, "status", "phase") == "Running"
    ]


def _prepare(lab: Lab, pod: _Pod) -> bool:
    """Prepares the disk of a pod's node, if it is not prepared; returns whether it is prepared."""
    script = (
        f"disk=$(readlink -f {DEVICE}) && "
        '[ "$(ceph-volume raw list "$disk" | tr -d "[:space:]")" != "{}" ] || '
        'CEPH_VOLUME_ALLOW_LOOP_DEVICES=1 ceph-volume raw prepare --bluestore --data "$disk"'
    )
    command = ["--namespace", pod.namespace, "exec", pod.name, "--", "sh", "-c", script]
    return masters.kubectl(lab, *command).returncode == 0


def _device(file: Path) -> str | None:
    done = subprocess.run(["losetup", "--associated", file], capture_output=True, text=True, check=True)
    return done.stdout.partition(":")[0].strip() or None
