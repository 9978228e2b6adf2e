"""kubeadm's configuration of each master, and the step that initialises the cluster or joins it.

Source 004 gives the requirements: three masters (5.5.3), leader election for scheduler and controller manager (5.5.4),
requests in flight at 1000 nodes (5.5.8). All machines share the cluster-wide KubeletConfiguration, so it contains no
taints: each machine has its own taints in a kubeadm patch (components/kubelet.py).
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components import joining, kubelet
from components.k8s_master import audit, etcd, external_etcd, node_dns, node_loss, pki, renewal
from components.k8s_master.cluster_objects import INITIALISE
from components.k8s_master.pki import Pki
from components.k8s_master.versions import kubernetes, large
from components.kubelet import CONFIGURATION, KUBEADM, PATCHES
from components.machine import File, Parts, Step
from contract import API_PORT
from files import yaml_writer
from files.yaml_writer import template

ENDPOINT = f"127.0.0.1:{API_PORT}"
"""Address at which every machine reaches the API: its own API server on a master, the local proxy on a worker (source
004, 5.5.5)."""

WATCHES_END = "10s"
"""Time in which an API server that stops lets watches end. Without it, the API server waits a minute for watches that
do not end, serves nothing meanwhile, and is killed after kubelet's 30 s. With it, it ended after 1.2 s. Measured."""

MAX_REQUESTS_INFLIGHT = 2000
"""Requests in flight per API server (source 004, 5.5.8). With the default of 400, an API server rejects requests with
429 long before it reaches the load of 1000 nodes."""

ELECTION = {
    "leader-elect": "true",
    "leader-elect-lease-duration": "15s",
    "leader-elect-renew-deadline": "10s",
    "leader-elect-retry-period": "2s",
}
"""Election of the scheduler's and the controller manager's leader. Source 004, 5.5.4 names these parameters without
values; these are Kubernetes' defaults. A dead leader is replaced after 15 to 17 s."""


def parts(plan: Plan, master: Node, certificates: Pki) -> Parts:
    """Returns a master's kubeadm.yaml, its certificates, and the step that initialises or joins the cluster.

    kubeadm.yaml is for both, because each master may be the first one of a new cluster, or join again with an empty
    disk. kubeadm ignores the documents of the other kind.
    """
    others = [each for each in plan.masters if each != master]
    documents = [
        _init_configuration(master),
        cluster_configuration(plan),
        kubelet_configuration(plan),
        *([_LAB_PROXY] if plan.settings.is_lab else []),
        _join_configuration(master),
    ]
    files = (
        File(CONFIGURATION, template(*documents)),
        *certificates.kubernetes_files(),
        *certificates.encryption_file(),
        audit.POLICY,
        *certificates.discovery_file(plan.masters[0]),
    )
    has_member = master in plan.members
    after = etcd.TIDY if has_member else external_etcd.AWAIT
    enter = _initialise(plan, others, after) if master == plan.masters[0] else joining.step(others, (after,))
    enter = replace(enter, leave=f"{_MAY_LEAVE}\n{enter.leave}") if has_member else enter
    return Parts(files, (enter,)) + renewal.parts(others, enter.name)


_MAY_LEAVE = f'[ ! -f "$ROOT{etcd.MEMBERS}" ] || sh "$ROOT{etcd.MEMBERS}" may-leave'
"""Before a master is drained, so that a master that has to stay is not."""

_STATIC_PODS = ("apiserver", "controller-manager", "scheduler")
BEGUN = f"$ROOT{CONFIGURATION}.initialising"
"""A file that exists while `kubeadm init` runs, and after it was interrupted."""
_OWN = (
    *(f"FileAvailable--etc-kubernetes-manifests-kube-{name}.yaml" for name in _STATIC_PODS),
    *(f"Port-{port}" for port in (API_PORT, 10250, 10257, 10259)),
)
"""Preflight checks of `kubeadm init` that the files and ports of its own interrupted run fail."""


def _initialise(plan: Plan, others: Sequence[Node], after: str) -> Step:
    """Returns the step for the first master. It joins a cluster that the other masters have already.

    An interrupted `kubeadm init` is run again and keeps what it has made. `after`: name of the last step of etcd.
    """
    own = f'sh "$ROOT{etcd.MEMBERS}" stored {external_etcd.CLUSTER}'
    stored = external_etcd.stored(plan.members, external_etcd.CLUSTER) if plan.etcd_machines else own
    # Without the token, which would be in the log: machines join with a certificate.
    initialise = f"""\
checks=
[ ! -f "{BEGUN}" ] || checks=--ignore-preflight-errors={",".join(_OWN)}
: >"{BEGUN}"
kubeadm init --skip-token-print ${{checks:+"$checks"}} --config "$ROOT{CONFIGURATION}"
rm -f "{BEGUN}"
"""
    if others:
        initialise = f"""\
stored=$({stored})
if [ -z "$stored" ] || [ -f "{BEGUN}" ]; then
{textwrap.indent(initialise, "  ")}else
{textwrap.indent(joining.commands(others), "  ")}
fi"""
    return Step(
        name=INITIALISE,
        does="Initialises the cluster on its first master, or joins the cluster of the others.",
        check=f'{joining.JOINED} && [ ! -f "{BEGUN}" ]',
        apply=initialise,
        leave=f'{joining.LEAVE}rm -f "{BEGUN}"',
        after=(after,),
    )


_LAB_PROXY = {
    "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
    "kind": "KubeProxyConfiguration",
    "mode": "nftables",
    "conntrack": {"maxPerCore": 0, "min": 0},
}
"""kube-proxy's configuration in a lab. It leaves the host's conntrack settings unchanged, because a lab's machines may
be containers, which cannot change these settings."""


def cluster_configuration(plan: Plan) -> dict[str, Any]:
    """Returns kubeadm's ClusterConfiguration, which all API servers, schedulers and controller managers share."""
    arguments = {
        "shutdown-watch-termination-grace-period": WATCHES_END,
        "encryption-provider-config": pki.ENCRYPTION,
        **audit.ARGUMENTS,
    }
    if large(plan):
        arguments["max-requests-inflight"] = str(MAX_REQUESTS_INFLIGHT)
    mirror = plan.settings.images.mirror
    return {
        "apiVersion": KUBEADM,
        "kind": "ClusterConfiguration",
        "clusterName": "quorate",
        "kubernetesVersion": kubernetes(plan),
        "controlPlaneEndpoint": ENDPOINT,
        "networking": {
            "podSubnet": str(plan.settings.networks.pods),
            "serviceSubnet": str(plan.settings.networks.services),
            "dnsDomain": "cluster.local",
        },
        "etcd": {
            "external": {
                "endpoints": etcd.endpoints(plan.members),
                "caFile": f"{pki.ETCD}/ca.crt",
                "certFile": f"{pki.ETCD_CLIENT}.crt",
                "keyFile": f"{pki.ETCD_CLIENT}.key",
            }
        },
        # kubeadm adds the master's own name and address. Those of the others would change with every master.
        "apiServer": {
            "certSANs": ["127.0.0.1", "localhost", *(given.names if (given := plan.settings.api_servers) else ())],
            "extraArgs": _arguments(arguments),
            "extraVolumes": list(audit.VOLUMES),
        },
        "controllerManager": _program(plan, ELECTION | node_loss.controller_manager(plan) | _authorities(plan)),
        "scheduler": _program(plan, ELECTION),
        # Of another registry than its own, kubeadm takes CoreDNS from the top, without the path of the original.
        **({"imageRepository": mirror, "dns": {"imageRepository": f"{mirror}/coredns"}} if mirror else {}),
    }


def _init_configuration(master: Node) -> dict[str, Any]:
    return {
        "apiVersion": KUBEADM,
        "kind": "InitConfiguration",
        "localAPIEndpoint": _endpoint(),
        "nodeRegistration": kubelet.node_registration(master),
        "patches": {"directory": PATCHES},
        "timeouts": kubelet.TIMEOUTS,
    }


def _join_configuration(master: Node) -> dict[str, Any]:
    return kubelet.join_configuration(master) | {"controlPlane": {"localAPIEndpoint": _endpoint()}}


def kubelet_configuration(plan: Plan) -> dict[str, Any]:
    """Returns the KubeletConfiguration, which the kubelets of all machines share."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "systemd",
        **node_dns.kubelet_configuration(plan),
        **node_loss.kubelet_configuration(plan),
    }


def _endpoint() -> dict[str, Any]:
    return {"advertiseAddress": yaml_writer.ADDRESS, "bindPort": API_PORT}


def _program(plan: Plan, arguments: dict[str, str]) -> dict[str, Any]:
    variables = node_loss.environment(plan)
    return {"extraArgs": _arguments(arguments)} | ({"extraEnvs": variables} if variables else {})


def _authorities(plan: Plan) -> dict[str, str]:
    if plan.settings.certificates.kubernetes.is_first:
        return {}
    return {"cluster-signing-cert-file": pki.SIGNING, "root-ca-file": pki.TRUSTED}


def _arguments(arguments: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in arguments.items()]
