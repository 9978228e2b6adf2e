"""The program that disables computes and lists their instances, against a small Keystone and Nova over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from openstack.scripts import compute_services

PASSWORD = "p%ss$word"  # noqa: S105 - of a test
ADMINS = "disk is slow"
"""The reason for which an operator has disabled a compute."""


class Cloud(ThreadingHTTPServer):
    """Keystone and Nova with computes a, b and c, of which an operator has disabled c."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.services: list[dict[str, Any]] = [
            {"id": f"id-{host}", "host": host, "status": "enabled", "state": "up", "disabled_reason": None}
            for host in "abc"
        ]
        self.services[2] |= {"status": "disabled", "disabled_reason": ADMINS}
        self.servers: list[dict[str, Any]] = []
        self.agents = [{"id": f"agent-{number}", "host": host} for number, host in enumerate("aab")]
        self.changed: list[str] = []
        self.deleted: list[str] = []
        self.fails = False
        self.documents: dict[str, Any] = {}
        """Further answers, by path."""
        self.queries: list[dict[str, str]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: tuple[Any, int] = ({}, 202)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answers(BaseHTTPRequestHandler):
    server: Cloud  # type: ignore[assignment]

    def log_message(self, *_words: object) -> None: ...  # type: ignore[override]

    def answer(self, body: object, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def sent(self) -> dict[str, Any]:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def do_POST(self) -> None:
        if self.path != "/v3/auth/tokens":
            assert self.headers["X-OpenStack-Nova-API-Version"] == "2.84"
            self.server.asked.append((self.path, self.sent()))
            return self.answer(*self.server.answers)
        asked = self.sent()["auth"]
        user = asked["identity"]["password"]["user"]
        if (user["name"], user["password"]) != ("nova", PASSWORD):
            return self.answer({"error": "wrong password"}, 401)
        assert asked["scope"]["project"] == {"name": "service", "domain": {"name": "Default"}}
        endpoints = [
            {"interface": "public", "region_id": "R", "url": "http://192.0.2.1"},
            {"interface": "internal", "region_id": "other", "url": "http://192.0.2.1"},
            {"interface": "internal", "region_id": "R", "url": f"{self.server.url}/v2.1"},
        ]
        catalog = [
            {"type": "image", "endpoints": endpoints[:1]},
            {"type": "compute", "endpoints": endpoints},
            {"type": "network", "endpoints": [endpoints[2] | {"url": f"{self.server.url}/neutron/"}]},
        ]
        return self.answer({"token": {"catalog": catalog}}, 201, X_Subject_Token="t")  # noqa: S106

    def do_GET(self) -> None:
        assert self.headers["X-Auth-Token"] == "t"
        assert self.headers["X-OpenStack-Nova-API-Version"] == "2.84"
        if self.server.fails:
            return self.answer({"conflictingRequest": {"message": "no"}}, 503)
        place = urlsplit(self.path)
        query = {key: value for key, (value,) in parse_qs(place.query).items()}
        if place.path == "/v2.1/os-services":
            assert query == {"binary": "nova-compute"}
            return self.answer({"services": self.server.services})
        if place.path == "/neutron/v2.0/agents":
            return self.answer({"agents": [each for each in self.server.agents if each["host"] == query["host"]]})
        if place.path in self.server.documents:
            self.server.queries.append(query)
            return self.answer(self.server.documents[place.path])
        if place.path.startswith("/v2.1/servers/") and place.path != "/v2.1/servers/detail":
            return self.answer({"itemNotFound": {"code": 404, "message": "gone"}}, 404)
        assert (place.path, query["all_tenants"]) == ("/v2.1/servers/detail", "1")
        here = [each for each in self.server.servers if each["host"] == query["host"]]
        ids = [each["id"] for each in here]
        start = ids.index(query["marker"]) + 1 if "marker" in query else 0
        return self.answer({"servers": here[start : start + int(query["limit"])]})

    def do_PUT(self) -> None:
        service = next(each for each in self.server.services if self.path == f"/v2.1/os-services/{each['id']}")
        service |= {"disabled_reason": None} | self.sent()
        self.server.changed.append(service["host"])
        self.answer({"service": service})

    def do_DELETE(self) -> None:
        assert self.headers["X-Auth-Token"] == "t"
        if any(f"/v2.1/os-services/id-{each['host']}" == self.path for each in self.server.servers):
            return self.answer({"conflictingRequest": {"message": "is hosting instances"}}, 409)
        self.server.deleted.append(self.path)
        self.server.services = [each for each in self.server.services if not self.path.endswith(f"/{each['id']}")]
        self.server.agents = [each for each in self.server.agents if not self.path.endswith(f"/{each['id']}")]
        self.send_response(204)
        return self.end_headers()


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Cloud]:
    with Cloud() as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        configuration = f"""\
[DEFAULT]
repeated = 1
repeated = 2
[keystone_authtoken]
auth_url = {made.url}/v3
username = nova
user_domain_name = Default
project_name = service
project_domain_name = Default
region_name = R
"""
        (tmp_path / "nova.conf").write_text(configuration)
        (tmp_path / "secrets.conf").write_text(f"[keystone_authtoken]\npassword = {PASSWORD}\n")
        monkeypatch.setattr(
            compute_services, "FILES", (str(tmp_path / "nova.conf")[1:], str(tmp_path / "secr*.conf")[1:])
        )
        yield made
        made.shutdown()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = compute_services.main(list(arguments))
    return code, json.loads(capsys.readouterr().out)


def test_a_compute_is_disabled_with_the_reason_and_enabled_again(
    cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = run(capsys, "disable", "of virt1", "a", "c")
    assert (code, cloud.changed) == (0, ["a"])
    reasons = {each["host"]: each["disabled_reason"] for each in found["services"]}
    assert reasons == {"a": "quorate maintenance of virt1", "c": ADMINS}
    run(capsys, "disable", "of virt1", "a")
    assert cloud.changed == ["a"], "it is disabled already"
    code, found = run(capsys, "enable", "a", "c")
    states = {each["host"]: each["status"] for each in found["services"]}
    assert states == {"a": "enabled", "c": "disabled"}, "an operator has disabled c"
    assert cloud.services[1]["status"] == "enabled"


def test_all_instances_of_a_host_are_listed(
    cloud: Cloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute_services, "PAGE", 2)
    state = {"name": "x", "tenant_id": "p", "status": "ACTIVE", "OS-EXT-STS:power_state": 1}
    stopped = {"status": "SHUTOFF", "OS-EXT-STS:power_state": 4}
    cloud.servers = [{"id": str(number), "host": "a"} | state for number in range(4)]
    cloud.servers[3] |= stopped
    cloud.servers.append({"id": "9", "host": "b"} | state)
    _, found = run(capsys, "show", "a")
    assert [(each["id"], each["runs"]) for each in found["instances"]] == [
        ("0", True), ("1", True), ("2", True), ("3", False)
    ]  # fmt: skip
    assert [each["host"] for each in found["services"]] == ["a"]


def test_instances_are_looked_at_by_id(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    server = {
        "id": "1", "name": "x", "tenant_id": "p", "status": "ERROR", "OS-EXT-STS:power_state": 1,
        "OS-EXT-STS:task_state": "migrating", "OS-EXT-SRV-ATTR:host": "b", "fault": {"message": "the disk"},
        "metadata": {compute_services.WISH: "forbidden"},
    }  # fmt: skip
    cloud.documents["/v2.1/servers/1"] = {"server": server}
    assert run(capsys, "look", "1", "deleted") == (
        0,
        {
            "instances": [
                {
                    "host": "b", "id": "1", "name": "x", "project": "p", "status": "ERROR", "task": "migrating",
                    "runs": True, "wish": "forbidden", "fault": "the disk",
                }
            ]
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("live", {"os-migrateLive": {"host": None, "block_migration": "auto"}}),
        ("cold", {"migrate": None}),
        ("confirm", {"confirmResize": None}),
    ],
)
def test_nova_is_asked_for_an_action(
    cloud: Cloud, capsys: pytest.CaptureFixture[str], what: str, body: dict[str, Any]
) -> None:
    assert run(capsys, what, "1") == (0, {"refused": ""})
    assert cloud.asked == [("/v2.1/servers/1/action", body)]
    cloud.answers = ({"conflictingRequest": {"code": 409, "message": "Cannot do it while ERROR"}}, 409)
    assert run(capsys, what, "1") == (0, {"refused": "Cannot do it while ERROR"})
    cloud.answers = (["a proxy's"], 409)
    assert run(capsys, what, "1") == (0, {"refused": '409: ["a proxy\'s"]'})
    cloud.answers = ({}, 503)
    assert run(capsys, what, "1")[0] == 1


def test_why_a_migration_has_failed(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    """In the form of Nova's documentation: actions and events begin with the newest."""
    place = "/v2.1/servers/1/os-instance-actions"
    cloud.documents["/v2.1/os-migrations"] = {"migrations": []}
    cloud.documents[place] = {"instanceActions": []}
    assert run(capsys, "failure", "1") == (0, {"migration": None, "reasons": []})
    migration = {"id": 7, "status": "error", "source_compute": "a", "dest_compute": "b", "uuid": "u"}
    cloud.documents["/v2.1/os-migrations"] = {"migrations": [migration]}
    actions = [("stop", "r3"), ("live-migration", "r2"), ("live-migration", "r1")]
    cloud.documents[place] = {"instanceActions": [{"action": each, "request_id": id_} for each, id_ in actions]}
    events = [{"details": "then"}, {"details": None}, {}, {"details": "first"}, {"details": "first"}]
    cloud.documents[f"{place}/r2"] = {"instanceAction": {"events": events}}
    code, found = run(capsys, "failure", "1")
    assert (code, found["reasons"]) == (0, ["first", "then"])
    assert found["migration"] == {"id": 7, "status": "error", "source_compute": "a", "dest_compute": "b"}
    assert {"instance_uuid": "1", "limit": "1"} in cloud.queries


def test_what_nova_refuses_is_said(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    cloud.fails = True
    code, found = run(capsys, "show", "a")
    assert (code, found["error"][:4]) == (1, "503 ")
    assert run(capsys, "look", "1")[0] == 1, "it may exist"


def test_a_wrong_password_is_said_without_it(cloud: Cloud, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "secrets.conf").write_text("[keystone_authtoken]\npassword = other\n")
    code, found = run(capsys, "show", "a")
    assert (code, found["error"][:4]) == (1, "401 ")
    assert "other" not in found["error"]
    (tmp_path / "secrets.conf").unlink()
    assert "KeyError" in run(capsys, "show", "a")[1]["error"]
    assert cloud.url


def test_a_dead_compute_is_forgotten_with_its_agents(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run(capsys, "forget", "a")
    assert (code, found) == (0, {"services": []})
    own = ["/v2.1/os-services/id-a", "/neutron/v2.0/agents/agent-0", "/neutron/v2.0/agents/agent-1"]
    assert cloud.deleted == own
    assert [each["host"] for each in cloud.services] == ["b", "c"]
    run(capsys, "forget", "a")
    assert cloud.deleted == own, "nothing is left to forget"
    cloud.servers.append({"id": "i-1", "host": "b"})
    code, found = run(capsys, "forget", "b")
    assert (code, "409 from" in found["error"], "is hosting instances" in found["error"]) == (1, True, True)
