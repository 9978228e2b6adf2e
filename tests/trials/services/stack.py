"""The rendered objects of an example stack: what its program sends to Kubernetes, under the SDK's mocks.

The engine writes the same objects as files (tests/engine); without it, a stack takes seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pulumi
from pulumi.runtime import rpc

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Settings
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from tests.recording import record
from tests.stacks import STACKS


def documents(stack: str, **changed: Any) -> list[dict[str, Any]]:
    """Returns every Kubernetes object of a stack file, with some settings changed."""
    return objects(load_file(STACKS[stack]).model_copy(update=changed), stack)


def objects(settings: Settings, stack: str, given: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Returns every Kubernetes object of a stack with these settings. `given`: secrets of other systems, by name."""
    made = plan(settings)

    def build() -> None:
        root = pulumi.Output.secret("the root secret of the tests")
        others = pulumi.Output.secret(dict(given)) if given else None
        Cloud("cloud", CloudArgs(made, stack, Render(stack), root, others))

    return [_revealed(each.inputs) for each in record(build) if each.type.startswith("kubernetes:")]


def _revealed(value: Any) -> Any:
    """The value with the text of its secrets: the engine is sent them in an envelope."""
    if rpc.is_rpc_secret(value):
        return _revealed(rpc.unwrap_rpc_secret(value))
    if isinstance(value, dict):
        return {key: _revealed(inner) for key, inner in cast("dict[str, Any]", value).items()}
    return [_revealed(inner) for inner in cast("list[Any]", value)] if isinstance(value, list) else value
