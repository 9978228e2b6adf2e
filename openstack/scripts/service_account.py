"""Creates the user of an OpenStack service with its roles, and the service's endpoints in Keystone's catalog.

Runs in a Job, with the standard library only, so that any image with Python can run it. Argument: a JSON file with
`url`, `region`, `user`, `roles`, `services` and the `removed` users, and `domain` for a service with its own domain.
Environment: OS_USERNAME and OS_PASSWORD, of Keystone's administrator; PASSWORD, of the user; DOMAIN_PASSWORD, of the
domain's administrator. Existing objects are changed to the values in the file, so that the job may run again.
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
    """The calls of Keystone's API for accounts. An answer other than 2xx raises urllib.error.HTTPError."""

    def __init__(self, url: str) -> None:
        self.url = url
        scope = {"project": {"name": "admin", "domain": {"id": DOMAIN}}}
        self.token = self.authenticated(os.environ["OS_USERNAME"], os.environ["OS_PASSWORD"], scope)

    def authenticated(self, user: str, password: str, scope: dict[str, Any] | str, domain: str = DOMAIN) -> str:
        """Authenticates a user with a password. Returns the user's token for the scope."""
        account = {"name": user, "password": password, "domain": {"id": domain}}
        identity = {"methods": ["password"], "password": {"user": account}}
        body = {"auth": {"identity": identity, "scope": scope}}
        with self._sent("POST", "auth/tokens", body, token=None) as answer:
            return answer.headers["X-Subject-Token"]

    def ensure(self, kind: str, query: dict[str, str], wanted: dict[str, str] | None = None) -> str:
        """Returns the id of the object of a kind such as users that matches the query.

        Creates the object if it is missing, and sets the values in `wanted`.
        """
        one, wanted = kind.removesuffix("s"), wanted or {}
        for existing in self.read(f"{kind}?{urllib.parse.urlencode(query)}")[kind]:
            if any(existing.get(key) != value for key, value in wanted.items()):
                self.send("PATCH", f"{kind}/{existing['id']}", {one: wanted})
            return existing["id"]
        return self.send("POST", kind, {one: {**query, **wanted}})[one]["id"]

    def ensure_user(self, name: str, password: str, domain: str = DOMAIN) -> str:
        """Returns the id of a user; creates the user if it is missing, and sets the password if it differs.

        The current password is not set again, because that would revoke the user's tokens.
        """
        user = self.ensure("users", {"name": name, "domain_id": domain})
        try:
            self.authenticated(name, password, "unscoped", domain)
        except urllib.error.HTTPError as refusal:
            if refusal.code != 401:
                raise
            self.send("PATCH", f"users/{user}", {"user": {"password": password}})
        return user

    def remove_user(self, name: str) -> None:
        """Removes the user with a name, if it exists."""
        for existing in self.read(f"users?{urllib.parse.urlencode({'name': name, 'domain_id': DOMAIN})}")["users"]:
            self.send("DELETE", f"users/{existing['id']}")

    def ensure_domain(self, wanted: dict[str, Any], password: str) -> None:
        """Creates a domain, its administrator, and the roles of its users, if they are missing."""
        domain = self.ensure("domains", {"name": wanted["name"]})
        user = self.ensure_user(wanted["administrator"], password, domain)
        role = self.ensure("roles", {"name": "admin"})
        self.send("PUT", f"domains/{domain}/users/{user}/roles/{role}")
        for name in wanted["roles"]:
            self.ensure("roles", {"name": name})

    def read(self, path: str) -> Any:
        """Sends a GET request and returns the JSON document of the answer."""
        return self.send("GET", path)

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Sends a request and returns the JSON document of the answer; None for an empty answer."""
        with self._sent(method, path, body, self.token) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def _sent(self, method: str, path: str, body: dict[str, Any] | None, token: str | None) -> Any:
        headers = {"Content-Type": "application/json"} | ({"X-Auth-Token": token} if token else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/{path}", data, headers, method=method)
        return urllib.request.urlopen(request, timeout=TIMEOUT)


def main() -> None:
    """Creates the user, roles and endpoints of the JSON file, and removes users that are no longer valid."""
    account: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    keystone = Keystone(account["url"])
    project = keystone.ensure("projects", {"name": PROJECT, "domain_id": DOMAIN})
    user = keystone.ensure_user(account["user"], os.environ["PASSWORD"])
    for name in account["roles"]:
        role = keystone.ensure("roles", {"name": name})
        keystone.send("PUT", f"projects/{project}/users/{user}/roles/{role}")
    for service in account["services"]:
        known = keystone.ensure("services", {"type": service["type"], "name": service["name"]})
        for interface in INTERFACES:
            where = {"service_id": known, "interface": interface, "region_id": account["region"]}
            keystone.ensure("endpoints", where, {"url": service[interface]})
    for name in account["removed"]:
        keystone.remove_user(name)
    if "domain" in account:
        keystone.ensure_domain(account["domain"], os.environ["DOMAIN_PASSWORD"])
    print(f"user {account['user']} and {len(account['services'])} services are in Keystone")


if __name__ == "__main__":
    main()
