"""The root with the real programs, and the containers that the project renders for the stack "dev"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import templates
from components.k8s_master import etcd
from console.errors import UserError
from console.progress import Reporter
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.stacks import STACKS
from tests.trials.services.stack import documents
from toolchain import cluster_programs, debian_root, openstack_programs
from trials.services import testbed
from trials.services.containers import TriedContainer, read
from trials.services.etcd import RenderedEtcd
from trials.services.testbed import ServiceMachine, ServiceTestbed


@pytest.fixture(scope="session")
def root() -> Path:
    """A Debian root with the programs. The tests are skipped if this host cannot run a test bed."""
    return _made(debian_root.SERVICES)


@pytest.fixture(scope="session")
def ceph_root() -> Path:
    """A Debian root with Ceph."""
    return _made(debian_root.CEPH)


@pytest.fixture(scope="session")
def switch_root() -> Path:
    """A Debian root with Open vSwitch and QEMU."""
    return _made(debian_root.SWITCH)


@pytest.fixture(scope="session")
def bind_root() -> Path:
    """A Debian root with BIND."""
    return _made(debian_root.DNS)


@pytest.fixture(scope="session")
def node_exporter_root() -> Path:
    """A Debian root with node-exporter."""
    return _made(debian_root.NODE_EXPORTER)


@pytest.fixture(scope="session")
def bare_metal_root() -> Path:
    """A Debian root with libvirt and tools for images."""
    return _made(debian_root.BARE_METAL)


@pytest.fixture(scope="session")
def computes_root() -> Path:
    """A Debian root with libvirt, QEMU and LXC."""
    return _made(debian_root.COMPUTES)


@pytest.fixture(scope="session")
def ramdisk_root() -> Path:
    """A Debian root for the ramdisk with Ironic's agent."""
    return _made(debian_root.RAMDISK)


@pytest.fixture(scope="session")
def server_image_root() -> Path:
    """A Debian root for the image of a server that Ironic deploys."""
    return _made(debian_root.SERVER_IMAGE)


@pytest.fixture(scope="session")
def ovn_root() -> Path:
    """A Debian root with OVN."""
    return _made(debian_root.OVN)


@pytest.fixture(scope="session")
def java_root() -> Path:
    """A Debian root with Java."""
    return _made(debian_root.JAVA)


def _made(wanted: debian_root.Root) -> Path:
    try:
        testbed.check()
        return debian_root.ensure(Reporter(), wanted)
    except (testbed.Unavailable, UserError) as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def programs() -> Path:
    """The programs of the newest OpenStack release."""
    return openstack_programs.ensure(openstack_programs.DEFAULT, Reporter())


@pytest.fixture(scope="session")
def containers() -> Mapping[str, TriedContainer]:
    """The containers of the stack "dev", by workload/container."""
    return read(documents("dev"))


@pytest.fixture(scope="session")
def rendered_etcd() -> RenderedEtcd:
    """etcd, and the settings of a member that the project renders for the stack "dev"."""
    members = plan(load_file(STACKS["dev"])).members
    files = templates.fill(etcd.parts(members[0], members, CERTIFICATES).plain_files, {})
    return RenderedEtcd(cluster_programs.ensure(Reporter()) / "etcd", files["/etc/etcd/etcd.env"])


@pytest.fixture(scope="module")
def tool(root: Path) -> Iterator[ServiceMachine]:
    """A machine of the test bed with promtool and amtool."""
    with ServiceTestbed(root) as testbed:
        yield testbed.add("tool")
