"""DNS on every node: a CoreDNS that answers the cluster's names from its own copy, and is the node's first name server.

It watches Services, EndpointSlices and namespaces as kube-proxy does, through the node's own way to the API servers.
A lookup of the cluster's names therefore leaves the node only while this pod does not run (ADR 26). Names of the
outside are forwarded to the node's own name servers, and cached; those below svc are none.

The address belongs to the machine and not to the pod. While the pod does not run, the kernel refuses queries at once,
and resolvers ask the second name server, the Service of CoreDNS's Deployment, without a timeout.
"""

from __future__ import annotations

import hashlib
from typing import Any

import contract
from blueprint import node_software
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components.k8s_master import cluster_objects, node_loss
from components.kubelet import KUBERNETES
from components.machine import File, Parts, Step, Unit
from contract import API_PORT, DNS_SERVICE, NODE_DNS
from files.yaml_writer import literal, template

NAME = "node-dns"
FILE = f"{KUBERNETES}/dns/{NAME}.yaml"
UNIT = f"{NAME}-address.service"
HEALTH, READY = 8080, 8181
"""Ports of CoreDNS's plugins `health` and `ready`, their defaults, on `NODE_DNS` only."""

COREFILE = """\
.:53 {{
    bind {address}
    errors
    health {address}:{health}
    ready {address}:{ready}
    kubernetes cluster.local svc in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }}
    cache 30 {{
        disable success cluster.local
        disable denial cluster.local
    }}
    forward . /etc/resolv.conf {{
        max_concurrent 1000
    }}
    loop
    loadbalance
}}
"""
"""kubeadm's Corefile, bound to one address, without metrics. The cluster's names have CoreDNS's default TTL of 5 s
instead of 30 s: asking again costs nothing on the same node. A change restarts the pods instead of `reload`.

The zone svc has no names. A resolver that finds none with the cluster's domain asks without it, for example for
rabbitmq-2.rabbitmq-members.openstack.svc while this member has no pod. Forwarded, each such look-up took 8 s at a site
whose name servers do not answer, and members that look each other up did not answer."""

_UNIT_TEXT = f"""\
[Unit]
Description=Address of this node's own DNS server
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=ip address replace {NODE_DNS}/32 dev lo

[Install]
WantedBy=multi-user.target
"""
"""On the loopback interface: it exists everywhere and is never down. Kernels may lack the interface type `dummy`."""

_ADD_ADDRESS = Step(
    name="add-dns-address",
    does="Gives this machine the address of its own DNS server.",
    check=f"""\
systemctl is-enabled --quiet {UNIT}
ip -oneline -4 address show dev lo | grep -q ' {NODE_DNS}/32 '""",
    # `restart`, because the unit may be active although somebody removed the address.
    apply=f"systemctl enable --quiet {UNIT}\nsystemctl restart {UNIT}",
)

_START = cluster_objects.apply("start-node-dns", "Runs a DNS server on every node.", FILE)


def parts() -> Parts:
    """Returns the file and step of every machine: the address of its DNS server."""
    file = File(f"/etc/systemd/system/{UNIT}", literal(_UNIT_TEXT), restarts=Unit(UNIT))
    return Parts((file,), (_ADD_ADDRESS,))


def addon(plan: Plan, master: Node) -> Parts:
    """Returns the first master's file and step that run the DNS server on every node. Other masters have none."""
    if master != plan.masters[0]:
        return Parts()
    return Parts((File(FILE, template(*documents(plan))),), (_START,))


def kubelet_configuration(plan: Plan) -> dict[str, Any]:
    """Returns the part of KubeletConfiguration for all nodes: the name servers of pods, in their order."""
    return {"clusterDNS": [NODE_DNS, str(plan.settings.networks.services[DNS_SERVICE])]}


def corefile() -> str:
    """Returns CoreDNS's configuration."""
    return COREFILE.format(address=NODE_DNS, health=HEALTH, ready=READY)


def documents(plan: Plan) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the ConfigMap and the DaemonSet."""
    text = corefile()
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    metadata = {"name": NAME, "namespace": "kube-system", "labels": _labels() | {contract.MANAGED_BY: "quorate"}}
    configuration = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"Corefile": text}}
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": _labels()},
            # A few nodes at a time, of a thousand too. Project figure.
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
            "template": {
                "metadata": {"labels": _labels(), "annotations": {contract.CONFIG: digest}},
                "spec": _pod(plan),
            },
        },
    }
    return configuration, daemons


def _labels() -> dict[str, str]:
    # Not k8s-app: kube-dns, which is what the Service of CoreDNS's Deployment selects.
    return {contract.NAME: NAME}


def _pod(plan: Plan) -> dict[str, Any]:
    return {
        "hostNetwork": True,
        "dnsPolicy": "Default",
        "enableServiceLinks": False,
        "priorityClassName": "system-node-critical",
        # kubeadm's account for CoreDNS, which may read Services, EndpointSlices and namespaces.
        "serviceAccountName": "coredns",
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(plan, plan.settings.images.of_nodes(node_software.COREDNS))],
        "volumes": [{"name": "configuration", "configMap": {"name": NAME}}],
    }


def _container(plan: Plan, image: str) -> dict[str, Any]:
    return {
        "name": "coredns",
        "image": image,
        "args": ["-conf", "/etc/coredns/Corefile"],
        "env": [
            # Without kube-proxy, which sends part of all connections to a dead master until its node is NotReady.
            {"name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1"},
            {"name": "KUBERNETES_SERVICE_PORT", "value": str(API_PORT)},
            *node_loss.environment(plan),
        ],
        # Project figures; the limit is kubeadm's.
        "resources": {"requests": {"cpu": "25m", "memory": "48Mi"}, "limits": {"memory": "170Mi"}},
        # Restarted after 2 minutes, as members of a quorum are: on a slow node, all of whose pods start at once, three
        # failures ended it before it had started, and no pod of the node could resolve a name meanwhile.
        "livenessProbe": {
            "httpGet": {"host": NODE_DNS, "path": "/health", "port": HEALTH},
            "timeoutSeconds": 5,
            "failureThreshold": 12,
        },
        "readinessProbe": {"httpGet": {"host": NODE_DNS, "path": "/ready", "port": READY}, "timeoutSeconds": 5},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "configuration", "mountPath": "/etc/coredns", "readOnly": True}],
    }
