"""containerd's configuration: what kubelet's and Calico's configuration assume of it, and where it finds images."""

from __future__ import annotations

from blueprint.stackfile.preparation_settings import Preparation
from components.machine import File, Unit
from files.yaml_writer import literal

UNIT = Unit("containerd.service")
"""Containers go on while it restarts."""
PLUGINS = "/opt/cni/bin"
"""Where Calico's manifest, and Kubernetes' package of plugins, install them."""
SANDBOX_IMAGES = {35: "3.10.1", 36: "3.10.2", 37: "3.10.2"}
"""Tag of the sandbox image by minor version of Kubernetes: PauseVersion of kubeadm (constants.go), read there for 1.37;
those of 1.35 and 1.36 are what distributions of these versions have. `doctor` compares with each machine's kubeadm."""

_CONFIGURATION = """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:{tag}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
"""
"""Version 2, which containerd 1 and 2 read."""
_MIRROR = """\
server = "{mirror}"

[host."{mirror}"]
  capabilities = ["pull", "resolve"]
"""
"""`server` too, so that nothing is asked of the registry itself, which a closed network does not reach."""
_PROXY = """\
[Service]
Environment="HTTP_PROXY={proxy}" "HTTPS_PROXY={proxy}" "NO_PROXY={direct}"
"""


def files(wanted: Preparation, minor: int, direct: str) -> tuple[File, ...]:
    """Returns containerd's files. `minor`: version of Kubernetes. `direct`: addresses that no proxy is asked for."""
    configuration = _CONFIGURATION.format(tag=SANDBOX_IMAGES[minor], plugins=PLUGINS)
    proxy = _PROXY.format(proxy=wanted.proxy, direct=direct)
    return (
        File("/etc/containerd/config.toml", literal(configuration), restarts=UNIT),
        *(
            # containerd reads these for each image, without a restart.
            File(f"/etc/containerd/certs.d/{_directory(registry)}/hosts.toml", literal(_MIRROR.format(mirror=mirror)))
            for registry, mirror in sorted(wanted.registries.items())
        ),
        *([File(f"/etc/systemd/system/{UNIT.name}.d/proxy.conf", literal(proxy), restarts=UNIT)] * bool(wanted.proxy)),
    )


def _directory(registry: str) -> str:
    """Returns containerd's directory for a registry: a port is between underscores, as in host_5000_."""
    host, colon, port = registry.partition(":")
    return f"{host}_{port}_" if colon else host
