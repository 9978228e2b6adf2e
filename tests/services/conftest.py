"""The root with the real programs, and the pods that the project renders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from proof.services import lab
from proof.services.report import Proof
from proof.services.run import line
from toolchain import debian_root
from toolchain.progress import Reporter, UserError


@pytest.fixture(scope="session")
def root() -> Path:
    """A Debian root; the tests are skipped where a lab is not possible."""
    try:
        lab.check()
        return debian_root.ensure(Reporter())
    except (lab.Unavailable, UserError) as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def mysqld() -> Mapping[str, str]:
    """The ConfigMap of the database's pods."""
    return kolla.data(PROCESSES["mysqld"], {})


@pytest.fixture(scope="session")
def rabbitmq() -> Mapping[str, str]:
    """The ConfigMap of the message queue's pods."""
    return kolla.data(PROCESSES["rabbitmq"], {})
