"""Makes the user of an OpenStack service with its roles, and the service's endpoints in Keystone's catalog.

Runs in a Job, with the standard library alone, so that any image with Python can run it. Argument: a JSON file with
`url`, `region`, `user`, `roles` and `services`. Environment: OS_USERNAME and OS_PASSWORD, of Keystone's administrator,
and PASSWORD, of the user. What exists is changed to what is asked for, and the job may run again.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

DOMAIN = "default"
PROJECT = "service"
INTERFACES = ("internal", "public")
TIMEOUT = 30


class Keystone:
    """Keystone's API, as far as accounts need it. An answer other than 2xx raises urllib.error.HTTPError."""

    def __init__(self, url: str) -> None:
        self.url = url
        scope = {"project": {"name": "admin", "domain": {"id": DOMAIN}}}
        self.token = self.authenticated(os.environ["OS_USERNAME"], os.environ["OS_PASSWORD"], scope)

    def authenticated(self, user: str, password: str, scope: dict[str, Any] | str) -> str:
        """Returns a token."""
        account = {"name": user, "password": password, "domain": {"id": DOMAIN}}
        identity = {"methods": ["password"], "password": {"user": account}}
        body = {"auth": {"identity": identity, "scope": scope}}
        with self._sent("POST", "auth/tokens", body, token=None) as answer:
            return answer.headers["X-Subject-Token"]

    def ensure(self, kind: str, query: dict[str, str], wanted: dict[str, str] | None = None) -> str:
        """Returns the id of the object that matches the query, made or changed to what is wanted."""
        one, wanted = kind.removesuffix("s"), wanted or {}
        for existing in self.read(f"{kind}?{urllib.parse.urlencode(query)}")[kind]:
            if any(existing.get(key) != value for key, value in wanted.items()):
                self.send("PATCH", f"{kind}/{existing['id']}", {one: wanted})
            return existing["id"]
        return self.send("POST", kind, {one: {**query, **wanted}})[one]["id"]

    def give_password(self, name: str, user: str, password: str) -> None:
        """Changes a password that is another. Setting the present one again would revoke the user's tokens."""
        try:
            self.authenticated(name, password, "unscoped")
        except urllib.error.HTTPError as refusal:
            if refusal.code != 401:
                raise
            self.send("PATCH", f"users/{user}", {"user": {"password": password}})

    def read(self, path: str) -> Any:
        """Returns an answer's document."""
        return self.send("GET", path)

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Sends a request and returns the answer's document, if it has one."""
        with self._sent(method, path, body, self.token) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def _sent(self, method: str, path: str, body: dict[str, Any] | None, token: str | None) -> Any:
        headers = {"Content-Type": "application/json"} | ({"X-Auth-Token": token} if token else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, headers, method=method)
        return urllib.request.urlopen(request, timeout=TIMEOUT)


def main() -> None:
    """Makes everything that the file asks for."""
    account: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    keystone = Keystone(account["url"])
    project = keystone.ensure("projects", {"name": PROJECT, "domain_id": DOMAIN})
    user = keystone.ensure("users", {"name": account["user"], "domain_id": DOMAIN})
    keystone.give_password(account["user"], user, os.environ["PASSWORD"])
    for name in account["roles"]:
        role = keystone.ensure("roles", {"name": name})
        keystone.send("PUT", f"projects/{project}/users/{user}/roles/{role}")
    for service in account["services"]:
        known = keystone.ensure("services", {"type": service["type"], "name": service["name"]})
        for interface in INTERFACES:
            where = {"service_id": known, "interface": interface, "region_id": account["region"]}
            keystone.ensure("endpoints", where, {"url": service["url"]})
    print(f"user {account['user']} and {len(account['services'])} services are in Keystone")


if __name__ == "__main__":
    main()
