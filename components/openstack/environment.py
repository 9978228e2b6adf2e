"""An OpenStack environment: a namespace with its shared objects, and the OpenStack projects that the plan contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pulumi

import contract
from blueprint.openstack.projects.process_definition import ProcessDefinition
from blueprint.plan.layout import ServicePlan
from blueprint.plan.plan import Plan
from blueprint.stackfile.image_settings import ACCOUNTS
from components import registry_accounts
from components.component import Component, Facts, plain
from components.kubernetes_api import core, meta
from components.openstack import ingress, labels, network_policies, storage
from components.openstack.project import Project, ProjectArgs
from components.openstack.scope import Scope
from components.registry_accounts import Accounts
from components.secrets import Keyring
from components.target import Target
from openstack import ceph_client
from openstack.config.wiring import Wiring, wiring
from openstack.definition import ProjectDefinition
from openstack.project_definitions import projects

CONTENT = ".dockerconfigjson"
"""Key of the only text in a Secret with accounts for registries."""


@dataclass(frozen=True)
class EnvironmentArgs:
    """A finished plan, the name of the environment that the plan describes, the target and the root secret."""

    name: str
    """Name of the namespace, and part of the name of every cluster-scoped object."""
    plan: Plan
    target: Target
    root_secret: pulumi.Output[str] | None
    """The secret from which all other secrets of the cloud are derived; None in a preview without the passphrase."""
    given_secrets: pulumi.Output[dict[str, str]] | None = None
    """Values of the secrets that other systems gave, by name; None if the stack has none."""


class Environment(Component[EnvironmentArgs]):
    """One OpenStack cloud in a namespace of a Kubernetes cluster. A cluster may contain several clouds."""

    token = contract.ENVIRONMENT

    @staticmethod
    def facts(args: EnvironmentArgs) -> Facts:
        around = wiring(args.plan, args.name)
        return plain(
            environment=args.name,
            release=args.plan.settings.release,
            projects=[each.name for each in projects(around.records) if _is_built(args.plan, each, around)],
        )

    def build(self, name: str, args: EnvironmentArgs) -> None:
        foundation = storage.foundation(name, args.name, self.child())
        replaced = args.plan.settings.secrets
        generations = {name: each.generation for name, each in replaced.items()}
        keyring = Keyring(args.name, args.root_secret, generations, args.given_secrets)
        around = wiring(args.plan, args.name)
        nodes = network_policies.node_networks(args.plan)
        scope = Scope(args.name, around, keyring, nodes, foundation, args.target.secrets)
        if accounts := args.plan.settings.images.accounts:
            scope = _with_accounts(name, scope, accounts, self.child(depends_on=[foundation.namespace]))
        built: dict[str, Project] = {}
        last_quorum: Sequence[pulumi.Resource] = ()
        for project in projects(around.records):
            if _is_built(args.plan, project, around):
                placements = _placements(args.plan, project)
                needs = [each for other in project.needs if other in built for each in built[other].workloads]
                beside = _beside(args.plan, project)
                arguments = ProjectArgs(project, args.plan, placements, beside, scope, needs, last_quorum)
                made = built[project.name] = Project(f"{name}-{project.name}", arguments, self.child())
                last_quorum = made.last_quorum
        if args.plan.settings.ingress:
            opts = self.child(depends_on=[foundation.namespace])
            ingress.ingress(name, args.plan.settings.ingress, around, opts)


def _with_accounts(name: str, scope: Scope, accounts: Accounts, opts: pulumi.ResourceOptions) -> Scope:
    """Creates the Secret with accounts for registries, on which the scope's workloads then depend."""
    content = scope.keyring.written(lambda reveal: {CONTENT: registry_accounts.docker_config(accounts, reveal)})
    secret = core.Secret(
        f"{name}-{ACCOUNTS}",
        metadata=meta.ObjectMetaArgs(name=ACCOUNTS, namespace=scope.environment, labels=labels.common()),
        type="kubernetes.io/dockerconfigjson",
        string_data=content,
        opts=scope.for_secrets(opts),
    )
    first = replace(scope.foundation, classes=[*scope.foundation.classes, secret])
    return replace(scope, foundation=first)


def _is_built(plan: Plan, project: ProjectDefinition, around: Wiring) -> bool:
    """Whether the project gets a component: the plan contains one of its processes, or it has jobs but no processes."""
    if project.processes:
        return bool(_placements(plan, project))
    return bool(project.jobs(around))


def _beside(plan: Plan, project: ProjectDefinition) -> ServicePlan:
    """Returns the plan's entry of the process on whose nodes the project's jobs run.

    This is the project's first process, or the first process of a project that it needs.
    """
    for each in (project, *(other for other in projects(plan.settings.records) if other.name in project.needs)):
        if placements := _placements(plan, each):
            return placements[0][1]
    raise ValueError(f"project {project.name} has no process in the plan")


def _placements(plan: Plan, project: ProjectDefinition) -> tuple[tuple[ProcessDefinition, ServicePlan], ...]:
    """Returns the project's processes that the plan contains, each with its entry in the plan.

    A process with several workloads is returned once for each workload, under the workload's name.
    """
    external = plan.settings.external_ceph
    return tuple(
        (ceph_client.placed(replace(process, name=name), external), placement)
        for process in project.processes
        for name, placement in plan.workloads
        if placement.process == process.name
    )
