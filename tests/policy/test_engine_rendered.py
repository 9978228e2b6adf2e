"""Objects that the Kubernetes provider renders in a preview are evaluated; others are named."""

from __future__ import annotations

from pathlib import Path

from tests.policy.conftest import Previews

PROGRAM = Path(__file__).resolve().parent / "rendered"

RENDERED = {
    "chart:openstack/chart-queue": "rabbitmq-size",
    "openstack/old-chart-queue": "rabbitmq-size",
    "openstack/overlay-db": "galera-size",
    "file:openstack/db": "galera-size",
    "group:openstack/db": "galera-size",
}
"""The rule that the object of each component breaks with its two members."""


def test_rendered_objects_are_judged_and_a_release_is_named(preview: Previews) -> None:
    result = preview([], {"quorate:profile": "production"}, program=PROGRAM)
    assert result.code != 0
    violations = result.violations()
    sizes = {name: rule for rule in set(RENDERED.values()) for name in violations.get(f"mandatory {rule}", ())}
    assert sizes == RENDERED, result.output
    assert violations["mandatory resource-is-known"] == {"release"}
