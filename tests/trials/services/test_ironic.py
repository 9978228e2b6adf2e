"""Ironic starts from rendered configuration, and deploys images on a virtual machine with a BMC."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from blueprint.stackfile.settings import Ingress, Projects
from tests import host_programs
from tests.trials.services.judge import judge
from tests.trials.services.stack import documents
from trials.bare_metal import server_image
from trials.bare_metal.boot_images import Roots
from trials.services import ironic_api_trial, ironic_trials
from trials.services.containers import TriedContainer, read
from trials.services.deployed_systems import StackServer
from trials.services.openstack_trials import Programs


def containers() -> Mapping[str, TriedContainer]:
    """The containers of a stack with Ironic."""
    domain = Ingress.model_validate({"domain": ironic_trials.PUBLIC, "className": "nginx"})
    return read(documents("dev", projects=Projects.model_validate({"ironic": {}}), ingress=domain))


@pytest.fixture
def roots(programs: Path, bare_metal_root: Path, ramdisk_root: Path) -> Roots:
    """The roots that images are made with."""
    return Roots(ramdisk_root, bare_metal_root, programs)


@pytest.mark.heavy
def test_the_api_passes_the_tests_of_its_project(root: Path, programs: Path) -> None:
    judge(ironic_api_trial.prove(Programs(root, programs), containers()))


@pytest.mark.heavy
@pytest.mark.parametrize("boot", [ironic_trials.VIRTUAL_MEDIA, ironic_trials.NETWORK])
def test_a_machine_is_deployed(root: Path, programs: Path, roots: Roots, boot: str) -> None:
    judge(ironic_trials.prove(Programs(root, programs), roots, containers(), boot))


@pytest.mark.heavy
def test_a_server_of_the_stack_is_deployed(
    root: Path, programs: Path, roots: Roots, server_image_root: Path, tmp_path: Path
) -> None:
    host_programs.require(server_image.PROGRAMS, server_image.PACKAGES)
    image = tmp_path / "image"
    server_image.make(roots.disk_tools, server_image_root, image)
    judge(ironic_trials.prove_server(Programs(root, programs), roots, containers(), StackServer(image, tmp_path)))
