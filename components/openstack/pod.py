"""Pod template of a process: containers with probes, volumes and resources.

Kolla's start script calls sudo, so containers must allow privilege escalation. Unprivileged containers use the
runtime's seccomp profile. Service links are disabled, because they set the variable `RABBITMQ_PORT=tcp://…`, with which
RabbitMQ fails.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import contract
from blueprint.openstack.projects.process_definition import (
    Container,
    HostPath,
    ProcessDefinition,
    Resources,
)
from blueprint.plan.layout import ServicePlan
from blueprint.stackfile.settings import Settings
from components.kubernetes_api import core, meta
from components.openstack import affinity, labels, probes, storage
from components.openstack.scope import Scope
from components.secrets import placeholder
from openstack import data, images, kolla, node_values

DEREGISTRATION = 10
"""Seconds that a terminating pod behind a Service continues to serve: until kube-proxy on every node has removed it and
added the pod that has become Ready before. kube-proxy writes its rules once a second; large clusters and busy hosts
need longer. Project figure."""
_NODES = "node-values"


@dataclass(frozen=True)
class Pod:
    """The inputs from which the pod template of a process's workload is built."""

    process: ProcessDefinition
    placement: ServicePlan
    files: kolla.FileSet
    scope: Scope
    settings: Settings
    resources: Resources
    annotations: Mapping[str, str]
    """Annotations of the workload, which are also set on its pods."""
    config_map: str | None
    """Name of the process's ConfigMap; None if the process has no files."""
    data: Mapping[str, str]
    """Content of the process's ConfigMap."""

    @property
    def environment(self) -> str:
        return self.scope.environment

    @property
    def is_balanced(self) -> bool:
        return has_cluster_ip(self.process, self.placement)

    def template(self) -> core.PodTemplateSpecArgs:
        """Returns the pod template for the process's Deployment, StatefulSet or DaemonSet."""
        # Files with secrets count too, with placeholders: a changed password has an annotation of its own.
        content = [self.data, self.files.secret(placeholder)]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
        annotations = {**self.annotations, contract.CONFIG: digest}
        if names := sorted(self.files.secret_names()):
            generations = (f"{name}={self.scope.keyring.generation(name)}" for name in names)
            annotations[contract.SECRET_GENERATIONS] = ",".join(generations)
        return core.PodTemplateSpecArgs(
            metadata=meta.ObjectMetaArgs(labels=labels.of(self.process), annotations=annotations), spec=self._spec()
        )

    def _spec(self) -> core.PodSpecArgs:
        process = self.process
        shares = split(self.resources, [container.share for container in process.containers])
        return core.PodSpecArgs(
            service_account_name=process.name,
            image_pull_secrets=pull_secrets(self.settings),
            automount_service_account_token=process.lease,
            enable_service_links=False,
            priority_class_name=self._priority(),
            host_network=process.host_network or None,
            host_pid=process.host_pid or None,
            host_ipc=process.host_ipc or None,
            dns_policy="ClusterFirstWithHostNet" if process.host_network else None,
            termination_grace_period_seconds=process.grace + (DEREGISTRATION if self.is_balanced else 0),
            security_context=core.PodSecurityContextArgs(
                fs_group=process.uid, fs_group_change_policy="OnRootMismatch" if process.claim else None
            ),
            affinity=affinity.affinity(self.placement),
            tolerations=affinity.tolerations(self.placement),
            topology_spread_constraints=affinity.spread(self.placement),
            containers=[
                self._container(container, share) for container, share in zip(process.containers, shares, strict=True)
            ],
            volumes=self._volumes(),
        )

    def _priority(self) -> str:
        if self.placement.every_node:
            return storage.NODE_CRITICAL
        return storage.priority(self.environment, quorum=self.placement.quorum)

    def _container(self, container: Container, resources: core.ResourceRequirementsArgs) -> core.ContainerArgs:
        main = container is self.process.containers[0]
        times = self.placement.override.probes
        return core.ContainerArgs(
            name=container.name,
            image=images.reference(container, self.settings, self.placement.override, main=main),
            image_pull_policy="IfNotPresent",
            command=None if container.kolla else ["bash", "-ec"],
            args=None if container.kolla else [container.command],
            env=_environment(container),
            ports=[
                core.ContainerPortArgs(
                    name=port.name,
                    container_port=port.number,
                    host_port=port.number if port.on_node else None,
                    protocol=port.protocol,
                )
                for port in container.ports
                if port.last is None
            ]
            or None,
            readiness_probe=probes.readiness(container, times.readiness),
            liveness_probe=probes.liveness(container, times.liveness, quorum=self.placement.quorum),
            startup_probe=probes.startup(container, times.startup),
            lifecycle=_lifecycle() if self.is_balanced else None,
            resources=resources,
            security_context=_security(container),
            volume_mounts=self._mounts(container),
        )

    def _mounts(self, container: Container) -> list[core.VolumeMountArgs] | None:
        mounts = [_host_mount(path) for path in container.host_paths]
        if self.config_map:
            # An image without Kolla's start script copies no files, so they are mounted where the program reads them.
            path = kolla.DIRECTORY if container.kolla else f"/etc/{container.image}"
            mounts.append(core.VolumeMountArgs(name=_files(container), mount_path=path, read_only=True))
        if self._copied(container, kolla.SECRETS):
            mounts.append(core.VolumeMountArgs(name=_secrets(container), mount_path=kolla.SECRETS, read_only=True))
        if container.node_values:
            mounts.append(core.VolumeMountArgs(name=_NODES, mount_path=node_values.DIRECTORY, read_only=True))
        if container.data:
            mounts.append(core.VolumeMountArgs(name=storage.CLAIM, mount_path=container.data))
        return mounts or None

    def _volumes(self) -> list[core.VolumeArgs] | None:
        root = PurePosixPath(data.root(self.environment))
        paths = {path.name: path for container in self.process.containers for path in container.host_paths}
        volumes = [
            core.VolumeArgs(
                name=name,
                # An absolute path is used as it is, a relative path is below the environment's directory.
                host_path=core.HostPathVolumeSourceArgs(path=str(root / path.path), type="DirectoryOrCreate"),
            )
            for name, path in paths.items()
        ]
        if self.config_map:
            volumes += [self._files_volume(container) for container in self.process.containers]
        volumes += [
            self._secrets_volume(container)
            for container in self.process.containers
            if self._copied(container, kolla.SECRETS)
        ]
        if any(container.node_values for container in self.process.containers):
            # The volume is optional and has the files of all nodes, so that the pod template does not depend on the
            # values: a value for one node changes no pod of another node.
            name = node_values.config_map(self.process.name)
            source = core.ConfigMapVolumeSourceArgs(name=name, optional=True)
            volumes.append(core.VolumeArgs(name=_NODES, config_map=source))
        return volumes or None

    def _copied(self, container: Container, directory: str) -> list[core.KeyToPathArgs]:
        """Returns volume items: the files that a container copies from `directory`, a mounted ConfigMap or Secret."""
        copied = self.files.copied(kolla.destinations(self.process, container, self.files))
        return [core.KeyToPathArgs(key=each.name, path=each.name) for each in copied if each.directory == directory]

    def _secrets_volume(self, container: Container) -> core.VolumeArgs:
        source = core.SecretVolumeSourceArgs(
            secret_name=f"{self.process.name}-secrets", items=self._copied(container, kolla.SECRETS)
        )
        return core.VolumeArgs(name=_secrets(container), secret=source)

    def _files_volume(self, container: Container) -> core.VolumeArgs:
        """Returns the ConfigMap volume of a container, with its files and its config.json."""
        items = self._copied(container, kolla.DIRECTORY)
        if container.kolla:
            items.insert(0, core.KeyToPathArgs(key=kolla.key(self.process, container), path="config.json"))
        return core.VolumeArgs(
            name=_files(container), config_map=core.ConfigMapVolumeSourceArgs(name=self.config_map, items=items)
        )


def _lifecycle() -> core.LifecycleArgs:
    return core.LifecycleArgs(pre_stop=core.LifecycleHandlerArgs(sleep=core.SleepActionArgs(seconds=DEREGISTRATION)))


def has_cluster_ip(process: ProcessDefinition, placement: ServicePlan) -> bool:
    """Whether the process has a Service with a cluster IP. Processes behind a proxy, such as Galera, have none."""
    return placement.load_balancer and bool(process.exposed)


def pull_secrets(settings: Settings) -> list[core.LocalObjectReferenceArgs] | None:
    """Returns the names of the Secrets with accounts for registries; None for none, since nodes may have accounts."""
    return [core.LocalObjectReferenceArgs(name=name) for name in settings.images.secrets_of_pods] or None


def split(resources: Resources, shares: Sequence[int]) -> list[core.ResourceRequirementsArgs]:
    """Divides the resources of a pod among its containers, in proportion to `shares`. The parts add up to the whole."""
    cpu, memory = divide(resources.cpu_m, shares), divide(resources.memory_mi, shares)
    most = divide(resources.limit_memory_mi, shares)
    most_cpu = divide(resources.limit_cpu_m, shares) if resources.limit_cpu_m else None
    return [
        core.ResourceRequirementsArgs(
            requests={"cpu": f"{cpu[index]}m", "memory": f"{memory[index]}Mi"},
            limits={"memory": f"{most[index]}Mi"} | ({"cpu": f"{most_cpu[index]}m"} if most_cpu else {}),
        )
        for index in range(len(shares))
    ]


def divide(total: int, shares: Sequence[int]) -> list[int]:
    """Divides `total` into whole parts in proportion to `shares`; the remainder goes to the first part."""
    parts = [total * share // sum(shares) for share in shares]
    return [parts[0] + total - sum(parts), *parts[1:]]


def _files(container: Container) -> str:
    return f"{'kolla' if container.kolla else 'config'}-{container.name}"


def _secrets(container: Container) -> str:
    return f"secrets-{container.name}"


def _host_mount(path: HostPath) -> core.VolumeMountArgs:
    return core.VolumeMountArgs(
        name=path.name,
        mount_path=path.mount or path.path,
        read_only=path.read_only or None,
        mount_propagation="Bidirectional" if path.shared else None,
    )


def _environment(container: Container) -> list[core.EnvVarArgs]:
    if container.kolla:
        fixed = (("KOLLA_CONFIG_STRATEGY", kolla.STRATEGY), *container.environment.items())
        return [
            *(core.EnvVarArgs(name=name, value=value) for name, value in fixed),
            *(_field(name, "status.hostIP") for name in container.node_address),
            *(_field(name, "spec.nodeName") for name in container.node_name),
            *([_field(node_values.VARIABLE, "spec.nodeName")] if container.node_values else []),
        ]
    fields = {"POD_NAME": "metadata.name", "POD_IP": "status.podIP", "NODE_NAME": "spec.nodeName"}
    return [_field(name, path) for name, path in fields.items()]


def _field(name: str, path: str) -> core.EnvVarArgs:
    source = core.EnvVarSourceArgs(field_ref=core.ObjectFieldSelectorArgs(field_path=path))
    return core.EnvVarArgs(name=name, value_from=source)


def _security(container: Container) -> core.SecurityContextArgs:
    if container.privileged:
        return core.SecurityContextArgs(privileged=True)
    profile = core.SeccompProfileArgs(type="RuntimeDefault")
    return core.SecurityContextArgs(seccomp_profile=profile, run_as_user=0 if container.user == "root" else None)
