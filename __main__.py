"""The Pulumi program: loads the settings, computes the plan and registers the cloud's resources."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pulumi
from pulumi import runtime

import contract
from blueprint.plan import planner
from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile import loader
from components import previous, target
from components.cloud import Cloud, CloudArgs
from components.target.live import Live
from components.target.render import Render

SHOWN = 32
"""Exit code of a Pulumi program that has already reported its error, so that Pulumi prints no traceback."""


def _dropped(*_: object, **__: object) -> None:
    """Replaces the Pulumi SDK's `log.debug` and does nothing: sending debug messages took a quarter of a preview."""


def main() -> None:
    """Registers the resources of the stack that Pulumi previews or updates.

    Writes plan.json, and the stack's outputs.
    """
    pulumi.log.debug = _dropped
    gc.disable()  # the program ends when all is registered; garbage collection took a fifth of its time
    stack = pulumi.get_stack()
    plan = planner.plan(loader.from_pulumi(runtime.get_config_env(), runtime.get_config_secret_keys_env()))
    plan.write(Path(target.directory(stack)) / "plan.json")
    for warning in plan.warnings:
        pulumi.warn(warning)

    root_secret = pulumi.Config("quorate").get_secret("rootSecret")
    if not runtime.is_dry_run():
        if root_secret is None:
            raise InvalidStackError([Problem("quorate:rootSecret", loader.ROOT_IS_MISSING)])
        Path(target.secrets_directory(stack)).mkdir(mode=0o700, exist_ok=True)

    cluster = plan.settings.cluster
    landing = Live(cluster) if cluster and plan.settings.target == "live" else Render(stack)
    cloud = Cloud("cloud", CloudArgs(plan, stack, landing, root_secret), landing.options())
    history = previous.Previous("previous", previous.quorum_state(plan), pulumi.ResourceOptions(depends_on=[cloud]))

    pulumi.export("architecture", plan.architecture.name)
    pulumi.export("plan", str(target.directory(stack) / "plan.json"))
    pulumi.export("services", {service.name: service.instances for service in plan.services})
    pulumi.export(contract.QUORUM_STATE_OUTPUT, history.standing)


try:
    main()
except InvalidStackError as refused:
    pulumi.log.error(
        "The stack is invalid. Nothing was changed.\n" + "\n".join(f"  {problem}" for problem in refused.problems)
    )
    sys.exit(SHOWN)
