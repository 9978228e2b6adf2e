"""The Pulumi program: loads the settings, computes the plan and registers the cloud's resources."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pulumi
from pulumi import runtime

import contract
from blueprint.openstack import given_secret
from blueprint.plan import plan_json, planner
from blueprint.plan.plan import Plan
from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile import given_secrets, loader
from blueprint.stackfile.root_secret import WithoutRootSecret, is_own
from components import previous, target
from components.cloud import Cloud, CloudArgs
from components.k8s_master import backup_copies
from components.k8s_master.pki import Pki
from components.secrets import Keyring
from components.target import Target
from components.target.live import Live
from components.target.render import Render
from components.virt_host import validation
from components.virt_host.host_keys import HostKeys
from console.errors import UserError
from files import handover_record
from openstack import project_definitions

if TYPE_CHECKING:
    from components.target.hypervisors import Hypervisors

SHOWN = 32
"""Exit code of a Pulumi program that has already reported its error, so that Pulumi prints no traceback."""


def _dropped(*_: object, **__: object) -> None:
    """Replaces the Pulumi SDK's `log.debug` and does nothing: sending debug messages took a quarter of a preview."""


def _end(*_: object) -> None:
    """Ends the program at SIGINT, which Pulumi's language host sends when an update has failed or was interrupted.

    Pulumi has reported that already. Without this, Python would add a traceback of what the program was doing.
    """
    os._exit(SHOWN)


def main() -> None:
    """Registers the resources of the stack that Pulumi previews or updates.

    Writes plan.json, and the stack's outputs.
    """
    signal.signal(signal.SIGINT, _end)
    pulumi.log.debug = _dropped
    gc.disable()  # the program ends when all is registered; garbage collection took a fifth of its time
    stack = pulumi.get_stack()
    if not runtime.is_dry_run() and is_own(os.environ.get("PULUMI_BACKEND_URL")):
        handover_record.require_in_charge(Path.cwd())
    plan = planner.plan(loader.from_pulumi(runtime.get_config_env(), runtime.get_config_secret_keys_env(), stack))
    # Before anything is registered, because a Python file of a stack's own project may fail to import.
    project_definitions.projects(plan.settings.records)
    plan_json.write(plan, Path(target.directory(stack)) / "plan.json")
    for warning in (*plan.warnings, *validation.warnings(plan.machines, plan.settings.template)):
        pulumi.warn(warning)

    root_secret = _root_secret(plan, stack)
    if not runtime.is_dry_run():
        Path(target.secrets_directory(stack)).mkdir(mode=0o700, exist_ok=True)

    landing = _target(plan, stack, root_secret)
    given = _given_secrets(plan)
    cloud = Cloud("cloud", CloudArgs(plan, stack, landing, root_secret, given), landing.options())
    history = previous.Previous("previous", plan, pulumi.ResourceOptions(depends_on=[cloud]))

    pulumi.export("architecture", plan.architecture.name)
    pulumi.export("plan", str(target.directory(stack) / "plan.json"))
    pulumi.export("services", {service.name: service.instances for service in plan.services})
    pulumi.export(contract.QUORUM_STATE_OUTPUT, history.standing)
    pulumi.export(contract.VERSIONS_OUTPUT, history.versions)
    if copies := plan.settings.backups.copies:
        keyring = Keyring("kubernetes", root_secret, given=given)
        pulumi.export(contract.BACKUP_STORE_OUTPUT, backup_copies.opened(copies, keyring))


def _root_secret(plan: Plan, stack: str) -> pulumi.Output[str] | None:
    """Returns the stack's root secret; None, with a warning, in a preview without one."""
    if configured := pulumi.Config("quorate").get_secret("rootSecret"):
        return configured
    others = bool(runtime.get_config_secret_keys_env())
    absent = WithoutRootSecret(plan.settings, stack, os.environ.get("PULUMI_BACKEND_URL"), others)
    if generated := absent.generated():
        return pulumi.Output.secret(generated)
    if not runtime.is_dry_run():
        raise InvalidStackError([Problem("quorate:rootSecret", absent.missing())])
    pulumi.warn(absent.placeholders())
    return None


def _given_secrets(plan: Plan) -> pulumi.Output[dict[str, str]] | None:
    """Returns the secrets that other systems gave; None if the stack has none. A preview warns of missing ones."""
    wanted = given_secrets.used(plan.settings)
    if not wanted:
        return None
    values, problems = given_secrets.read(wanted, os.environ)
    if problems and not runtime.is_dry_run():
        raise InvalidStackError(problems)
    for problem in problems:
        pulumi.warn(f"{problem}; this preview has a placeholder instead")
    sealed = pulumi.Config("quorate").get_secret_object(given_secrets.COPIED) or pulumi.Output.secret({})
    return pulumi.Output.secret(sealed).apply(
        lambda found: {f"{given_secret.PREFIX}{name}": str(text) for name, text in found.items()} | values
    )


def _target(plan: Plan, stack: str, root_secret: pulumi.Output[str] | None) -> Target:
    """Returns the target of a stack: rendered files, a running cluster, or machines that are set up over SSH."""
    if not plan.settings.is_live:
        return Render(stack)
    if plan.settings.cluster:
        return Live(plan.settings.cluster)
    from components.target.ssh import SshTarget  # noqa: PLC0415 - loads an SDK that only this target needs

    first, *others = plan.masters
    master = next((each for each in others if each.name == os.environ.get(contract.API_SERVER)), first)
    administrator = Pki(Keyring("kubernetes", root_secret), plan.settings.certificates).kubeconfig(master)
    pulumi.export(contract.KUBECONFIG_OUTPUT, administrator)
    return SshTarget(stack, plan.settings.ssh, plan.machines, administrator, _hypervisors(plan, stack, root_secret))


def _hypervisors(plan: Plan, stack: str, root_secret: pulumi.Output[str] | None) -> Hypervisors | None:
    """Returns what makes the stack's virtual machines with libvirt; None if it makes none."""
    if plan.settings.virt is None:
        return None
    from components.target.hypervisors import Hypervisors  # noqa: PLC0415 - loads an SDK that only these stacks need

    return Hypervisors(stack, plan.settings, plan.hosts, HostKeys(Keyring("ssh", root_secret)))


try:
    main()
except InvalidStackError as refused:
    pulumi.log.error(
        "The stack is invalid. Nothing was changed.\n" + "\n".join(f"  {problem}" for problem in refused.problems)
    )
    sys.exit(SHOWN)
except UserError as refused:
    pulumi.log.error(str(refused))
    sys.exit(SHOWN)
