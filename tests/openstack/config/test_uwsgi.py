"""uWSGI's settings: the API runs as the user of its container, on the port of the record, with a worker a core."""

from __future__ import annotations

import pytest

from blueprint.plan.planner import plan
from openstack import configuration
from openstack.config.layers import ConfigFile
from tests.projects import PROCESSES
from tests.stacks import full_size, parsed

PLAN = plan(parsed(full_size("100")))
APIS = [
    (process.name, container.user, file.name)
    for process in PROCESSES.values()
    for container in process.containers
    for file in container.files
    if file.name.endswith("-uwsgi.ini")
]


def settings(process: str, name: str) -> dict[str, object]:
    (file,) = [each for each in configuration.of_service(PLAN, process) if each.name == name]
    assert isinstance(file, ConfigFile)
    return {option: setting.value for option, setting in file.document()["uwsgi"].items()}


@pytest.mark.parametrize(("process", "user", "file"), APIS)
def test_an_api_runs_as_the_user_of_its_container(process: str, user: str, file: str) -> None:
    found = settings(process, file)
    assert (found["uid"], found["gid"]) == (user, user)
    assert user != "root"


def test_an_api_listens_on_its_port() -> None:
    assert settings("nova-api", "nova-api-uwsgi.ini")["http-socket"] == "0.0.0.0:8774"
    assert settings("nova-api", "nova-metadata-uwsgi.ini")["http-socket"] == "0.0.0.0:8775"


def test_every_api_of_openstack_has_such_a_file() -> None:
    assert {process for process, _, _ in APIS} == {
        *("keystone", "glance-api", "placement-api", "neutron-server", "nova-api", "cinder-api"),
        *("heat-api", "heat-api-cfn", "horizon"),
    }
