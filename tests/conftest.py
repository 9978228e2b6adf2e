"""Settings of hypothesis for all tests, marks for what a test needs to run, and the SSH agent that tests share."""

import os
import sys
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests import sshd

# Some images set it: each program that a test starts would compile every module again, a tenth of a preview.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test fails because a machine is slow.
settings.register_profile("quorate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")

NEEDS = {
    "engine": {"engine", "preview", "project", "sent", "small"},
    "cluster": {"binaries", "coredns", "plane"},
    "services": {"containers", "renderings"},
    "browser": {"chromium"},
}
"""Each mark for what a test needs, with the fixtures that bring it. `pytest -m "not engine"` leaves such tests out."""
OF_SERVICES = {"bind_root", "ceph_root", "ovn_root", "programs", "python", "root", "switch_root"}
"""Fixtures of tests/trials/services that bring real programs; elsewhere, fixtures of these names bring less."""


def pytest_itemcollected(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function):
        for mark, fixtures in NEEDS.items():
            if not fixtures.isdisjoint(item.fixturenames):
                item.add_marker(mark)
        if item.path.parent.match("trials/services") and not OF_SERVICES.isdisjoint(item.fixturenames):
            item.add_marker("services")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts tests that wait most of the time first, so that the first process waits while others use the processors."""
    items.sort(key=lambda item: item.get_closest_marker("waits") is None)


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Generator[sshd.Agent]:
    with sshd.agent(tmp_path_factory.mktemp("agent")) as running:
        yield running
