"""Services of ports that are not TCP. The project is the made-up one, beside the stack file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.problems import InvalidStackError
from tests.stacks import ROOT, full_size, parsed
from tests.trials.services.stack import objects

SUNDIAL = ROOT / "tests" / "data" / "projects"
API = {"name": "api", "number": 8123}
TIME, TIME_TCP = {"name": "time", "number": 123, "protocol": "UDP"}, {"name": "time-tcp", "number": 123}


def services(directory: Path, ports: list[dict[str, Any]], exposed: dict[str, int]) -> dict[str, Any]:
    """Returns the ports of each Service of the made-up project, as a StatefulSet that listens on `ports`."""
    document = yaml.safe_load((SUNDIAL / "sundial.yaml").read_text(encoding="utf-8"))
    document["processes"][0] |= {"kind": "StatefulSet", "exposed": exposed}
    document["processes"][0]["containers"][0]["ports"] = ports
    (directory / "own").mkdir()
    (directory / "own" / "sundial.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    (directory / "own" / "sundial.py").write_bytes((SUNDIAL / "sundial.py").read_bytes())
    made = objects(parsed(full_size("100", projects="./own")), "dev")
    return {
        each["metadata"]["name"]: [(port["name"], port["port"], port.get("protocol")) for port in each["spec"]["ports"]]
        for each in made
        if each["kind"] == "Service" and each["metadata"]["name"].startswith("sundial-api")
    }


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_udp_port_has_its_protocol_in_both_services(tmp_path: Path) -> None:
    found = services(tmp_path, [API, TIME, TIME_TCP], {"api": 8123, "time": 123, "time-tcp": 123})
    own = [("api", 8123, None), ("time", 123, "UDP"), ("time-tcp", 123, None)]
    assert found == {"sundial-api": own, "sundial-api-members": own}


def test_a_range_of_ports_is_in_no_service(tmp_path: Path) -> None:
    many = {"name": "many", "number": 9000, "last": 9100}
    assert services(tmp_path, [API, many], {"api": 8123})["sundial-api-members"] == [("api", 8123, None)]


def test_two_exposed_ports_of_one_number_and_protocol_are_refused(tmp_path: Path) -> None:
    more = {"name": "more", "number": 8124}
    with pytest.raises(InvalidStackError, match="8123/TCP is that of two ports; write another"):
        services(tmp_path, [API, more], {"api": 8123, "more": 8123})
