"""Settings of hypothesis for all tests: no test fails because a machine is slow. The SSH agent that tests share."""

from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests import sshd

settings.register_profile("quorate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Generator[sshd.Agent]:
    with sshd.agent(tmp_path_factory.mktemp("agent")) as running:
        yield running
