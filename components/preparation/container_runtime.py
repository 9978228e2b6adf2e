"""containerd's configuration: what kubelet's and Calico's configuration assume of it, and where it finds images."""

from __future__ import annotations

from blueprint.stackfile.preparation_settings import Preparation
from components.machine import File, Unit
from files.yaml_writer import literal

UNIT = Unit("containerd.service")
"""Containers go on while it restarts."""
PLUGINS = "/opt/cni/bin"
"""Where Calico's manifest, and Kubernetes' package of plugins, install them."""

_CONFIGURATION = """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{sandbox}"
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


def files(wanted: Preparation, sandbox: str, direct: str) -> tuple[File, ...]:
    """Returns containerd's files. `sandbox`: image of pods' sandboxes. `direct`: what no proxy is asked for."""
    configuration = _CONFIGURATION.format(sandbox=sandbox, plugins=PLUGINS)
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
