"""The files and steps that prepare a machine, before all others: what a bare distribution lacks for a node.

The steps call one script, prepare.sh, with the stack's values beside it. A machine of role etcd gets what its member
needs. A system container shares its host's kernel and swap, which only the host can change.

What runs already is left alone: programs of Kubernetes on a machine that has joined, and etcd beside its data. A change
of quorate:kubernetes or of archives therefore changes no running cluster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from blueprint import node_software
from blueprint.distributions import DISTRIBUTIONS
from blueprint.kernel_settings import MODULES, kernel_settings
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile import authorities
from components.machine import File, Parts, Step
from components.preparation import container_runtime
from components.secrets import Keyring
from files.yaml_writer import literal

SCRIPT = "/usr/local/lib/quorate/prepare"
DIRECTORY = "/etc/quorate"
_KUBELET_UNIT = """\
[Unit]
Description=kubelet, the node's agent of Kubernetes
Documentation=https://kubernetes.io/docs/
Wants=network-online.target containerd.service
After=network-online.target containerd.service
ConditionPathExists=/var/lib/kubelet/config.yaml
StartLimitIntervalSec=0

[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \
--kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS
Restart=always
RestartSec=10

[Install]
WantedBy=multi-user.target
"""
"""What kubeadm expects of kubelet's unit, and Kubernetes' packages bring. It starts when kubeadm has configured it."""


def parts(plan: Plan, node: Node, keyring: Keyring) -> Parts:
    """Returns the files and steps that prepare a machine; none if the stack's machines are prepared by others.

    `keyring`: reveals the passwords of registries.
    """
    wanted = plan.settings.prepare
    if not wanted.is_done:
        return Parts()
    found = Parts(_files(plan, node), (_step("packages", "Installs what a bare distribution lacks."),))
    if wanted.proxy:
        found += Parts((File("/etc/apt/apt.conf.d/90quorate-proxy", literal(_APT_PROXY.format(proxy=wanted.proxy))),))
    if wanted.authorities:
        files = tuple(_authorities(wanted.authorities))
        found += Parts(files, (_step("authorities", "Trusts the certificates of the site's own authorities."),))
    found += Parts(steps=(_step("programs", "Installs the programs of Kubernetes, and etcd beside a member."),))
    if not _shares_a_kernel(node):
        found += _kernel(node)
        found += Parts(steps=(_step("clock", "Keeps the clock right, by the stack's time servers if it names any."),))
    if node.is_kubernetes_node:
        minor = int(plan.settings.kubernetes.split(".")[1])
        images = plan.settings.images
        runtime = container_runtime.Runtime(images.located(node_software.sandbox(minor)), images.accounts)
        found += Parts((runtime.configuration(keyring), *container_runtime.files(wanted, _direct(plan))))
        found += Parts(steps=(_step("containerd", "Starts containerd."),))
        if wanted.programs == "archives":
            found += Parts((File("/etc/systemd/system/kubelet.service", literal(_KUBELET_UNIT)),))
    return found


def _authorities(paths: Iterable[str]) -> Iterator[File]:
    """Yields a file for each certificate, by its digest: the order of files in the stack file changes nothing."""
    texts = {text for path in paths for text in authorities.certificates(path)}
    for text in sorted(texts):
        name = hashlib.sha256(text.encode()).hexdigest()[:12]
        yield File(f"{DIRECTORY}/authorities/{name}.crt", literal(text))


_APT_PROXY = 'Acquire::http::Proxy "{proxy}";\nAcquire::https::Proxy "{proxy}";\n'


def _step(name: str, does: str) -> Step:
    return Step(
        name=f"prepare-{name}",
        does=does,
        check=f'sh "$ROOT{SCRIPT}" has-{name}',
        apply=f'sh "$ROOT{SCRIPT}" set-{name}',
    )


def _shares_a_kernel(node: Node) -> bool:
    return node.virtual and not node.machine.hypervisor_type.has_own_kernel


def _files(plan: Plan, node: Node) -> tuple[File, ...]:
    wanted = plan.settings.prepare
    rows = (
        " ".join((name, each.clock, each.clock_file, *(f"{package}:{program}" for package, program in needed.items())))
        for name, each in DISTRIBUTIONS.items()
        for needed in (each.node if node.is_kubernetes_node else each.member,)
    )
    archives = (f"{name} {each.sha256} {each.url}" for name, each in sorted(wanted.archives.items()))
    etcd = (
        f"{each.name} {each.sha256} {each.url}" for each in node_software.etcd_archives() if wanted.uses_etcds_release
    )
    return (
        File(SCRIPT, literal(_script()), mode=0o755),
        File(f"{DIRECTORY}/prepare.env", literal(_environment(plan, node))),
        File(f"{DIRECTORY}/distributions", literal(_lines(rows))),
        File(f"{DIRECTORY}/archives", literal(_lines((*archives, *etcd)))),
    )


def _environment(plan: Plan, node: Node) -> str:
    wanted, version = plan.settings.prepare, plan.settings.kubernetes
    minor = version.rpartition(".")[0]
    servers = wanted.time_servers or (plan.settings.virt.time_servers if plan.settings.virt else ())
    values = {
        "KUBERNETES": version,
        "PROGRAMS": "kubelet kubeadm kubectl" if node.is_kubernetes_node else "kubectl",
        "PLUGINS": container_runtime.PLUGINS if node.is_kubernetes_node and "cni" in wanted.archives else "",
        "HAS_MEMBER": "yes" if node in plan.members else "",
        "REPOSITORY": f"{wanted.repository}/v{minor}/deb" if wanted.programs == "packages" else "",
        "PROXY": wanted.proxy or "",
        "DIRECT": _direct(plan) if wanted.proxy else "",
        "TIME_SERVERS": " ".join(servers),
    }
    return "".join(f"{key}='{value}'\n" for key, value in values.items())


def _direct(plan: Plan) -> str:
    """Returns what machines reach without a proxy: themselves, the stack's networks, and names of cluster and site."""
    networks = plan.settings.networks
    known = (networks.management, networks.pods, networks.services)
    own = ("localhost", "127.0.0.1", *(str(each) for each in known if each), ".svc", ".cluster.local")
    return ",".join((*own, *plan.settings.prepare.direct))


def _kernel(node: Node) -> Parts:
    """Returns the kernel's modules and settings, and the steps that load them and turn swap off; nodes only."""
    if not node.is_kubernetes_node:
        return Parts()
    settings = kernel_settings(node.machine.cpu)
    return Parts(
        files=(
            File("/etc/modules-load.d/quorate.conf", literal(_lines(MODULES))),
            File("/etc/sysctl.d/90-quorate.conf", literal(_lines(f"{key}={value}" for key, value in settings.items()))),
        ),
        steps=(
            _step("kernel", "Loads kernel modules and sets kernel settings."),
            _step("swap", "Turns swap off, now and at the next start."),
        ),
    )


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@cache
def _script() -> str:
    return (Path(__file__).parent / "prepare.sh").read_text(encoding="utf-8")
