"""Monitors of an external Ceph: which nodes connect to them, and what is said of those that do not answer."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from blueprint.plan.planner import plan
from doctor import ceph_checks, examination
from doctor.facts import ReadFacts, parse
from doctor.login import LoginError, Reading
from tests.doctor.test_checks import reading
from tests.stacks import external_ceph, full_size, parsed, without_storage

MONITORS = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
PLAN = plan(parsed(without_storage("500") | {"ceph": external_ceph(monitors=MONITORS)}))
WITH_MONITORS = """
import socket, subprocess
held = [socket.create_server(("127.0.0.1", 3300)), socket.create_server(("127.0.0.2", 6789))]
subprocess.run(["sh", "-s"], check=True)
"""
"""Runs a script beside two monitors: one of them listens at the port of the old protocol only."""


def test_nodes_with_clients_of_ceph_connect() -> None:
    pools = {node.pool for node in ceph_checks.nodes(PLAN)}
    assert "compute" in pools
    assert not {"master", "horizon"} & pools
    where = {each.node for each in PLAN.assignment if each.service in ceph_checks.CLIENTS}
    assert where <= {node.name for node in ceph_checks.nodes(PLAN)}
    assert ceph_checks.nodes(plan(parsed(full_size("100")))) == ()


def problems(facts: ReadFacts) -> list[tuple[str, str]]:
    external = PLAN.settings.external_ceph
    assert external
    return [(each.check, each.problem) for each in ceph_checks.unreached(PLAN.nodes[0], facts, external)]


def test_monitors_that_do_not_answer_are_named() -> None:
    every = "".join(f"monitor\t{each}\n" for each in MONITORS)
    assert problems(parse(f"bash\tyes\n{every}end\tyes\n")) == []
    assert problems(parse("bash\tyes\nmonitor\t127.0.0.2\nend\tyes\n")) == [
        ("ceph", "Ceph's monitors 127.0.0.1, 127.0.0.3 accept no connection")
    ]
    assert problems(parse("end\tyes\n")) == [("ceph", "it has no bash, which tries the connections")]


def test_the_script_connects_to_either_port() -> None:
    """In a network namespace, because the ports are fixed."""
    external = PLAN.settings.external_ceph
    assert external
    up = ["ip", "link", "set", "lo", "up"]
    if subprocess.run(["unshare", "--net", *up], capture_output=True, check=False).returncode:
        pytest.skip("needs root and network namespaces")
    inside = f"{shlex.join(up)} && exec {shlex.join([sys.executable, '-c', WITH_MONITORS])}"
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", inside],
        input=ceph_checks.script(external),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = parse(done.stdout)
    assert (found.one("bash"), sorted(found.all("monitor"))) == ("yes", MONITORS[:2])


def test_each_node_with_a_client_has_a_place_in_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = ceph_checks.nodes(PLAN)
    whole = "".join(f"monitor\t{each}\n" for each in MONITORS)

    def facts(machine: object, *_arguments: object) -> ReadFacts:
        if machine is nodes[0].machine:
            raise LoginError("no answer", "turn it on")
        return parse(f"bash\tyes\n{whole if machine is nodes[1].machine else ''}end\tyes\n")

    def read(*_arguments: object) -> Reading:
        return reading()

    monkeypatch.setattr(examination, "read", read)
    monkeypatch.setattr(examination, "facts", facts)
    (line,) = (each for each in examination.examine(PLAN) if each.check == "ceph")
    assert str(line).startswith(f"FAILED  ceph          1 of {len(nodes)} machines\n")
    assert f"{nodes[0].name}: no answer; turn it on" in str(line)
    assert "127.0.0.1, 127.0.0.2, 127.0.0.3 accept no connection; admit this machine to their TCP ports" in str(line)
    assert "ceph" not in {each.check for each in examination.examine(plan(parsed(full_size("100"))))}
