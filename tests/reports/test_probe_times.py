"""Reports about pods that kubelet restarted on slow hosts: the times of probes were fixed."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.problems import InvalidStackError
from tests.reports.stacks import named, objects, planned

KINDS = {"keystone": "Deployment", "mysqld": "StatefulSet", "nova-conductor": "Deployment"}


def probes(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the probes of the services' first containers, by service, with their times alone."""
    services = {name: {"probes": times} for name, times in given.items()}
    made = objects(planned(services=services))
    found: dict[str, dict[str, Any]] = {}
    for service, kind in KINDS.items():
        container = named(made, kind, service)["spec"]["template"]["spec"]["containers"][0]
        found[service] = {
            name.removesuffix("Probe"): [
                container[name].get(each) for each in ("periodSeconds", "timeoutSeconds", "failureThreshold")
            ]
            for name in ("readinessProbe", "livenessProbe", "startupProbe")
            if container.get(name)
        }
    return found


def test_times_of_probes_are_the_stack_files() -> None:
    before = probes({})
    times = {"periodSeconds": 20, "timeoutSeconds": 9, "failureThreshold": 7}
    after = probes({"keystone": {"readiness": times, "liveness": times, "startup": times}})
    assert after["keystone"] == {kind: [20, 9, 7] for kind in ("readiness", "liveness", "startup")}
    assert {name: after[name] for name in ("mysqld", "nova-conductor")} == {
        name: before[name] for name in ("mysqld", "nova-conductor")
    }


def test_another_period_changes_no_minutes() -> None:
    """A member of a quorum may stall, and a container start, as long as before."""
    before, after = (
        probes({}),
        probes({"mysqld": {"liveness": {"periodSeconds": 30}, "startup": {"periodSeconds": 60}}}),
    )
    for kind in ("liveness", "startup"):
        old, new = before["mysqld"][kind], after["mysqld"][kind]
        assert old[0] != new[0]
        assert old[0] * old[2] == new[0] * new[2]
        assert old[1] == new[1]
    assert after["mysqld"]["readiness"] == before["mysqld"]["readiness"]


@pytest.mark.parametrize(
    ("service", "given", "said"),
    [
        (
            "nova-conductor",
            {"liveness": {"periodSeconds": 5}},
            r"probes.liveness: has no effect: no container of nova-c",
        ),
        ("keystone", {"liveness": {"periodSeconds": 0}}, r"probes.liveness.periodSeconds: 0 does not fit"),
        ("keystone", {"liveness": {"successThreshold": 2}}, r"probes.liveness.successThreshold: unknown key"),
        ("keystone", {"lifeness": {}}, r"probes.lifeness: unknown key \(did you mean 'liveness'\?\)"),
    ],
)
def test_times_without_effect_are_refused(service: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidStackError, match=said):
        planned(services={service: {"probes": given}})
