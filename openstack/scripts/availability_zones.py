"""Creates a host aggregate for each availability zone, and adds the computes, as Keystone's administrator.

Runs in a Job, with the standard library only. Argument: a JSON file with `url` (Keystone's), `region`, and `zones`: the
hosts of each zone. Environment: OS_USERNAME and OS_PASSWORD.

Missing aggregates are created, with the name of the zone, and missing hosts are added, so the job may run again. The
job waits for hosts that Nova does not know yet. It takes no host out of an aggregate: it reports a host in another
zone, and one that Nova does not add, after all others are added, and fails.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

DOMAIN = "default"
PROJECT = "admin"
TIMEOUT = 60
"""Seconds after which a request without an answer fails."""
WAIT = 420
"""Seconds to wait for hosts that Nova does not know: nova-scheduler looks for new ones every 300 s
(discover_hosts_in_cells_interval), and two minutes more."""
PAUSE = 20
"""Seconds between two attempts to add such hosts. Project figure."""
UNKNOWN, CONFLICT = 404, 409
"""Nova's answers for a host that it does not know, and for one that may not get this zone: it is in another one, or has
instances, whose zone Nova does not change (Nova 33.0.2, AggregateAPI.add_host_to_aggregate)."""
NAMED = 5
"""Hosts that a line names."""

Object = dict[str, Any]
Zones = Mapping[str, Sequence[str]]


class ComputeApi:
    """Nova's API in a region. An answer other than 2xx raises urllib.error.HTTPError."""

    def __init__(self, url: str, region: str) -> None:
        account = {"name": os.environ["OS_USERNAME"], "password": os.environ["OS_PASSWORD"], "domain": {"id": DOMAIN}}
        identity = {"methods": ["password"], "password": {"user": account}}
        scope = {"project": {"name": PROJECT, "domain": {"id": DOMAIN}}}
        self.headers = {"Content-Type": "application/json"}
        with self._sent("POST", f"{url}/auth/tokens", {"auth": {"identity": identity, "scope": scope}}) as answer:
            self.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]
            catalog = json.load(answer)["token"]["catalog"]
        (self.url,) = {
            endpoint["url"].rstrip("/")
            for service in catalog
            for endpoint in service["endpoints"]
            if (service["type"], endpoint["interface"], endpoint["region_id"]) == ("compute", "internal", region)
        }

    def aggregates(self) -> list[Object]:
        with self._sent("GET", f"{self.url}/os-aggregates") as answer:
            return json.load(answer)["aggregates"]

    def create(self, zone: str) -> Object:
        """Creates the aggregate of a zone, with the zone's name."""
        wanted = {"name": zone, "availability_zone": zone}
        with self._sent("POST", f"{self.url}/os-aggregates", {"aggregate": wanted}) as answer:
            made = json.load(answer)["aggregate"]
        print(f"aggregate {zone}: made")
        return made

    def add(self, host: str, aggregate: Object) -> None:
        self._sent("POST", f"{self.url}/os-aggregates/{aggregate['id']}/action", {"add_host": {"host": host}}).close()
        print(f"aggregate {aggregate['name']}: {host} added")

    def _sent(self, method: str, url: str, body: Object | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        return urllib.request.urlopen(urllib.request.Request(url, data, self.headers, method=method), timeout=TIMEOUT)


def fill(nova: ComputeApi, zones: Zones) -> tuple[list[str], list[str]]:
    """Creates missing aggregates and adds missing hosts.

    Returns a line for each problem, and the hosts that Nova does not know yet.
    """
    there = nova.aggregates()
    by_name = {each["name"]: each for each in there}
    zoned = {host: each for each in there if each["availability_zone"] for host in each["hosts"]}
    problems: list[str] = []
    unknown: list[str] = []
    for zone, hosts in zones.items():
        problems += _elsewhere(zone, hosts, zoned)
        aggregate = by_name.get(zone) or nova.create(zone)
        if aggregate["availability_zone"] != zone:
            has = aggregate["availability_zone"] or "none"
            problems.append(f"aggregate {zone} exists with the availability zone {has}; rename it, or the zone")
            continue
        for host in (host for host in hosts if host not in zoned):
            try:
                nova.add(host, aggregate)
            except urllib.error.HTTPError as refusal:
                if refusal.code not in (UNKNOWN, CONFLICT):
                    raise
                if refusal.code == UNKNOWN:
                    unknown.append(host)
                else:
                    problems.append(f"{host} is not in {zone}; Nova answers {_text(refusal)}")
    return problems, unknown


def _elsewhere(zone: str, hosts: Sequence[str], zoned: Mapping[str, Object]) -> Iterator[str]:
    """Yields a line for each host that is in another zone. `zoned`: an aggregate of a zone for each host in one."""
    for host in hosts:
        aggregate = zoned.get(host)
        if aggregate and aggregate["availability_zone"] != zone:
            other = f"is in the zone {aggregate['availability_zone']}; the stack file has {zone}"
            remove = f"openstack aggregate remove host '{aggregate['name']}' {host}"
            yield f"{host} {other}. To change it, move its instances away and run: {remove}"


def _text(refusal: urllib.error.HTTPError) -> str:
    """Returns the message of an error of Nova's or Keystone's API."""
    answer = refusal.read(2000).decode(errors="replace")
    try:
        (found,) = json.loads(answer).values()
        return f"{refusal.code}: {found['message']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{refusal.code}: {answer}"


def _names(hosts: Sequence[str]) -> str:
    more = f" and {len(hosts) - NAMED} more" if len(hosts) > NAMED else ""
    return ", ".join(hosts[:NAMED]) + more


def wait(nova: ComputeApi, zones: Zones) -> list[str]:
    """Fills the zones until Nova knows every host, at most WAIT seconds long. Returns a line for each problem."""
    end = time.monotonic() + WAIT
    while True:
        problems, unknown = fill(nova, zones)
        if not unknown:
            return problems
        if time.monotonic() >= end:
            lacking = f"Nova does not know {_names(unknown)}: start nova-compute there"
            return [*problems, f"{lacking}, or remove them from the stack file"]
        print(f"waiting until Nova knows {_names(unknown)}", flush=True)
        time.sleep(PAUSE)


def main() -> None:
    """Fills the zones of the JSON file. Exits with an error if a host is not in its zone."""
    content: Object = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        problems = wait(ComputeApi(content["url"], content["region"]), content["zones"])
    except urllib.error.HTTPError as refusal:
        sys.exit(f"{refusal.url} answers {_text(refusal)}")
    except OSError as reason:
        sys.exit(f"no answer: {reason}")
    if problems:
        sys.exit("\n".join([*problems, "Then run the job again: quorate action --name bootstrap-zones"]))
    print("every compute is in its availability zone")


if __name__ == "__main__":
    main()
