"""Neutron on OVN from rendered configuration: its networks are OVN's, and none that it acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.stackfile.settings import Networks, PhysicalNetwork, Projects
from tests.trials.services.judge import judge
from tests.trials.services.stack import documents
from tests.trials.services.test_ovn import USERSPACE
from trials.services import ovn_neutron
from trials.services.containers import read
from trials.services.openstack_trials import Programs


@pytest.mark.heavy
def test_no_network_is_lost_with_a_leader(root: Path, programs: Path, ovn_root: Path) -> None:
    networks = Networks(backend="ovn", physical={"physnet1": PhysicalNetwork(interface="eth0")})
    containers = read(documents("dev", networks=networks, projects=Projects.model_validate(USERSPACE)))
    judge(ovn_neutron.prove(Programs(root, programs), ovn_root, containers))
