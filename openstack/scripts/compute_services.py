"""Disables, enables and forgets nova-compute on hosts, lists and moves their instances, by Nova's API and account.

Runs in a pod of nova-api, which has the account in its configuration, so that no password travels; with the standard
library only. Prints one JSON object, or the `error`. Arguments:

- `show`, `disable` or `enable`, then for `disable` the reason, then hosts: the `services` of the hosts after the
  change, for `show` also their `instances`. `enable` enables only services that were disabled for a reason that begins
  with the mark of `disable`: what an operator has disabled stays so.
- `forget`, then hosts that are dead: deletes their `services`, which Nova refuses while it has instances there, and
  their agents of Neutron.
- `look`, then ids: the `instances` that exist still.
- `live`, `cold` or `confirm`, then an id: asks Nova for a live or cold migration, or confirms a cold one; `refused`
  says why Nova does not do it, "" if it does.
- `failure`, then an id: the last `migration` of an instance, None without one, and the `reasons` that Nova gives.
"""

from __future__ import annotations

import configparser
import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

FILES = ("etc/nova/nova.conf", "etc/nova/nova.conf.d/*.conf")
"""Below /."""
MARK = "quorate maintenance"
VERSION = "2.84"
"""Microversion of Nova's API from which on events of an instance say why they failed (22.0.0, Victoria)."""
TIMEOUT = 20
PAGE = 500
MISSING = 404
REFUSALS = (400, 403, 404, 409)
"""HTTP codes of requests that Nova understands and does not do."""
SHUT_DOWN = 4
"""Nova's power state of an instance that does not run."""
WISH = "quorate:live-migration"
"""Key of an instance's metadata by which its tenant forbids live migration."""
ACTIONS: dict[str, dict[str, Any]] = {
    "live": {"os-migrateLive": {"host": None, "block_migration": "auto"}},
    "cold": {"migrate": None},
    "confirm": {"confirmResize": None},
}
"""Requests for an instance, by argument. Without a host, Nova's scheduler chooses it."""
MIGRATIONS = ("live-migration", "migrate")
"""Actions as Nova records them."""


class Nova:
    """Nova's API, as the account of nova-api sees it."""

    def __init__(self) -> None:
        own = configparser.ConfigParser(strict=False, interpolation=None)
        own.read([path for pattern in FILES for path in sorted(Path("/").glob(pattern))], encoding="utf-8")
        account = own["keystone_authtoken"]
        user = {
            "name": account["username"],
            "password": account["password"],
            "domain": {"name": account["user_domain_name"]},
        }
        project = {"name": account["project_name"], "domain": {"name": account["project_domain_name"]}}
        identity = {"methods": ["password"], "password": {"user": user}}
        body = {"auth": {"identity": identity, "scope": {"project": project}}}
        url = account["auth_url"].rstrip("/") + "/auth/tokens"
        with sent("POST", url, body, {}) as answer:
            self.headers = {
                "X-Auth-Token": answer.headers["X-Subject-Token"],
                "X-OpenStack-Nova-API-Version": VERSION,
            }
            self.catalog = json.load(answer)["token"]["catalog"]
        self.region = account.get("region_name", "")
        self.url = endpoint(self.catalog, "compute", self.region)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        with sent(method, f"{self.url}/{path}", body, self.headers) as answer:
            return json.load(answer)

    def forget(self, host: str) -> None:
        """Deletes the services nova-compute of a host, and all agents of Neutron there."""
        for service in self.services({host}):
            sent("DELETE", f"{self.url}/os-services/{service['id']}", None, self.headers).close()
        neutron = endpoint(self.catalog, "network", self.region)
        query = urllib.parse.urlencode({"host": host})
        with sent("GET", f"{neutron}/v2.0/agents?{query}", None, self.headers) as answer:
            agents = json.load(answer)["agents"]
        for agent in agents:
            sent("DELETE", f"{neutron}/v2.0/agents/{agent['id']}", None, self.headers).close()

    def services(self, hosts: set[str]) -> list[dict[str, Any]]:
        """Returns the services nova-compute of hosts."""
        found = self.ask("GET", "os-services?binary=nova-compute")["services"]
        kept = ("id", "host", "status", "state", "disabled_reason")
        return [{key: each.get(key) for key in kept} for each in found if each["host"] in hosts]

    def change(self, service: dict[str, Any], **values: str) -> None:
        self.ask("PUT", f"os-services/{service['id']}", values)

    def instances(self, host: str) -> list[dict[str, Any]]:
        """Returns the instances of a host, those of all projects."""
        found: list[dict[str, Any]] = []
        while True:
            query = {"all_tenants": "1", "host": host, "limit": str(PAGE)}
            if found:
                query["marker"] = found[-1]["id"]
            page = self.ask("GET", "servers/detail?" + urllib.parse.urlencode(query))["servers"]
            found += [shown(each) | {"host": host} for each in page]
            if len(page) < PAGE:
                return found

    def look(self, ids: tuple[str, ...]) -> list[dict[str, Any]]:
        """Returns the instances of these ids, without those that were deleted."""
        found: list[dict[str, Any]] = []
        for each in ids:
            try:
                found.append(shown(self.ask("GET", f"servers/{each}")["server"]))
            except urllib.error.HTTPError as error:
                if error.code != MISSING:
                    raise
        return found

    def act(self, what: str, instance: str) -> str:
        """Asks for an action on an instance. Returns why Nova refuses it; "" if it does not."""
        try:
            with sent("POST", f"{self.url}/servers/{instance}/action", ACTIONS[what], self.headers):
                return ""
        except urllib.error.HTTPError as error:
            if error.code not in REFUSALS:
                raise
            return message(error)

    def failure(self, instance: str) -> dict[str, Any]:
        """Returns the last migration of an instance, and why Nova's last request for one failed."""
        query = urllib.parse.urlencode({"instance_uuid": instance, "limit": "1"})
        migration = next(iter(self.ask("GET", f"os-migrations?{query}")["migrations"]), None)
        place = f"servers/{instance}/os-instance-actions"
        reasons: list[str] = []
        for action in self.ask("GET", place)["instanceActions"]:  # the newest first
            if action["action"] in MIGRATIONS:
                events = self.ask("GET", f"{place}/{action['request_id']}")["instanceAction"]["events"]
                reasons = [each["details"] for each in events if each.get("details")]
                break
        kept = ("id", "status", "source_compute", "dest_compute")
        return {
            "migration": {key: migration.get(key) for key in kept} if migration else None,
            "reasons": list(dict.fromkeys(reversed(reasons))),
        }


def shown(server: dict[str, Any]) -> dict[str, Any]:
    """Returns what a maintenance needs to know of an instance."""
    return {
        "host": server.get("OS-EXT-SRV-ATTR:host"),
        "id": server["id"],
        "name": server.get("name", ""),
        "project": server["tenant_id"],
        "status": server["status"],
        "task": server.get("OS-EXT-STS:task_state"),
        "runs": server.get("OS-EXT-STS:power_state") != SHUT_DOWN,
        "wish": server.get("metadata", {}).get(WISH),
        "fault": server.get("fault", {}).get("message"),
    }


def message(error: urllib.error.HTTPError) -> str:
    """Returns what Nova says in an answer with an error."""
    said = error.read(2000).decode(errors="replace")
    try:
        (found,) = json.loads(said).values()
        return str(found["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{error.code}: {said[:300]}"


def sent(method: str, url: str, body: dict[str, Any] | None, headers: dict[str, str]) -> Any:
    """Sends a request and returns the response, which the caller closes."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers}, method=method)
    return urllib.request.urlopen(request, timeout=TIMEOUT)


def endpoint(catalog: list[dict[str, Any]], kind: str, region: str) -> str:
    """Returns the internal URL of an API in the catalog. `kind`: its type there. Raises LookupError without one."""
    for service in catalog:
        for each in service["endpoints"] if service["type"] == kind else ():
            if each["interface"] == "internal" and region in ("", each["region_id"]):
                return each["url"].rstrip("/")
    raise LookupError(f"Keystone's catalog has no internal endpoint of {kind}")


def run(what: str, *arguments: str) -> dict[str, Any]:
    """Does the work of the arguments and returns the result."""
    nova = Nova()
    if what == "look":
        return {"instances": nova.look(arguments)}
    if what in ACTIONS:
        return {"refused": nova.act(what, arguments[0])}
    if what == "failure":
        return nova.failure(arguments[0])
    hosts = set(arguments[1:] if what == "disable" else arguments)
    for service in nova.services(hosts):
        disabled = service["status"] == "disabled"
        if what == "disable" and not disabled:
            nova.change(service, status="disabled", disabled_reason=f"{MARK} {arguments[0]}")
        if what == "enable" and disabled and (service["disabled_reason"] or "").startswith(MARK):
            nova.change(service, status="enabled")
    for host in sorted(hosts) if what == "forget" else ():
        nova.forget(host)
    found: dict[str, Any] = {"services": nova.services(hosts)}
    if what == "show":
        found["instances"] = [each for host in sorted(hosts) for each in nova.instances(host)]
    return found


def main(arguments: list[str]) -> int:
    """Prints the result as JSON. Returns 1 if Nova or Keystone refuses, or does not answer."""
    try:
        print(json.dumps(run(*arguments)))
    except urllib.error.HTTPError as error:
        print(json.dumps({"error": f"{error.code} from {error.url}: {error.read(300).decode(errors='replace')}"}))
        return 1
    except (OSError, LookupError, ValueError, configparser.Error) as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
