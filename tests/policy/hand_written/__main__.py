"""A stack that somebody wrote by hand: plain Kubernetes, libvirt and SSH, and nothing of Quorate's.

A database and a queue as Deployments of two, all on one server; a virtual machine; a command on a host over SSH.
"""

from __future__ import annotations

import os

import pulumi
import pulumi_command as command
import pulumi_kubernetes as kubernetes
import pulumi_libvirt as libvirt
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

rendered = kubernetes.Provider("rendered", render_yaml_to_directory=os.environ["QUORATE_RENDERED"], kubeconfig="")
opts = pulumi.ResourceOptions(provider=rendered)

for name in ("node-1", "node-2"):
    core.Node(name, metadata=meta.ObjectMetaArgs(name=name, labels={"quorate.io/server": "host1"}), opts=opts)


def deployment(name: str, image: str) -> None:
    labels = {"app": name}
    apps.Deployment(
        name,
        metadata=meta.ObjectMetaArgs(name=name),
        spec=apps.DeploymentSpecArgs(
            replicas=2,
            selector=meta.LabelSelectorArgs(match_labels=labels),
            template=core.PodTemplateSpecArgs(
                metadata=meta.ObjectMetaArgs(labels=labels),
                spec=core.PodSpecArgs(containers=[core.ContainerArgs(name=name, image=image)]),
            ),
        ),
        opts=opts,
    )


deployment("db", "docker.io/library/mysql:8.4")
deployment("queue", "docker.io/library/rabbitmq:4")
deployment("website", "docker.io/library/nginx:1.29")

libvirt.Domain("vm", name="vm", memory=4096, vcpu=2)

command.remote.Command(
    "restart",
    connection=command.remote.ConnectionArgs(host="10.0.0.11", user="root"),
    create="systemctl restart kubelet",
)
