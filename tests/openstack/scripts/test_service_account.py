"""The job that makes a service's user and endpoints, against a small imitation of Keystone."""

from __future__ import annotations

import json
import threading
import urllib.error
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from openstack.scripts import service_account

HEAT: dict[str, Any] = {
    "region": "RegionOne",
    "user": "heat_g2",
    "roles": ["admin", "service"],
    "services": [
        {"type": "orchestration", "name": "heat", "internal": "http://heat.internal:8004", "public": "https://heat"}
    ],
    "removed": [],
}
DOMAIN = {"name": "heat", "administrator": "heat_domain_admin", "roles": ["heat_stack_owner"]}


class Keystone(ThreadingHTTPServer):
    """Objects by kind, passwords by the id of their user, what was changed, and the status of wrong passwords."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.objects: dict[str, list[dict[str, Any]]] = {"users": [{"id": "root", "name": "admin"}]}
        self.passwords = {"root": "of all"}
        self.scopes: list[Any] = []
        self.changed: list[str] = []
        self.refusal = 401

    def of(self, kind: str) -> list[dict[str, Any]]:
        return self.objects.setdefault(kind, [])

    def values(self, kind: str, *keys: str) -> list[tuple[Any, ...]]:
        return [tuple(each.get(key) for key in keys) for each in self.of(kind)]


class Answers(BaseHTTPRequestHandler):
    server: Keystone  # type: ignore[assignment]

    def log_message(self, *_words: object) -> None: ...  # type: ignore[override]

    def _answer(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        kind, *names = url.path.removeprefix("/v3/").split("/")
        if kind == "auth":
            self._authenticate(json.loads(text)["auth"])
        elif self.headers["X-Auth-Token"] != "of admin":
            self._send(401)
        else:
            self._act(kind, names, dict(parse_qsl(url.query)), json.loads(text) if text else {})

    def _act(self, kind: str, names: list[str], query: dict[str, str], body: dict[str, Any]) -> None:
        stored = self.server.of(kind)
        if self.command == "GET":
            return self._send(200, {kind: [each for each in stored if query.items() <= each.items()]})
        values: dict[str, Any] = dict(body.get(kind.removesuffix("s"), {}))
        if self.command == "POST":
            names = [f"{kind.removesuffix('s')}-{len(stored) + 1}"]
            stored.append({"id": names[0]})
        self.server.changed.append(f"{self.command} {'/'.join((kind, *names))}")
        if self.command == "PUT":
            return self._send(204)
        (found,) = (each for each in stored if each["id"] == names[0])
        if self.command == "DELETE":
            stored.remove(found)
            return self._send(204)
        if "password" in values:
            self.server.passwords[names[0]] = values.pop("password")
        found |= values
        return self._send(200, {kind.removesuffix("s"): found})

    def _authenticate(self, wanted: dict[str, Any]) -> None:
        user = wanted["identity"]["password"]["user"]
        found = [
            each["id"]
            for each in self.server.of("users")
            if (each["name"], each.get("domain_id", "default")) == (user["name"], user["domain"]["id"])
        ]
        self.server.scopes.append(wanted["scope"])
        known = found and self.server.passwords.get(found[0]) == user["password"]
        self._send(201 if known else self.server.refusal)

    def _send(self, status: int, document: object = None) -> None:
        self.send_response(status)
        self.send_header("X-Subject-Token", "of admin")
        self.end_headers()
        if document is not None:
            self.wfile.write(json.dumps(document).encode())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - names of the base class


@pytest.fixture
def keystone() -> Generator[Keystone]:
    with Keystone() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def run(keystone: Keystone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that runs the job for heat, with other keys of its document."""
    secrets = {"OS_USERNAME": "admin", "OS_PASSWORD": "of all", "PASSWORD": "of heat", "DOMAIN_PASSWORD": "of domain"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)

    def main(**more: Any) -> list[str]:
        document = {**HEAT, "url": f"http://127.0.0.1:{keystone.server_port}/v3", **more}
        (tmp_path / "account.json").write_text(json.dumps(document), encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["service_account.py", str(tmp_path / "account.json")])
        keystone.changed.clear()
        service_account.main()
        return keystone.changed

    return main


def test_user_roles_and_endpoints_are_made(keystone: Keystone, run: Any) -> None:
    run()
    assert keystone.values("projects", "name", "domain_id") == [("service", "default")]
    assert keystone.values("users", "name", "domain_id")[1:] == [("heat_g2", "default")]
    assert keystone.passwords["user-2"] == "of heat"
    assert keystone.values("roles", "name") == [("admin",), ("service",)]
    granted = [each for each in keystone.changed if each.startswith("PUT")]
    assert granted == [f"PUT projects/project-1/users/user-2/roles/role-{number}" for number in (1, 2)]
    assert keystone.values("services", "type", "name") == [("orchestration", "heat")]
    assert keystone.values("endpoints", "service_id", "interface", "region_id", "url") == [
        ("service-1", "internal", "RegionOne", "http://heat.internal:8004"),
        ("service-1", "public", "RegionOne", "https://heat"),
    ]
    assert keystone.scopes[0] == {"project": {"name": "admin", "domain": {"id": "default"}}}


def test_a_second_run_changes_nothing_but_what_differs(keystone: Keystone, run: Any) -> None:
    run()
    roles = [f"PUT projects/project-1/users/user-2/roles/role-{number}" for number in (1, 2)]
    assert run() == roles
    keystone.passwords["user-2"] = "old"
    (heat,) = HEAT["services"]
    assert run(services=[heat | {"public": "https://cloud/heat"}]) == [
        "PATCH users/user-2",
        *roles,
        "PATCH endpoints/endpoint-2",
    ]
    assert keystone.passwords["user-2"] == "of heat"
    assert keystone.values("endpoints", "url") == [("http://heat.internal:8004",), ("https://cloud/heat",)]


def test_users_that_are_no_longer_valid_are_removed(keystone: Keystone, run: Any) -> None:
    users = [("heat_g1", "default"), ("heat_g1", "other"), ("nova", "default")]
    keystone.of("users").extend({"id": "-".join(user), "name": user[0], "domain_id": user[1]} for user in users)
    changed = run(removed=["heat_g0", "heat_g1"])
    assert [each for each in changed if each.startswith("DELETE")] == ["DELETE users/heat_g1-default"]


def test_a_domain_has_an_administrator_and_the_roles_of_its_users(keystone: Keystone, run: Any) -> None:
    assert "PUT domains/domain-1/users/user-3/roles/role-1" in run(domain=DOMAIN)
    assert keystone.values("domains", "name") == [("heat",)]
    assert keystone.values("users", "name", "domain_id")[-1] == ("heat_domain_admin", "domain-1")
    assert keystone.passwords["user-3"] == "of domain"
    assert ("heat_stack_owner",) in keystone.values("roles", "name")


def test_no_password_is_set_while_keystone_fails(keystone: Keystone, run: Any) -> None:
    """Another answer than 401 says nothing of the password."""
    run()
    keystone.passwords["user-2"], keystone.refusal = "old", 503
    with pytest.raises(urllib.error.HTTPError, match="503"):
        run()
    assert keystone.passwords["user-2"] == "old"
