"""Checks of what runs containers on a node: the versions of its programs, containerd's configuration, and the network.

kubelet's configuration is of kubeadm and assumes these values; Calico's manifest assumes the directory of plugins.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, cast

from blueprint.plan.nodes import Node
from blueprint.stackfile.settings import EXISTING, Settings
from doctor.login import Reading

CONTAINERD = (1, 6)
"""The oldest containerd with version 1 of CRI, which kubelets need since Kubernetes 1.26
(https://containerd.io/releases/#kubernetes-support)."""
PLUGINS = "/opt/cni/bin"
"""Where Calico's manifest installs its plugins, and kubelet's package the others."""
_CRI = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri")
"""Names of the plugin that answers kubelet: of containerd 2, and of containerd 1."""
_IMAGES = "io.containerd.cri.v1.images"
"""The plugin of containerd 2 with the sandbox image. Containerd 1 has it in the first one."""
_DISABLED = {*_CRI, _IMAGES, "cri"}
_FILE = "/etc/containerd/config.toml"
_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)\.([0-9]+).*")

Checked = Iterator[tuple[str, str]]
"""Problems, each with its remedy."""


def versions(node: Node, reading: Reading, settings: Settings) -> Checked:
    """Checks that kubelet and kubeadm are of the stack's version, kubectl at most a minor away, and containerd new."""
    if not node.is_kubernetes_node or settings.machines == EXISTING:
        return
    wanted = settings.kubernetes
    for program in ("kubelet", "kubeadm", "kubectl"):
        if program in reading.facts.all("program"):
            found = reading.facts.one(f"{program}-version").removeprefix("v")
            if not _fits(program, found, wanted):
                command = f"apt-get install --allow-downgrades {program}='{wanted}-*'"
                yield f"its {program} is {found or 'of an unknown version'}, not {wanted}", f"run `{command}`"
    if "containerd" in reading.facts.all("program"):
        found = reading.facts.one("containerd-version")
        numbers = _numbers(found)
        if not numbers or numbers[:2] < CONTAINERD:
            yield f"its containerd is {found or 'of an unknown version'}", "run `apt-get install containerd`"


def _fits(program: str, found: str, wanted: str) -> bool:
    if program != "kubectl":
        return found == wanted
    # https://kubernetes.io/releases/version-skew-policy/#kubectl
    there, here = _numbers(found), _numbers(wanted)
    return bool(there and here) and there[0] == here[0] and abs(there[1] - here[1]) <= 1


def _numbers(version: str) -> tuple[int, ...]:
    found = _VERSION.fullmatch(version)
    return tuple(map(int, found.groups())) if found else ()


def containerd(node: Node, reading: Reading, settings: Settings) -> Checked:
    """Checks that containerd serves kubelet, uses systemd's cgroups, and has the directory and image that it needs."""
    if not node.is_kubernetes_node or "containerd" not in reading.facts.all("program"):
        return
    config = _configuration(reading)
    if config is None:
        yield "containerd's configuration cannot be read", "look at `containerd config dump` there"
        return
    if disabled := sorted(_DISABLED.intersection(config.get("disabled_plugins", ()))):
        yield f"containerd does not serve kubelet: {', '.join(disabled)} is disabled", _edited("/disabled_plugins/d")
        return
    cri = _at(config, "plugins", _CRI[0]) or _at(config, "plugins", _CRI[1])
    runtime = str(_at(cri, "containerd").get("default_runtime_name", "runc"))
    if _at(cri, "containerd", "runtimes", runtime, "options").get("SystemdCgroup") is not True:
        problem = "containerd makes cgroups without systemd (SystemdCgroup is not true), unlike kubelet"
        yield problem, _edited("s/SystemdCgroup = false/SystemdCgroup = true/")
    directories = _at(cri, "cni").get("bin_dirs") or [_at(cri, "cni").get("bin_dir")]
    if settings.cni == "calico" and PLUGINS not in directories:
        where = ", ".join(map(str, directories))
        yield f"containerd looks for network plugins in {where}, not in {PLUGINS}", _edited(f"s|{where}|{PLUGINS}|")
    yield from _sandbox(reading, config, cri)


def _sandbox(reading: Reading, config: Mapping[str, Any], cri: Mapping[str, Any]) -> Checked:
    """Compares the name and tag of the sandbox image with kubeadm's; its registry may be a mirror."""
    wanted = reading.facts.one("sandbox-image")
    found = str(_at(config, "plugins", _IMAGES, "pinned_images").get("sandbox") or cri.get("sandbox_image") or "")
    if wanted and found.rpartition("/")[2] != wanted.rpartition("/")[2]:
        yield (
            f"containerd's sandbox image is {found or 'unknown'}, kubeadm's is {wanted}",
            _edited(f"s|{found}|{wanted}|" if found else f"s|sandbox_image = .*|sandbox_image = '{wanted}'|"),
        )


def _configuration(reading: Reading) -> Mapping[str, Any] | None:
    lines = reading.facts.all("containerd-config")
    try:
        return tomllib.loads("\n".join(lines)) if lines else None
    except tomllib.TOMLDecodeError:
        return None


def _at(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Returns the table of a table below these keys; {} if there is none."""
    for key in keys:
        below: object = table.get(key)
        table = cast("Mapping[str, Any]", below) if isinstance(below, dict) else {}
    return table


def _edited(expression: str) -> str:
    """Returns the command that changes containerd's configuration and keeps the rest of it."""
    # What is imported is in the dump.
    change = f"containerd config dump | sed '/^imports/d;{expression}' >/root/containerd.toml"
    return f"run `{change} && mv /root/containerd.toml {_FILE} && systemctl restart containerd`"


def forwarding(node: Node, reading: Reading) -> Checked:
    """Checks that the kernel forwards packets of pods, without which `kubeadm init` refuses the machine."""
    if node.is_kubernetes_node and (found := reading.facts.one("forwarding")) != "1":
        problem = f"it does not forward packets (net.ipv4.ip_forward is {found or 'unknown'})"
        yield problem, "run `echo net.ipv4.ip_forward=1 >/etc/sysctl.d/90-kubernetes.conf && sysctl --system`"


def resolver(node: Node, reading: Reading) -> Checked:
    """Checks the name servers of the node, which CoreDNS asks for all names that are not the cluster's."""
    if not node.is_kubernetes_node:
        return
    found = reading.facts.all("nameserver")
    if not found:
        yield "it has no name server, so pods find no name outside of the cluster", "write one in /etc/resolv.conf"
    for each in found:
        if each.startswith("127.") or each == "::1":
            problem = f"its name server is {each}, at which pods find themselves (CoreDNS ends: Loop)"
            yield problem, "write the name servers of your network in /etc/resolv.conf, or use systemd-resolved"
