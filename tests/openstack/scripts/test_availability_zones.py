"""The job that adds computes to availability zones, against a small imitation of Keystone and Nova.

Its answers are those of Nova 33.0.2 (nova/compute/api.py, AggregateAPI): 404 for a host without a mapping to a cell,
409 for one in another zone, one that is in the aggregate, and one with instances.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.planner import plan
from openstack.config.layers import TextFile
from openstack.config.wiring import wiring
from openstack.projects import bootstrap
from tests.stacks import full_size, parsed

ZONES = {"az1": ["r[1-2]"], "az2": ["r3"]}


@dataclass
class NovaWithAggregates:
    """Keystone and Nova as far as the job uses them."""

    known: set[str]
    """Hosts that Nova knows."""
    later: set[str] = field(default_factory=set[str])
    """Hosts that Nova knows after the first request for one of them."""
    used: set[str] = field(default_factory=set[str])
    """Hosts with instances."""
    aggregates: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    changes: list[str] = field(default_factory=list[str])
    """Every request that changes something."""
    broken: str = ""
    """Part of the paths that answer 503."""

    def answer(self, base: str, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if self.broken and self.broken in path:
            return 503, {"error": "out of order"}
        if path == "/v3/auth/tokens":
            ends = {"public": "http://unused.invalid", "internal": f"{base}/v2.1"}
            found = [{"interface": kind, "region_id": "RegionOne", "url": url} for kind, url in ends.items()]
            return 201, {"token": {"catalog": [{"type": "compute", "endpoints": found}]}}
        if method == "GET":
            return 200, {"aggregates": self.aggregates}
        if path == "/v2.1/os-aggregates":
            return 200, {
                "aggregate": {key: value for key, value in self.has(**body["aggregate"]).items() if key != "hosts"}
            }
        (aggregate,) = (each for each in self.aggregates if path == f"/v2.1/os-aggregates/{each['id']}/action")
        return self._added(aggregate, body["add_host"]["host"])

    def has(self, name: str, availability_zone: str | None, hosts: tuple[str, ...] = ()) -> dict[str, Any]:
        """Creates an aggregate."""
        self.changes.append(name)
        number = len(self.aggregates) + 1
        self.aggregates.append(
            {"id": number, "name": name, "availability_zone": availability_zone, "hosts": list(hosts)}
        )
        return self.aggregates[-1]

    def _added(self, aggregate: dict[str, Any], host: str) -> tuple[int, Any]:
        if host not in self.known:
            self.known |= {host} & self.later
            return 404, {"itemNotFound": {"code": 404, "message": f"Compute host {host} could not be found."}}
        zones = {each["availability_zone"] for each in self.aggregates if host in each["hosts"]} - {None}
        if host in aggregate["hosts"] or zones - {aggregate["availability_zone"]} or (host in self.used and not zones):
            return 409, {"conflictingRequest": {"code": 409, "message": "The host cannot be added to the aggregate"}}
        self.changes.append(host)
        aggregate["hosts"].append(host)
        return 200, {"aggregate": aggregate}


@dataclass
class ZoneJob:
    """The imitation, and the job."""

    nova: NovaWithAggregates
    base: str
    directory: Path

    def run(self, *, wait: bool = False) -> subprocess.CompletedProcess[str]:
        """Runs the job as it is rendered for three computes. `wait`: whether it waits for hosts, without pauses."""
        given = full_size("100", bootstrap={"availabilityZones": ZONES})
        given["servers"][-1]["rack"] = "r[1-3]"
        _, job = bootstrap.jobs(wiring(plan(parsed(given)), "openstack"))
        for file in job.written:
            assert isinstance(file, TextFile)
            text = "".join(str(part) for part in file.parts).replace("http://keystone.openstack.svc:5000", self.base)
            text = text.replace("PAUSE = 20", "PAUSE = 0").replace("WAIT = 420", f"WAIT = {420 if wait else 0}")
            (self.directory / file.name).write_text(text)
        command = [sys.executable, "availability_zones.py", "zones.json"]
        variables = {**os.environ, "OS_USERNAME": "admin", "OS_PASSWORD": "hunter2"}
        return subprocess.run(
            command, cwd=self.directory, env=variables, capture_output=True, text=True, timeout=60, check=False
        )

    def zones(self) -> dict[str, list[str]]:
        return {each["name"]: each["hosts"] for each in self.nova.aggregates}


@pytest.fixture
def lab(tmp_path: Path) -> Generator[ZoneJob]:
    nova = NovaWithAggregates({"cmp1", "cmp2", "cmp3"})

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            base = f"http://127.0.0.1:{server.server_port}"
            status, document = nova.answer(base, self.command, self.path, body)
            text = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("X-Subject-Token", "token")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = _handle  # noqa: N815 - names of the base class

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - a name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield ZoneJob(nova, f"http://127.0.0.1:{server.server_port}", tmp_path)
    server.shutdown()


def test_each_zone_is_an_aggregate_with_the_computes_of_its_racks(lab: ZoneJob) -> None:
    result = lab.run()
    assert result.returncode == 0, result.stderr
    assert lab.zones() == {"az1": ["cmp1", "cmp2"], "az2": ["cmp3"]}
    assert [each["availability_zone"] for each in lab.nova.aggregates] == ["az1", "az2"]


def test_done_again_it_changes_nothing_and_adds_later_computes(lab: ZoneJob) -> None:
    lab.nova.known -= {"cmp2"}
    assert lab.run().returncode == 1
    lab.nova.changes.clear()
    lab.nova.known |= {"cmp2"}
    lab.nova.used |= {"cmp1", "cmp3"}
    assert lab.run().returncode == 0
    assert lab.nova.changes == ["cmp2"]
    assert lab.run().returncode == 0
    assert lab.nova.changes == ["cmp2"]


def test_it_waits_for_hosts_that_nova_does_not_know_yet(lab: ZoneJob) -> None:
    lab.nova.known, lab.nova.later = {"cmp1"}, {"cmp2", "cmp3"}
    result = lab.run(wait=True)
    assert result.returncode == 0, result.stderr
    assert "waiting until Nova knows cmp2, cmp3" in result.stdout
    assert lab.zones() == {"az1": ["cmp1", "cmp2"], "az2": ["cmp3"]}


def test_hosts_that_nova_never_knows_are_named_and_the_others_added(lab: ZoneJob) -> None:
    lab.nova.known = {"cmp3"}
    result = lab.run()
    assert result.returncode == 1
    assert "Nova does not know cmp1, cmp2: start nova-compute there" in result.stderr
    assert lab.zones() == {"az1": [], "az2": ["cmp3"]}


def test_a_host_in_another_zone_stays_there_and_is_reported(lab: ZoneJob) -> None:
    lab.nova.has("by-hand", "az2", ("cmp1",))
    result = lab.run()
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "cmp1 is in the zone az2; the stack file has az1. To change it, move its instances away and run: "
        "openstack aggregate remove host 'by-hand' cmp1",
        "Then run the job again: quorate action --name bootstrap-zones",
    ]
    assert lab.zones() == {"by-hand": ["cmp1"], "az1": ["cmp2"], "az2": ["cmp3"]}


def test_a_host_with_instances_gets_no_zone_and_is_reported(lab: ZoneJob) -> None:
    lab.nova.used |= {"cmp1"}
    result = lab.run()
    assert result.returncode == 1
    assert "cmp1 is not in az1; Nova answers 409: The host cannot be added to the aggregate\n" in result.stderr
    assert lab.zones() == {"az1": ["cmp2"], "az2": ["cmp3"]}


def test_other_aggregates_are_no_matter(lab: ZoneJob) -> None:
    lab.nova.has("ssd", None, ("cmp1", "cmp3"))
    lab.nova.has("by-hand", "az1", ("cmp1",))
    result = lab.run()
    assert result.returncode == 0, result.stderr
    assert lab.zones() == {"ssd": ["cmp1", "cmp3"], "by-hand": ["cmp1"], "az1": ["cmp2"], "az2": ["cmp3"]}


@pytest.mark.parametrize("zone", [None, "other"])
def test_an_aggregate_of_another_zone_is_not_changed(lab: ZoneJob, zone: str | None) -> None:
    lab.nova.has("az1", zone)
    result = lab.run()
    assert result.returncode == 1
    said = f"aggregate az1 exists with the availability zone {zone or 'none'}; rename it, or the zone"
    assert said in result.stderr
    assert lab.zones() == {"az1": [], "az2": ["cmp3"]}
    assert lab.nova.aggregates[0]["availability_zone"] == zone


@pytest.mark.parametrize("broken", ["auth", "os-aggregates", "action"])
def test_an_api_out_of_order_is_an_error_in_a_line_without_the_password(lab: ZoneJob, broken: str) -> None:
    lab.nova.broken = broken
    result = lab.run()
    assert result.returncode == 1
    assert "answers 503: " in result.stderr
    assert "Traceback" not in result.stderr
    assert "hunter2" not in result.stdout + result.stderr
    lab.nova.broken = ""
    assert lab.run().returncode == 0


def test_a_cloud_that_does_not_answer_is_an_error_in_a_line(lab: ZoneJob) -> None:
    lab.base = "http://127.0.0.1:9"
    result = lab.run()
    assert result.returncode == 1
    assert result.stderr.startswith("no answer: ")
