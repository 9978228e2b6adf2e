"""Jobs, which must complete before the processes of a project start, and actions, which are CronJobs.

A Job's pod template is immutable, so the Job's name contains a digest of its content. Changed content creates a new
Job; unchanged content does not run again. A CronJob keeps its name, because its Jobs are created from its template, by
the schedule or by `quorate action`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pulumi

import contract
from blueprint.plan.layout import ServicePlan
from blueprint.stackfile.settings import Settings
from components.kubernetes_api import batch, core, meta
from components.openstack import affinity, labels, storage
from components.openstack.pod import pull_secrets
from components.openstack.scope import Scope
from components.secrets import placeholder
from openstack import images, kolla
from openstack.config import sections
from openstack.config.layers import Reveal
from openstack.config.overrides import with_options
from openstack.definition import ActionDefinition, ClaimMount, JobDefinition, ProjectDefinition

ATTEMPTS = 6
"""Further attempts of a failed Job: Kubernetes' default. Kubernetes waits 10, 20, 40, … seconds between attempts."""
NEVER = "0 0 1 1 *"
"""The schedule in the CronJob of an action without a schedule. The CronJob is suspended, so that it never runs."""
LATEST = 3600
"""Seconds by which a scheduled run may start late, for example after a restart of the control plane."""
RESOURCES = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}
"""Resources of every job's container. Project figures, not measured."""


@dataclass(frozen=True)
class JobArgs:
    """A job of a project, and the process on whose nodes the job runs."""

    definition: JobDefinition
    project: ProjectDefinition
    placement: ServicePlan
    """The plan's entry of the process on whose pools of nodes the job runs."""
    settings: Settings
    scope: Scope
    mounts: tuple[ClaimMount, ...] = ()

    @cached_property
    def files(self) -> kolla.FileSet:
        """The files of the job's pod: its own files, and the files of its project that it reads."""
        project = self.project.configure(self.scope.wiring, self.definition.name)
        wanted = {file.name for file in self.definition.files}
        named = (file for file in project if file.name in wanted)
        if self.definition.long_statements:
            named = (sections.with_long_statements(file) for file in named)
        configured = (with_options(file, self.settings, self.project.name, service=None) for file in named)
        return kolla.FileSet((*self.definition.written, *configured))


def job(name: str, args: JobArgs, opts: pulumi.ResourceOptions, first: Sequence[pulumi.Resource]) -> batch.Job:
    """Creates a Job with its ConfigMap and its Secret object. The Job is created after the resources of `first`."""
    data, before = _files(name, args, opts)
    spec = batch.JobSpecArgs(backoff_limit=ATTEMPTS, template=_template(args))
    opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[*first, *before]))
    return batch.Job(
        name, metadata=_metadata(args, f"{args.definition.name}-{_digest(args, data)}"), spec=spec, opts=opts
    )


def action(name: str, definition: ActionDefinition, args: JobArgs, opts: pulumi.ResourceOptions) -> batch.CronJob:
    """Creates the CronJob of an action such as a backup, with its ConfigMap and its Secret object."""
    _, before = _files(name, args, opts)
    job = batch.JobSpecArgs(
        backoff_limit=definition.attempts - 1, active_deadline_seconds=definition.deadline, template=_template(args)
    )
    spec = batch.CronJobSpecArgs(
        # A suspended CronJob needs a schedule as well.
        schedule=definition.schedule or NEVER,
        suspend=definition.schedule is None,
        time_zone="Etc/UTC",
        # A late or long run must not overlap with the next run.
        concurrency_policy="Forbid",
        starting_deadline_seconds=LATEST,
        job_template=batch.JobTemplateSpecArgs(metadata=meta.ObjectMetaArgs(labels=_labels(args)), spec=job),
    )
    annotations = {contract.ACTION: definition.purpose, contract.ACTION_REQUIRES: definition.requires}
    if definition.tests:
        annotations[contract.TESTS_BACKUP] = definition.tests
    metadata = meta.ObjectMetaArgs(
        name=args.definition.name, namespace=args.scope.environment, labels=_labels(args), annotations=annotations
    )
    opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=before))
    return batch.CronJob(name, metadata=metadata, spec=spec, opts=opts)


def _files(name: str, args: JobArgs, opts: pulumi.ResourceOptions) -> tuple[dict[str, str], list[pulumi.Resource]]:
    """Creates the ConfigMap of a job, and its Secret object if it has secrets.

    Returns the ConfigMap's content and the created objects.
    """
    data = kolla.job_data(args.definition, args.files)
    before: list[pulumi.Resource] = [
        core.ConfigMap(f"{name}-kolla", metadata=_metadata(args, _config_name(args)), data=data, opts=opts)
    ]
    if _secret_names(args):
        written = args.scope.keyring.written(lambda reveal: _secret_data(args, reveal))
        metadata = _metadata(args, _secret_name(args))
        before.append(
            core.Secret(f"{name}-secrets", metadata=metadata, string_data=written, opts=args.scope.for_secrets(opts))
        )
    return data, before


def _metadata(args: JobArgs, name: str) -> meta.ObjectMetaArgs:
    return meta.ObjectMetaArgs(name=name, namespace=args.scope.environment, labels=_labels(args))


def _labels(args: JobArgs) -> dict[str, str]:
    return labels.named(args.definition.name, args.project.name)


def _config_name(args: JobArgs) -> str:
    return f"{args.definition.name}-kolla"


def _secret_name(args: JobArgs) -> str:
    return f"{args.definition.name}-secrets"


def _secret_names(args: JobArgs) -> frozenset[str]:
    return args.files.secret_names() | {secret.key for _, secret in args.definition.secrets}


def _secret_data(args: JobArgs, reveal: Reveal) -> dict[str, str]:
    """Returns the content of the job's Secret object: its files with secrets, and its secret environment variables."""
    return args.files.secret(reveal) | {
        variable: secret.revealed(reveal) for variable, secret in args.definition.secrets
    }


def _digest(args: JobArgs, data: dict[str, str]) -> str:
    """Returns a digest of the job's image, files, variables and secret generations, and what pulls the image.

    It does not depend on the secrets.
    """
    generations = {name: args.scope.keyring.generation(name) for name in sorted(_secret_names(args))}
    content: list[object] = [
        _image(args),
        data,
        _secret_data(args, placeholder),
        args.definition.environment,
        generations,
    ]
    if names := args.settings.images.secrets_of_pods:  # without any, Jobs keep their names
        content.append(names)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]


def _image(args: JobArgs) -> str:
    return images.kolla_reference(args.definition.image, args.settings)


def _template(args: JobArgs) -> core.PodTemplateSpecArgs:
    copied = args.files.copied(args.definition.files)
    mounted = [core.KeyToPathArgs(key="config.json", path="config.json"), *_items(copied, kolla.DIRECTORY)]
    volumes = [
        core.VolumeArgs(name="kolla", config_map=core.ConfigMapVolumeSourceArgs(name=_config_name(args), items=mounted))
    ]
    mounts = [core.VolumeMountArgs(name="kolla", mount_path=kolla.DIRECTORY, read_only=True)]
    if secret := _items(copied, kolla.SECRETS):
        source = core.SecretVolumeSourceArgs(secret_name=_secret_name(args), items=secret)
        volumes.append(core.VolumeArgs(name="secrets", secret=source))
        mounts.append(core.VolumeMountArgs(name="secrets", mount_path=kolla.SECRETS, read_only=True))
    for each in args.mounts:
        source = core.PersistentVolumeClaimVolumeSourceArgs(claim_name=each.claim)
        volumes.append(core.VolumeArgs(name=each.name, persistent_volume_claim=source))
        mounts.append(core.VolumeMountArgs(name=each.name, mount_path=each.path, read_only=each.read_only or None))
    container = core.ContainerArgs(
        name=args.definition.name,
        image=_image(args),
        image_pull_policy="IfNotPresent",
        env=_environment(args),
        resources=core.ResourceRequirementsArgs(requests=RESOURCES["requests"], limits=RESOURCES["limits"]),
        security_context=core.SecurityContextArgs(seccomp_profile=core.SeccompProfileArgs(type="RuntimeDefault")),
        volume_mounts=mounts,
    )
    return core.PodTemplateSpecArgs(
        # The annotation lets rules accept the job on the nodes of the process that `placement` describes.
        metadata=meta.ObjectMetaArgs(labels=_labels(args), annotations={contract.COMPANION_OF: args.placement.row}),
        spec=core.PodSpecArgs(
            image_pull_secrets=pull_secrets(args.settings),
            automount_service_account_token=False,
            enable_service_links=False,
            # Each attempt is a pod of its own, whose log stays. With OnFailure the pod is deleted with its log after
            # the last attempt (Kubernetes documentation, Jobs, Pod backoff failure policy).
            restart_policy="Never",
            priority_class_name=storage.priority(args.scope.environment, quorum=False),
            affinity=affinity.on_pools(args.placement),
            tolerations=affinity.tolerations(args.placement),
            containers=[container],
            volumes=volumes,
        ),
    )


def _items(copied: Sequence[kolla.Copied], directory: str) -> list[core.KeyToPathArgs]:
    return [core.KeyToPathArgs(key=each.name, path=each.name) for each in copied if each.directory == directory]


def _environment(args: JobArgs) -> list[core.EnvVarArgs]:
    fixed = (("KOLLA_CONFIG_STRATEGY", kolla.STRATEGY), *args.definition.environment)
    return [
        *(core.EnvVarArgs(name=name, value=value) for name, value in fixed),
        *(
            core.EnvVarArgs(
                name=variable,
                value_from=core.EnvVarSourceArgs(
                    secret_key_ref=core.SecretKeySelectorArgs(name=_secret_name(args), key=variable)
                ),
            )
            for variable, _ in args.definition.secrets
        ),
    ]
