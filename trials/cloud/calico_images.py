"""Images of Calico under the names of its manifest: its own programs and start scripts, built from its Go module.

What is not Calico's: BIRD 2 of Debian with the lab's configuration, in place of Calico's BIRD 1 that confd configures,
and Debian's other plugins of the Container Network Interface.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from console.progress import Reporter
from toolchain import cluster_programs, debian_root
from trials.cloud.images import archive
from trials.cloud.images.archive import Image, ImageLayer
from trials.cloud.lab_machines import Lab, LabMachine

_MANIFEST = "manifests/calico.yaml"
BIRD = "var/lib/calico/bird.conf"
"""BIRD's configuration on a machine, below a directory that the manifest mounts."""
_AS_NUMBER = 64512
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PLUGINS = ("bandwidth", "host-local", "loopback", "portmap", "tuning")
"""Plugins that Calico's manifest or containerd name."""
_SERVICES = {
    "bird": f"exec bird -s /var/run/calico/bird.ctl -d -c /{BIRD}",
    "bird6": "exec sleep infinity",
    "confd": "exec sleep infinity",
}
"""Commands of the services that the image of calico-node runs in another way than Calico's."""
_CALICO_NODE = """\
#!/bin/sh
# Calico's own check does not read the answers of BIRD 2: at least one other node must be connected.
for flag; do
  shift
  case $flag in
  -bird-ready) birdcl -s /var/run/calico/bird.ctl show protocols | grep -q 'BGP.*Established' || exit 1 ;;
  *) set -- "$@" "$flag" ;;
  esac
done
exec /usr/lib/calico/calico-node "$@"
"""
_BIRD = """\
log stderr all;
router id {address};
protocol device {{ }}
protocol kernel {{
  learn;
  scan time 2;
  ipv4 {{
    import where net ~ [ {pods}+ ];
    export where source = RTS_BGP;
  }};
}}
"""
_PEER = """\
protocol bgp Mesh_{name} {{
  local {address} as {number};
  neighbor {peer} as {number};
  direct;
  connect delay time 1;
  error wait time 1, 5;
  ipv4 {{
    import all;
    export where net ~ [ {pods}+ ];
    next hop self;
    gateway direct;
  }};
}}
"""
_IMAGE = re.compile(r"^\s*(?:- )?image: (\S+/(cni|node|kube-controllers):\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class CalicoSources:
    """Directories that the images are made from."""

    calico: Path
    """Calico's programs, scripts and manifest."""
    debian: Path
    """Debian root with BIRD, iptables and runit."""
    machine: Path
    """Debian root of the machines, with the plugins of the Container Network Interface."""


def ensure(reporter: Reporter) -> CalicoSources:
    """Returns what the images are made from; builds what the cache does not have."""
    return CalicoSources(
        cluster_programs.ensure(reporter, cluster_programs.CALICO),
        debian_root.ensure(reporter, debian_root.CALICO_IMAGE),
        debian_root.ensure(reporter, debian_root.MACHINE),
    )


def made_from(sources: CalicoSources) -> Path:
    """Returns the archive of the images; makes it in the cache, beside Calico's programs, if it is not there."""
    facts = f"{sources} {Path(__file__).read_text(encoding='utf-8')}"
    path = sources.calico / f"images-{hashlib.sha256(facts.encode()).hexdigest()[:12]}.tar"
    if not path.exists():
        new = path.with_suffix(".new")
        write(new, sources)
        new.rename(path)
    return path


def manifest_source(calico: Path) -> dict[str, str]:
    """Returns a stack's source of the manifest, whose mirror nobody asks: the first master has the file."""
    return {"url": "http://mirror.test/calico.yaml", "sha256": _digest(_manifest(calico))}


def manifest_file(calico: Path) -> dict[str, str]:
    """Returns the file with the manifest, by its path on the first master, where `apply` looks for it."""
    text = _manifest(calico)
    return {f"etc/kubernetes/calico/calico-{_digest(text)[:12]}.yaml": text}


def _manifest(calico: Path) -> str:
    return (calico / _MANIFEST).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def names(manifest: str) -> dict[str, str]:
    """Returns the images of Calico's manifest, by the last part of their names."""
    return {kind: name for name, kind in _IMAGE.findall(manifest)}


def write(path: Path, sources: CalicoSources) -> None:
    """Writes the archive with the images that the manifest names."""
    named = names(_manifest(sources.calico))
    with tempfile.TemporaryDirectory(prefix="calico-", dir=path.parent) as scratch:
        work = Path(scratch)
        debian = _pack(work / "debian.layer", sources.debian)
        node = _pack(work / "node.layer", _node(work / "node", sources.calico))
        cni = _pack(work / "cni.layer", _cni(work / "cni", sources))
        controllers = _pack(work / "controllers.layer", _controllers(work / "controllers", sources.calico))
        archive.write(
            path,
            [
                Image(named["node"], (debian, node), _started_by("start_runit")),
                Image(named["cni"], (cni,), _started_by("/opt/cni/bin/install")),
                Image(named["kube-controllers"], (controllers,), _started_by("/usr/bin/kube-controllers")),
            ],
        )


def bird_configuration(lab: Lab, machine: LabMachine) -> str:
    """Returns BIRD's configuration on a machine: it exchanges the addresses of pods with every other node."""
    peers = (
        _PEER.format(
            name=str(each.address).replace(".", "_"),
            address=machine.address,
            peer=each.address,
            number=_AS_NUMBER,
            pods=lab.pods,
        )
        for each in lab.nodes
        if each != machine
    )
    return "".join((_BIRD.format(address=machine.address, pods=lab.pods), *peers))


def _node(tree: Path, calico: Path) -> Path:
    scripts = calico / "node" / "filesystem"
    shutil.copytree(scripts / "etc", tree / "etc")
    shutil.copytree(scripts / "sbin", tree / "usr" / "sbin")
    _copy(calico / "calico-node", tree / "usr/lib/calico/calico-node")
    (tree / "usr/bin").mkdir()
    (tree / "usr/bin/calico-node").write_text(_CALICO_NODE, encoding="utf-8")
    for name, command in _SERVICES.items():
        run = tree / "etc/service/available" / name / "run"
        run.write_text(f"#!/bin/sh\nexec 2>&1\n{command}\n", encoding="utf-8")
    for path in tree.rglob("*"):
        path.chmod(0o755)  # files of Go modules are never executable
    # calico-node asks BIRD by this path.
    (tree / "usr/bin/birdcl").symlink_to("/usr/sbin/birdcl")
    return tree


def _cni(tree: Path, sources: CalicoSources) -> Path:
    programs = tree / "opt/cni/bin"
    for source, name in (("install", "install"), ("calico", "calico"), ("calico", "calico-ipam")):
        _copy(sources.calico / source, programs / name)
    for name in _PLUGINS:
        _copy(sources.machine / "usr/lib/cni" / name, programs / name)
    return tree


def _controllers(tree: Path, calico: Path) -> Path:
    for name in ("kube-controllers", "check-status"):
        _copy(calico / name, tree / "usr/bin" / name)
    (tree / "status").mkdir()
    return tree


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _started_by(command: str) -> Mapping[str, object]:
    return {"WorkingDir": "/", "Env": [_PATH], "Cmd": [command]}


def _pack(path: Path, tree: Path) -> ImageLayer:
    return ImageLayer(path=path, **archive.pack(tree, path))  # pyright: ignore[reportArgumentType]
