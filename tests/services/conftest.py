"""The root with the real programs, and the pods that the project renders for the stack "dev"."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.openstack import kolla
from components.openstack.config.wiring import ENVIRONMENT, wiring
from components.openstack.projects import PROJECTS
from proof.services import lab
from proof.services.lab import Pod
from tests.stacks import STACKS
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
def mysqld() -> Pod:
    """The pods of the database."""
    return _pod("mariadb", "mysqld")


@pytest.fixture(scope="session")
def rabbitmq() -> Pod:
    """The pods of the message queue."""
    return _pod("rabbitmq", "rabbitmq")


def _pod(project: str, name: str) -> Pod:
    definition = next(each for each in PROJECTS if each.name == project)
    process = next(each for each in definition.processes if each.name == name)
    files = kolla.FileSet(definition.configure(wiring(plan(load_file(STACKS["dev"])), ENVIRONMENT), name))
    return Pod(kolla.data(process, files), files.secret(lambda secret: f"of-{secret.replace('/', '-')}"))
