"""Several workers of Neutron's API on OVN: each answers, and handles its part of OVN's events."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.stackfile.resources import Amounts, PodSize
from blueprint.stackfile.settings import Networks, Override, PhysicalNetwork, Projects
from tests.trials.services.judge import judge
from tests.trials.services.stack import documents
from tests.trials.services.test_ovn import USERSPACE
from trials.services import ovn_workers
from trials.services.containers import read
from trials.services.openstack_trials import Programs

WORKERS = 3


@pytest.mark.heavy
def test_each_worker_answers_and_hears_of_ports(root: Path, programs: Path, ovn_root: Path) -> None:
    networks = Networks(backend="ovn", physical={"physnet1": PhysicalNetwork(interface="eth0")})
    server = Override(resources=PodSize(requests=Amounts(cpu=str(WORKERS))))
    options = {"neutron.conf": {"DEFAULT": {"rpc_workers": 1}}, **USERSPACE["neutron"]["options"]}
    projects = Projects.model_validate({"neutron": {"options": options}})
    containers = read(documents("dev", networks=networks, services={"neutron-server": server}, projects=projects))
    judge(ovn_workers.prove(Programs(root, programs), ovn_root, containers, WORKERS))
