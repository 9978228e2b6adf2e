"""A hand-written stack of plain Kubernetes, libvirt and SSH resources, without Quorate.

A database and a queue as Deployments of two, all on one server; a virtual machine, and one that is made with care;
commands on hosts over SSH; a password in the environment, and one where it belongs. Clusters of operators, one of them
of an operator that no rule reads, an autoscaler, a NetworkPolicy and a component of its own.
"""

from __future__ import annotations

import os
from typing import Any

import pulumi
import pulumi_command as command
import pulumi_kubernetes as kubernetes
import pulumi_libvirt as libvirt
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.batch import v1 as batch
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

password = pulumi.Output.secret("hunter2")
core.Secret("creds", metadata=meta.ObjectMetaArgs(name="creds"), string_data={"db": password}, opts=opts)
debug = core.ContainerArgs(
    name="debug",
    image="docker.io/library/busybox:1.37",
    env=[core.EnvVarArgs(name="DB_PASSWORD", value="hunter2")],
    security_context=core.SecurityContextArgs(privileged=True),
)
core.Pod("debug", metadata=meta.ObjectMetaArgs(name="debug"), spec=core.PodSpecArgs(containers=[debug]), opts=opts)

libvirt.Domain("vm", name="vm", memory=4096, vcpu=2, type="qemu")
libvirt.Domain("vm-with-care", name="vm2", memory=4096, vcpu=2, opts=pulumi.ResourceOptions(protect=True))


class App(pulumi.ComponentResource):
    """A component: it groups resources and is nothing by itself."""

    def __init__(self, name: str) -> None:
        super().__init__("hand:written:App", name)
        opts = pulumi.ResourceOptions(provider=rendered, parent=self)
        core.ConfigMap("settings", metadata=meta.ObjectMetaArgs(name="settings"), data={"size": "small"}, opts=opts)


def custom(name: str, version: str, kind: str, spec: dict[str, Any]) -> None:
    metadata = meta.ObjectMetaArgs(name=name)
    kubernetes.apiextensions.CustomResource(
        name, api_version=version, kind=kind, metadata=metadata, spec=spec, opts=opts
    )


App("app")
custom("broker", "rabbitmq.com/v1beta1", "RabbitmqCluster", {"replicas": 2, "image": "rabbitmq:4.1"})
custom("kafka", "kafka.strimzi.io/v1beta2", "Kafka", {"kafka": {"replicas": 2}})
kubernetes.autoscaling.v2.HorizontalPodAutoscaler(
    "scaler",
    metadata=meta.ObjectMetaArgs(name="scaler"),
    spec={"scale_target_ref": {"kind": "Deployment", "name": "queue"}, "min_replicas": 2, "max_replicas": 5},
    opts=opts,
)
kubernetes.networking.v1.NetworkPolicy(
    "closed",
    metadata=meta.ObjectMetaArgs(name="closed"),
    spec={"pod_selector": {"match_labels": {"app": "db"}}, "policy_types": ["Ingress"]},
    opts=opts,
)
inside: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "inside"},
    "spec": {"containers": [{"name": "inside", "image": "docker.io/library/busybox"}]},
}
kubernetes.yaml.v2.ConfigGroup("group", objs=[inside], opts=pulumi.ResourceOptions(provider=rendered))
kubernetes.yaml.v2.ConfigGroup("empty", objs=[], opts=pulumi.ResourceOptions(provider=rendered))
mirror = core.ContainerArgs(name="mirror", image="docker.io/library/busybox")
nightly = core.PodTemplateSpecArgs(spec=core.PodSpecArgs(containers=[mirror], restart_policy="Never"))
job = batch.JobTemplateSpecArgs(spec=batch.JobSpecArgs(template=nightly))
batch.CronJob(
    "mirror",
    metadata=meta.ObjectMetaArgs(name="mirror"),
    spec=batch.CronJobSpecArgs(schedule="@daily", job_template=job),
    opts=opts,
)


def at(host: str) -> command.remote.ConnectionArgs:
    return command.remote.ConnectionArgs(host=host, user="root", password=password)


def ssh(name: str, host: str, text: str, *after: pulumi.Resource) -> command.remote.Command:
    return command.remote.Command(
        name, connection=at(host), create=text, opts=pulumi.ResourceOptions(depends_on=list(after))
    )


ssh("restart", "10.0.0.11", "systemctl restart kubelet")
ssh("restart-too", "10.0.0.12", "etcdctl endpoint health --cluster && systemctl restart etcd")
ssh("upgrade", "10.0.0.11", "kubeadm upgrade apply -y v1.37.0")
last = ssh("look", "10.0.0.11", "uptime")
ssh("login", "10.0.0.11", "mysql -uroot -phunter2 -e 'select 1'", last)

script = pulumi.StringAsset("#!/bin/sh\nfor unit in etcd kubelet; do systemctl stop $unit; done\n")
copy = command.remote.CopyToRemote("script", connection=at("10.0.0.12"), source=script, remote_path="/opt/roll.sh")
ssh("roll", "10.0.0.12", "sh /opt/roll.sh", copy)
ssh("wipe", "10.0.0.12", "cd /var/lib/etcd && rm -rf member")
ssh("cut", "10.0.0.12", "iptables -I INPUT -p tcp --dport 2380 -j DROP")
ssh("fetched", "10.0.0.12", "curl -fsSL https://example.org/roll.sh | sh")
ssh("note", "10.0.0.12", "echo 'systemctl stop etcd' >> /root/notes; rm -f /tmp/quorate.lock  # then reboot")
