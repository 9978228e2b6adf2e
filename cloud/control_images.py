"""Images of Kubernetes' own pods, under the names that kubeadm gives them: one program each, built from Go modules.

kube-proxy and nginx also need programs of Debian. With a container registry in reach, an operator's machines download
the upstream images instead.
"""

from __future__ import annotations

from pathlib import Path

from cloud.oci import Image
from toolchain.cluster_programs import kubernetes_version
from toolchain.progress import run

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CONTROL = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_ROOT_USER = {"etc/passwd": "root:x:0:0::/:\n", "etc/group": "root:x:0:\n"}
_NGINX = """\
#!/bin/sh
# nginx -c FILE -g DIRECTIVES, as the static pod calls it: Debian's nginx loads its stream module from a file.
exec /usr/sbin/nginx -c "$2" -g "load_module /usr/lib/nginx/modules/ngx_stream_module.so; $4"
"""


def names(control: Path) -> dict[str, str]:
    """Returns kubeadm's image names by program, such as kube-proxy. `control`: the directory with kubeadm."""
    lines = run([control / "kubeadm", "config", "images", "list", "--kubernetes-version", kubernetes_version()])
    found = [line.strip() for line in lines if ":" in line and "/" in line]
    return {name.rpartition(":")[0].rpartition("/")[2]: name for name in found}


def images(control: Path, node: Path, network: Path, nginx: str) -> list[Image]:
    """Returns the images.

    `control`, `node`: directories of programs. `network`: Debian root with nginx and nftables. `nginx`: name of the
    proxy's image in the rendered static pod.
    """
    named = names(control)
    found = [
        Image(
            named[program],
            {f"usr/local/bin/{program}": control / program},
            _ROOT_USER,
            {"Env": [_PATH], "WorkingDir": "/"},
        )
        for program in _CONTROL
    ]
    for program in ("coredns", "pause"):
        config = {"Entrypoint": [f"/{program}"], "WorkingDir": "/"}
        found.append(Image(named[program], {program: node / program}, _ROOT_USER, config))
    proxy = {"": network, "usr/local/bin/kube-proxy": node / "kube-proxy"}
    found.append(Image(named["kube-proxy"], proxy, {}, {"Env": [_PATH]}))
    found.append(Image(nginx, {"": network}, {"usr/local/sbin/nginx": _NGINX}, {"Env": [_PATH]}))
    return found
