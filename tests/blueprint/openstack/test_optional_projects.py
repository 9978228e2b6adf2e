"""Optional projects of Quorate: a stack has one if its file or its topology names it, or another project needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.openstack.projects.records import all_own_records, own_records
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from tests.stacks import ROOT, full_size, parsed, server
from tests.topologies import BACKENDS, on_three

SUNDIAL = (ROOT / "tests" / "data" / "projects" / "sundial.yaml").read_text(encoding="utf-8")
SERVICES = {"designate-api": 3, "designate-central": 3, "designate-mdns": 3, "designate-producer": 1}
PLACED = "database, rpc, notifications, keystone, memcached, designate-api, designate-central, designate-mdns"


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def planned(**settings: Any) -> Plan:
    return plan(parsed(full_size("100", **settings)))


def by_topology(text: str) -> Plan:
    Path("topology.yaml").write_text(text, encoding="utf-8")
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server("node[1-3]", [], "10.20.1.1")]
    settings = {"profile": "lab", "architecture": "100", "topology": "topology.yaml", "servers": servers}
    return plan(parsed(settings))


def designate(made: Plan) -> dict[str, int]:
    return {each.name: each.instances for each in made.companions if each.name.startswith("designate")}


def refused(**settings: Any) -> list[str]:
    with pytest.raises(InvalidStackError) as error:
        planned(**settings)
    return list(map(str, error.value.problems))


def test_designate_ovn_and_ironic_are_the_optional_projects() -> None:
    assert [name for name, record in all_own_records().by_name.items() if record.optional] == [
        "designate",
        "ovn",
        "ironic",
    ]


def test_a_stack_does_not_have_it_without_asking() -> None:
    made = planned()
    assert designate(made) == {}
    assert "designate" not in made.settings.records.by_name
    assert list(made.settings.records.not_asked_for) == ["designate", "ovn", "ironic"]
    assert made.settings.records is own_records()


def test_a_stack_has_it_if_its_file_names_it() -> None:
    made = planned(projects={"designate": {}})
    assert designate(made) == SERVICES
    assert list(made.settings.records.not_asked_for) == ["ovn", "ironic"]
    others = [each for each in made.companions if each.name not in SERVICES]
    assert (others, made.services) == (list(planned().companions), planned().services)


def test_its_settings_ask_for_it_too() -> None:
    options = {"designate.conf": {"service:central": {"min_ttl": 30}}}
    assert designate(planned(projects={"designate": {"options": options}})) == SERVICES


def test_a_stack_has_it_if_another_of_its_projects_needs_it() -> None:
    Path("mine").mkdir()
    needing = SUNDIAL.replace("needs: [", "needs: [designate, ")
    Path("mine/sundial.yaml").write_text(needing, encoding="utf-8")
    assert designate(planned(projects="./mine")) == SERVICES


def test_a_service_of_it_alone_is_refused() -> None:
    assert refused(services={"designate-api": {"replicas": 2}}) == [
        "quorate:services.designate-api: is a service of designate, which the stack does not have; "
        "write quorate:projects.designate: {} too"
    ]


def test_a_misspelt_name_is_refused_with_a_hint() -> None:
    (problem,) = refused(projects={"designat": {}})
    assert "did you mean 'designate'?" in problem


def test_a_stack_has_it_if_its_topology_places_its_services() -> None:
    made = by_topology(on_three(PLACED, f"replicas: {{designate-mdns: 2}}\n{BACKENDS}"))
    assert designate(made) == {
        "designate-api": 1, "designate-central": 1, "designate-mdns": 2, "designate-producer": 1,
    }  # fmt: skip


def test_a_topology_without_its_services_has_none() -> None:
    assert designate(by_topology(on_three("database, rpc, notifications, keystone, memcached", BACKENDS))) == {}


def test_a_topology_places_all_that_it_needs() -> None:
    with pytest.raises(InvalidStackError) as error:
        by_topology(on_three(PLACED.replace(", designate-mdns", ""), BACKENDS))
    assert [str(each) for each in error.value.problems] == [
        "quorate:topology: designate-central, designate-api, designate-producer cannot be configured without "
        "designate-mdns; add designate-mdns, or remove them"
    ]


def test_services_of_its_former_releases_are_left_out_with_a_warning_or_refused() -> None:
    made = by_topology(on_three(f"{PLACED}, designate-agent, designate-pool-manager, designate-zone-manager", BACKENDS))
    assert designate(made).keys() == SERVICES.keys()
    assert [text for text in made.warnings if "designate-agent is left out" in text]
    with pytest.raises(InvalidStackError) as error:
        by_topology(on_three(f"{PLACED}, designate-sink", BACKENDS))
    assert "designate-sink is not built yet" in str(error.value)
