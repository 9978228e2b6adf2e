"""containerd's configuration: what kubelet's and Calico's configuration assume of it, and where it finds images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.stackfile.image_settings import RegistryAccount
from blueprint.stackfile.preparation_settings import Preparation
from components import registry_accounts
from components.machine import File, Unit
from components.secrets import Keyring
from files.yaml_writer import literal

UNIT = Unit("containerd.service")
"""Containers go on while it restarts."""
CONFIGURATION = "/etc/containerd/config.toml"
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
override_path = true

[host."{mirror}"]
  capabilities = ["pull", "resolve"]
  override_path = true
"""
"""`server` too, so that nothing is asked of the registry itself, which a closed network does not reach. Without
override_path, containerd asks https://mirror/path/v2/image; registries have images of a path at /v2/path/image."""
_PROXY = """\
[Service]
Environment="HTTP_PROXY={proxy}" "HTTPS_PROXY={proxy}" "NO_PROXY={direct}"
"""


@dataclass(frozen=True)
class Runtime:
    """What containerd's own file says of a stack."""

    sandbox: str
    """Image of pods' sandboxes."""
    accounts: Mapping[str, RegistryAccount]
    """Accounts by registry: kubelet sends those of pods, but pulls the sandbox, and kubeadm its images, without."""

    def configuration(self, keyring: Keyring) -> File:
        """Returns the file, which is a secret one if it has passwords."""
        text = _CONFIGURATION.format(sandbox=self.sandbox, plugins=PLUGINS)
        if not self.accounts:
            return File(CONFIGURATION, literal(text), restarts=UNIT)
        written = keyring.written(lambda reveal: text + registry_accounts.containerd_tables(self.accounts, reveal))
        return File(CONFIGURATION, written, mode=0o600, secret=True, restarts=UNIT)


def files(wanted: Preparation, direct: str) -> tuple[File, ...]:
    """Returns containerd's other files: mirrors and proxy. `direct`: what no proxy is asked for."""
    proxy = _PROXY.format(proxy=wanted.proxy, direct=direct)
    return (
        *(
            # containerd reads these for each image, without a restart.
            File(
                f"/etc/containerd/certs.d/{_directory(registry)}/hosts.toml",
                literal(_MIRROR.format(mirror=_api(mirror))),
            )
            for registry, mirror in sorted(wanted.registries.items())
        ),
        *([File(f"/etc/systemd/system/{UNIT.name}.d/proxy.conf", literal(proxy), restarts=UNIT)] * bool(wanted.proxy)),
    )


def _api(mirror: str) -> str:
    """Returns the URL below which a registry has the images of a mirror's URL, with its path."""
    scheme, _, rest = mirror.partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}/v2/{path}".rstrip("/")


def _directory(registry: str) -> str:
    """Returns containerd's directory for a registry: a port is between underscores, as in host_5000_."""
    host, colon, port = registry.partition(":")
    return f"{host}_{port}_" if colon else host
