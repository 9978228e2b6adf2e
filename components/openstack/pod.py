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
    CommandProbe,
    Connection,
    Container,
    HostPath,
    Http,
    Probe,
    ProcessDefinition,
    Resources,
    Tcp,
)
from blueprint.plan.layout import ServicePlan
from blueprint.stackfile.settings import Settings
from components.kubernetes_api import core, meta
from components.openstack import affinity, labels, storage
from components.openstack.scope import Scope
from components.secrets import placeholder
from openstack import data, images, kolla, node_values

PERIOD = 10
"""Seconds between two probes, Kubernetes' default."""
COMMAND_PERIOD = 30
"""Seconds between two commands of a readiness or startup probe. Each takes CPU of the container runtime too: 0.1 s or
more, and when the power of a server is back, those of all its containers compete with their start. Project figure."""
SLOW_COMMAND_PERIOD = 60
"""The same for liveness probes, and for the readiness of processes that no Service sends clients to. Project figure."""
CONNECT = 11
"""Minutes that a process without an API may take to connect for the first time before kubelet restarts it. An agent of
Neutron was seen to hang in its start for good. If RabbitMQ is away for long, kubelet's delay between two restarts stays
at 10 s, because these are more than 10 minutes (twice its MaxContainerBackOff). Project figure."""
STALL = 2
"""Minutes that a member of a quorum may not respond before kubelet restarts it. On a host that stalls, a restarted
member would be missing for longer: it has to recover, and a database to receive what it missed. The default of 30 s
restarted two members of Galera on a host that was short of memory. Project figure."""
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
        return core.ContainerArgs(
            name=container.name,
            image=images.reference(container, self.settings, self.placement.override, main=main),
            image_pull_policy="IfNotPresent",
            command=None if container.kolla else ["bash", "-ec"],
            args=None if container.kolla else [container.command],
            env=_environment(container),
            ports=[
                core.ContainerPortArgs(name=port.name, container_port=port.number, protocol=port.protocol)
                for port in container.ports
            ]
            or None,
            readiness_probe=_readiness_probe(container.ready),
            liveness_probe=self._liveness_probe(container),
            startup_probe=_startup_probe(container),
            lifecycle=_lifecycle() if self.is_balanced else None,
            resources=resources,
            security_context=_security(container),
            volume_mounts=self._mounts(container),
        )

    def _liveness_probe(self, container: Container) -> core.ProbeArgs | None:
        if isinstance(container.alive, CommandProbe):
            return _probe(container.alive, SLOW_COMMAND_PERIOD)
        failures = STALL * 60 // PERIOD if self.placement.quorum else None
        return _probe(container.alive, failures=failures) if container.alive else None

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


def _startup_probe(container: Container) -> core.ProbeArgs | None:
    """Returns the probe that delays the liveness probe, or that restarts a process which does not connect."""
    if isinstance(container.ready, Connection):
        return _startup(container.ready, CONNECT)
    alive = container.alive
    if isinstance(container.ready, Http) and alive == Tcp(container.ready.port):
        # uWSGI accepts connections before it has loaded the API. Without an answer they fill its queue of 100, and then
        # the liveness probe fails.
        alive = container.ready
    return _startup(alive, container.patience) if alive else None


def _startup(probe: Probe, minutes: int) -> core.ProbeArgs:
    period = COMMAND_PERIOD if isinstance(probe, CommandProbe) else PERIOD
    return _probe(probe, period, failures=minutes * 60 // period)


def _readiness_probe(probe: Probe) -> core.ProbeArgs:
    if isinstance(probe, Connection):
        return _probe(probe, SLOW_COMMAND_PERIOD)
    return _probe(probe, COMMAND_PERIOD if isinstance(probe, CommandProbe) else PERIOD)


def _probe(probe: Probe, period: int = PERIOD, *, failures: int | None = None) -> core.ProbeArgs:
    timeout = probe.timeout if isinstance(probe, CommandProbe) else 5
    return core.ProbeArgs(
        http_get=core.HTTPGetActionArgs(port=probe.port, path=probe.path) if isinstance(probe, Http) else None,
        exec_=core.ExecActionArgs(command=list(probe.command)) if isinstance(probe, CommandProbe) else None,
        tcp_socket=core.TCPSocketActionArgs(port=probe.port) if isinstance(probe, Tcp) else None,
        period_seconds=period,
        timeout_seconds=timeout,
        failure_threshold=failures,
    )
