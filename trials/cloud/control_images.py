"""Images of Kubernetes' own pods, under the names that kubeadm gives them: one program each, built from Go modules.

kube-proxy and nginx also need programs of Debian. With a container registry in reach, an operator's machines download
the upstream images instead.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.programs import run
from toolchain.cluster_programs import kubernetes_version
from trials.cloud.images import archive
from trials.cloud.images.archive import Image, ImageLayer

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CONTROL = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_ACCOUNTS = {"etc/passwd": "root:x:0:0::/:\n", "etc/group": "root:x:0:\n"}
_NGINX = """\
#!/bin/sh
# nginx -c FILE -g DIRECTIVES, as the static pod calls it: Debian's nginx loads its stream module from a file.
exec /usr/sbin/nginx -c "$2" -g "load_module /usr/lib/nginx/modules/ngx_stream_module.so; $4"
"""


@dataclass(frozen=True)
class ImageSources:
    """Directories that the images are made from."""

    control: Path
    """Programs of the control plane."""
    node: Path
    """Programs of a node."""
    network: Path
    """Debian root with nginx and nftables."""


def names(control: Path) -> dict[str, str]:
    """Returns kubeadm's image names by program, such as kube-proxy. `control`: the directory with kubeadm."""
    lines = run([control / "kubeadm", "config", "images", "list", "--kubernetes-version", kubernetes_version()])
    found = [line.strip() for line in lines if ":" in line and "/" in line]
    return {name.rpartition(":")[0].rpartition("/")[2]: name for name in found}


def write(path: Path, sources: ImageSources, nginx: str) -> None:
    """Writes the archive. `nginx`: name of the proxy's image in the rendered static pod."""
    named = names(sources.control)
    with tempfile.TemporaryDirectory(prefix="images-", dir=path.parent) as scratch:
        work = Path(scratch)
        images = [
            _image(named[name], {"Env": [_PATH]}, _program(work, sources.control / name, "usr/local/bin"))
            for name in _CONTROL
        ]
        images += [
            _image(named[name], {"Entrypoint": [f"/{name}"]}, _program(work, sources.node / name, ""))
            for name in ("coredns", "pause")
        ]
        debian = _layer(work / "debian.layer", sources.network)
        proxy = _program(work, sources.node / "kube-proxy", "usr/local/bin")
        images.append(_image(named["kube-proxy"], {"Env": [_PATH]}, debian, proxy))
        wrapper = _texts(work, "nginx", {"usr/local/sbin/nginx": _NGINX})
        images.append(_image(nginx, {"Env": [_PATH]}, debian, wrapper))
        archive.write(path, images)


def _image(name: str, settings: Mapping[str, Any], *layers: ImageLayer) -> Image:
    return Image(name, layers, {"WorkingDir": "/", **settings})


def _program(work: Path, program: Path, directory: str) -> ImageLayer:
    tree = work / f"{program.name}.tree"
    _write(tree, _ACCOUNTS)
    target = tree / directory / program.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(program, target)
    return _layer(work / f"{program.name}.layer", tree)


def _texts(work: Path, name: str, texts: Mapping[str, str]) -> ImageLayer:
    _write(work / f"{name}.tree", texts)
    return _layer(work / f"{name}.layer", work / f"{name}.tree")


def _write(tree: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        target.chmod(0o755 if text.startswith("#!") else 0o644)


def _layer(path: Path, tree: Path) -> ImageLayer:
    return ImageLayer(path=path, **archive.pack(tree, path))  # pyright: ignore[reportArgumentType]
