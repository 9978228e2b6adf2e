"""The job that makes a vhost of RabbitMQ with its user, against a small imitation of the management API."""

from __future__ import annotations

import json
import threading
import urllib.error
from base64 import b64encode
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from openstack.scripts import messaging_account
from tests.projects import PROCESSES

ADMIN = f"Basic {b64encode(b'admin:of all').decode()}"
AWAY = "127.0.0.3"
"""An address at which no member listens."""


class Broker(ThreadingHTTPServer):
    """A member of RabbitMQ, with what was requested of it, and the codes of its refusals by method and path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[tuple[str, Any]] = []
        self.refusals: dict[str, int] = {}


class Answers(BaseHTTPRequestHandler):
    server: Broker  # type: ignore[assignment]

    def log_message(self, *_words: object) -> None: ...  # type: ignore[override]

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = f"{self.command} {self.path}"
        self.server.asked.append((asked, json.loads(body) if body else None))
        self.send_response(self.server.refusals.get(asked, 200 if self.headers["Authorization"] == ADMIN else 401))
        self.end_headers()

    do_GET = do_PUT = do_DELETE = _answer  # noqa: N815 - names of the base class


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Generator[Broker]:
    with Broker() as server:
        monkeypatch.setattr(messaging_account, "MANAGEMENT", server.server_port)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that runs the job with a document."""
    monkeypatch.setenv("ADMIN_PASSWORD", "of all")
    monkeypatch.setenv("PASSWORD", "of one")

    def main(*members: str, removed: tuple[str, ...] = (), **more: Any) -> None:
        document = {"user": "nova g2", "vhost": "nova/rpc", "members": members, "removed": removed, **more}
        (tmp_path / "account.json").write_text(json.dumps(document), encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["messaging_account.py", str(tmp_path / "account.json")])
        messaging_account.main()

    return main


def test_the_account_is_made_through_the_first_member_that_answers(broker: Broker, run: Any) -> None:
    policy = {"name": "limit", "pattern": ".*", "definition": {"max-length": 9}}
    run(AWAY, "127.0.0.1", AWAY, policy=policy, removed=("nova/g1",))
    assert broker.asked == [
        ("GET /api/overview", None),
        ("PUT /api/vhosts/nova%2Frpc", {"default_queue_type": "quorum"}),
        ("PUT /api/users/nova%20g2", {"password": "of one", "tags": ""}),
        ("PUT /api/permissions/nova%2Frpc/nova%20g2", {"configure": ".*", "write": ".*", "read": ".*"}),
        ("PUT /api/policies/nova%2Frpc/limit", {"pattern": ".*", "definition": {"max-length": 9}}),
        ("DELETE /api/users/nova%2Fg1", None),
    ]


def test_without_a_policy_none_is_made(broker: Broker, run: Any) -> None:
    run("127.0.0.1")
    assert [asked for asked, _ in broker.asked if "policies" in asked or "DELETE" in asked] == []


def test_a_user_that_is_gone_is_removed_and_one_that_stays_fails_the_job(broker: Broker, run: Any) -> None:
    broker.refusals["DELETE /api/users/g1"] = 404
    run("127.0.0.1", removed=("g1", "g0"))
    assert [asked for asked, _ in broker.asked][-2:] == ["DELETE /api/users/g1", "DELETE /api/users/g0"]
    broker.refusals["DELETE /api/users/g1"] = 503
    with pytest.raises(urllib.error.HTTPError, match="503"):
        run("127.0.0.1", removed=("g1",))


@pytest.mark.usefixtures("broker")
def test_without_a_member_that_answers_the_reasons_are_named(run: Any) -> None:
    with pytest.raises(SystemExit, match=rf"no member of RabbitMQ answers: {AWAY}: .*refused.*; 127.0.0.4: "):
        run(AWAY, "127.0.0.4")


def test_the_job_asks_the_port_that_members_open() -> None:
    ports = {port.name: port.number for port in PROCESSES["rabbitmq"].containers[0].ports}
    assert ports["management"] == messaging_account.MANAGEMENT
