"""A stack of bare machines, which `quorate:prepare` makes nodes."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from blueprint.openstack.projects.records import own_records
from tests.engine.conftest import Project, open_project
from tests.trials.machines.bare_guest import BareGuest
from tests.trials.machines.site_services import Site
from tests.trials.machines.virt_network import Place
from trials.cloud import control_images

PLACE = Place("quorate-bare", "quorate-bare0", "10.76.0.1", "10.76.0.254")
NETWORK = "10.76.0.0/24"
MEMORY = 3
"""GiB of a machine in the stack file; kubelet and the kernel need half a GiB more."""
CORES = 2
"""kubeadm wants two of a master."""
_POD = {"requests": {"cpu": "10m", "memory": "32Mi"}}
"""The plan keeps room on the worker for the cloud's pods, which this trial does not start."""
_PODS = "10.77.0.0/16"


def config(servers: Iterable[dict[str, Any]], archives: Mapping[str, Mapping[str, str]], site: Site) -> dict[str, Any]:
    """Returns the settings of a stack on these servers, without their prefix."""
    return {
        "profile": "lab",
        "architecture": "100",
        "target": "live",
        "networks": {"management": NETWORK, "pods": _PODS, "services": "10.78.0.0/16"},
        "cni": "none",
        "prepare": {
            "programs": "archives",
            "archives": archives,
            "registries": dict.fromkeys(("registry.k8s.io", "docker.io"), site.url),
            "timeServers": [site.address],
            "proxy": site.url,
        },
        "servers": list(servers),
        "services": {name: {"resources": _POD} for name in _services()},
    }


def server(guest: BareGuest, roles: Sequence[str]) -> dict[str, Any]:
    """Returns a machine's entry in a stack file."""
    return {
        "name": guest.name,
        "address": guest.address,
        "hostKey": guest.host_key,
        "roles": list(roles),
        "cpu": CORES,
        "memory": MEMORY,
        "disks": [{"size": 40, "type": "hdd", "count": 1}],
    }


def write(path: Path, settings: dict[str, Any]) -> None:
    """Writes the stack file."""
    text = yaml.safe_dump({"config": {f"quorate:{key}": value for key, value in settings.items()}}, sort_keys=False)
    path.write_text(f"# bare machines\n{text}", encoding="utf-8")


def open_stack(directory: Path, variables: dict[str, str], file: Path) -> Project:
    """Opens a project of a stack file, whose program is the clone's without the cloud's objects.

    `variables`: by which the engine is found.
    """
    opened = open_project(directory, "bare", variables, file)
    program = directory / "__main__.py"
    program.rename(directory / "program.py")
    program.write_text(Path(__file__).with_name("bare_program.py").read_text(encoding="utf-8"), encoding="utf-8")
    return opened


def archives(control: Path, node: Path, machine: Path, site: Site) -> dict[str, dict[str, str]]:
    """Writes the archives that the machines download, and returns them as a stack file has them.

    `control`, `node`: programs of the toolchain. `machine`: a Debian root with the plugins of pods' networks.
    """
    for name, source in (("kubeadm", control), ("kubectl", node), ("kubelet", node)):
        (site.files / name).symlink_to(source / name)
    _pack(site.files / "etcd.tgz", (control / "etcd", node / "etcdctl", node / "etcdutl"))
    plugins = ("host-local", "loopback", "portmap", "ptp")
    _pack(site.files / "cni.tgz", (machine / "usr/lib/cni" / name for name in plugins))
    found = {path.stem: path for path in sorted(site.files.iterdir())}
    return {name: {"url": f"{site.url}/files/{path.name}", "sha256": _digest(path)} for name, path in found.items()}


def add_images(sources: control_images.ImageSources, nginx: str, site: Site, work: Path) -> None:
    """Puts Kubernetes' images, and the one of the workers' proxy, into the site's registry."""
    path = work / "images.tar"
    control_images.write(path, sources, nginx)
    site.add_images(path)
    path.unlink()


def pod_network(number: int) -> str:
    """Returns the configuration of a network of pods, which a stack with `cni: none` brings by itself."""
    ranges = [[{"subnet": f"10.77.{number}.0/24"}]]
    ipam = {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
    return json.dumps({"cniVersion": "1.0.0", "name": "site", "plugins": [{"type": "ptp", "ipam": ipam}]})


def _services() -> list[str]:
    records = own_records().by_name.values()
    return [process.name for record in records for process in record.processes]


def _pack(path: Path, files: Iterable[Path]) -> None:
    with tarfile.open(path, "w:gz", compresslevel=1) as target:
        for each in files:
            target.add(each, each.name)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
