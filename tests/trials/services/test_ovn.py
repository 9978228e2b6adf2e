"""Real programs of OVN with the rendered containers: no acknowledged write is lost, and packets between nodes go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from blueprint.stackfile.settings import Networks, PhysicalNetwork, Projects
from tests.trials.services.judge import judge
from tests.trials.services.stack import documents
from trials.services import ovn, ovn_northd_kept, ovn_packets, ovn_survivor
from trials.services.containers import TriedContainer, read

pytestmark = [pytest.mark.waits, pytest.mark.heavy]

USERSPACE = {"neutron": {"options": {"openvswitch_agent.ini": {"ovs": {"datapath_type": "netdev"}}}}}


@pytest.fixture(scope="module")
def stack() -> Mapping[str, TriedContainer]:
    networks = Networks(backend="ovn", physical={"physnet1": PhysicalNetwork(interface="eth0")})
    return read(documents("dev", networks=networks, projects=Projects.model_validate(USERSPACE)))


@pytest.mark.parametrize(("process", "name"), [("ovn-nb", "northbound"), ("ovn-sb", "southbound")])
def test_a_database_keeps_what_it_acknowledged(
    ovn_root: Path, stack: Mapping[str, TriedContainer], process: str, name: str
) -> None:
    judge(ovn.prove(ovn_root, stack[f"{process}/{process}-db-server"], name))


@pytest.mark.parametrize(("process", "name"), [("ovn-nb", "northbound"), ("ovn-sb", "southbound")])
def test_a_database_goes_on_after_two_of_three_are_lost(
    ovn_root: Path, stack: Mapping[str, TriedContainer], process: str, name: str
) -> None:
    judge(ovn_survivor.prove(ovn_root, stack[f"{process}/{process}-db-server"], name))


def test_northd_goes_on_after_two_of_three_are_lost(ovn_root: Path, stack: Mapping[str, TriedContainer]) -> None:
    judge(ovn_northd_kept.prove(ovn_root, stack))


def test_packets_go_on(ovn_root: Path, stack: Mapping[str, TriedContainer]) -> None:
    judge(ovn_packets.prove(ovn_root, stack))
