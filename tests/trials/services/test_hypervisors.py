"""Nova gives an image of one hypervisor no host of another: its fake driver, and libvirt's QEMU and LXC."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.trials.services.judge import judge
from trials.services import hypervisor_trials
from trials.services.containers import TriedContainer
from trials.services.openstack_trials import Programs


@pytest.mark.heavy
def test_an_image_is_on_a_host_of_its_hypervisor(
    root: Path, programs: Path, computes_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    judge(hypervisor_trials.prove(Programs(root, programs), computes_root, containers))
