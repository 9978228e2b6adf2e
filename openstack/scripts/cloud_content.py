"""Creates the networks, the flavors and the image of a new cloud, as Keystone's administrator.

Runs in a Job, with the standard library only. Argument: a JSON file with `url` (Keystone's), `region`, `networks`,
`flavors` and `image`. Environment: OS_USERNAME and OS_PASSWORD.

Missing objects are created. An object that exists under the name is not changed: if it differs from the file, the job
creates the other objects, reports each difference and fails. So the job may run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

DOMAIN = "default"
PROJECT = "admin"
CHECKSUM = "quorate_sha256"
"""Name of the image's property with the SHA-256 of its file."""
HYPERVISOR = "hypervisor_type"
"""Name of the image's property with the hypervisor that alone may run it."""
BLOCK = 1024 * 1024
TIMEOUT = 60
"""Seconds after which a request without an answer fails, except the upload of the image."""
UPLOAD_TIMEOUT = 600
"""Seconds after which the upload of the image fails. Glance answers when its store has the whole image."""

Object = dict[str, Any]


class Api:
    """The API of an OpenStack service. An answer other than 2xx raises urllib.error.HTTPError."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url, self.token = url.rstrip("/"), token

    def find(self, path: str, **query: str) -> list[Object]:
        """Returns the objects that a list request to `path` returns, filtered by `query`."""
        kind = path.rpartition("/")[2]
        return self.send("GET", f"{path}?{urllib.parse.urlencode(query)}")[kind]

    def send(self, method: str, path: str, body: Object | None = None) -> Any:
        """Sends a request and returns the JSON document of the answer; None for an empty answer."""
        data = None if body is None else json.dumps(body).encode()
        with self.open(method, path, data, {"Content-Type": "application/json"}) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def open(
        self, method: str, path: str, data: bytes | IO[bytes] | None, headers: Mapping[str, str], timeout: int = TIMEOUT
    ) -> Any:
        """Sends a request and returns the open HTTP response."""
        token = {"X-Auth-Token": self.token} if self.token else {}
        request = urllib.request.Request(f"{self.url}/{path}", data, {**headers, **token}, method=method)
        return urllib.request.urlopen(request, timeout=timeout)


class Cloud:
    """The APIs of Nova, Neutron and Glance in a region, found in Keystone's catalog."""

    def __init__(self, url: str, region: str) -> None:
        account = {"name": os.environ["OS_USERNAME"], "password": os.environ["OS_PASSWORD"], "domain": {"id": DOMAIN}}
        identity = {"methods": ["password"], "password": {"user": account}}
        scope = {"project": {"name": PROJECT, "domain": {"id": DOMAIN}}}
        body = {"auth": {"identity": identity, "scope": scope}}
        headers = {"Content-Type": "application/json"}
        with Api(url).open("POST", "auth/tokens", json.dumps(body).encode(), headers) as answer:
            token, described = answer.headers["X-Subject-Token"], json.load(answer)["token"]
        self.project: str = described["project"]["id"]
        urls = {
            service["type"]: endpoint["url"]
            for service in described["catalog"]
            for endpoint in service["endpoints"]
            if (endpoint["interface"], endpoint["region_id"]) == ("internal", region)
        }
        self.compute, self.network, self.image = (Api(urls[name], token) for name in ("compute", "network", "image"))

    def ensure(self, kind: str, wanted: Object, **query: str) -> tuple[Object, list[str]]:
        """Returns the network, subnet or router with the wanted name, and its differences from `wanted`.

        Creates the object if it is missing.
        """
        path, one = f"v2.0/{kind}s", f"{kind} {wanted['name']}"
        for existing in self.network.find(path, name=wanted["name"], project_id=self.project, **query):
            return existing, differences(one, existing, wanted)
        print(f"{one}: made")
        return self.network.send("POST", path, {kind: {**wanted, **query}})[kind], []


def differences(title: str, existing: Object, wanted: Object) -> list[str]:
    """Returns a line for each value of an existing object that differs from the wanted value; [] if there are none."""
    pairs = ((key, existing.get(key), value) for key, value in wanted.items())
    return [
        f"{title} exists with {key} {there}; the stack file has {value}"
        for key, there, value in pairs
        if there != value
    ]


def networks(cloud: Cloud, wanted: Object) -> Iterator[str]:
    """Creates missing networks, subnets and the router. Yields the differences of existing ones."""
    internal, external = wanted["internal"], wanted["external"]
    outside, inside = None, None
    if external:
        tag = external["vlan"]
        kind = {"provider:network_type": "vlan", "provider:segmentation_id": tag}
        place = {
            **(kind if tag else {"provider:network_type": "flat"}),
            "provider:physical_network": external["physical_network"],
        }
        outside, different = cloud.ensure("network", {"name": external["name"], "router:external": True, **place})
        yield from different
        servers = [external["nameserver"]] if external["nameserver"] else []
        more = {"enable_dhcp": False, "allocation_pools": [external["pool"]], "dns_nameservers": servers}
        yield from subnet(cloud, outside, external, more)[1]
    if internal:
        network, different = cloud.ensure("network", {"name": internal["name"]})
        yield from different
        inside, different = subnet(cloud, network, internal, {"enable_dhcp": True})
        yield from different
    if outside or inside:
        yield from router(cloud, wanted["router"], outside, inside)


def subnet(cloud: Cloud, network: Object, wanted: Object, more: Object) -> tuple[Object, list[str]]:
    """Returns a network's subnet and its differences from `wanted`. Creates the subnet if it is missing."""
    asked = {
        "name": wanted["subnet"],
        "ip_version": 4,
        "cidr": wanted["network"],
        "gateway_ip": wanted["gateway"],
        **more,
    }
    return cloud.ensure("subnet", asked, network_id=network["id"])


def router(cloud: Cloud, name: str, outside: Object | None, inside: Object | None) -> Iterator[str]:
    """Creates the router if it is missing, and connects it to the external network and to the internal subnet.

    Yields a difference if the router is connected to another external network.
    """
    router, _ = cloud.ensure("router", {"name": name})
    connection: Object = router.get("external_gateway_info") or {}
    gateway = connection.get("network_id")
    if outside and gateway is None:
        change = {"external_gateway_info": {"network_id": outside["id"]}}
        cloud.network.send("PUT", f"v2.0/routers/{router['id']}", {"router": change})
        print(f"router {name}: connected to {outside['name']}")
    elif outside and gateway != outside["id"]:
        yield f"router {name} exists with the external network {gateway}; the stack file has {outside['name']}"
    ports = cloud.network.find("v2.0/ports", device_id=router["id"])
    connected = {address["subnet_id"] for port in ports for address in port["fixed_ips"]}
    if inside and inside["id"] not in connected:
        cloud.network.send("PUT", f"v2.0/routers/{router['id']}/add_router_interface", {"subnet_id": inside["id"]})
        print(f"router {name}: connected to {inside['name']}")


def flavors(cloud: Cloud, wanted: list[Object]) -> Iterator[str]:
    """Creates missing flavors. Yields the differences of existing flavors."""
    known = {each["name"]: each for each in cloud.compute.send("GET", "flavors/detail?is_public=None")["flavors"]}
    for flavor in wanted:
        asked = {key: flavor[key] for key in ("name", "id", "ram", "disk", "vcpus")}
        asked["OS-FLV-EXT-DATA:ephemeral"] = flavor["ephemeral"]
        asked["os-flavor-access:is_public"] = flavor["public"]
        if existing := known.get(flavor["name"]):
            yield from differences(f"flavor {flavor['name']}", existing, asked)
        else:
            existing = cloud.compute.send("POST", "flavors", {"flavor": asked})["flavor"]
            print(f"flavor {flavor['name']}: made")
        if flavor["extra_specs"]:
            yield from extra_specs(cloud, existing, flavor["extra_specs"])


def extra_specs(cloud: Cloud, flavor: Object, wanted: Mapping[str, str]) -> Iterator[str]:
    """Adds the extra specs that a flavor lacks, such as those of an interrupted run. Yields those that differ."""
    path = f"flavors/{urllib.parse.quote(flavor['id'], safe='')}/os-extra_specs"
    there = cloud.compute.send("GET", path)["extra_specs"]
    if missing := {key: value for key, value in wanted.items() if key not in there}:
        cloud.compute.send("POST", path, {"extra_specs": missing})
        print(f"flavor {flavor['name']}: {', '.join(missing)} added")
    yield from differences(f"flavor {flavor['name']}", {**missing, **there}, dict(wanted))


def image(cloud: Cloud, wanted: Object) -> Iterator[str]:
    """Creates the public image if it is missing. Yields the differences of an existing image.

    Deletes the incomplete image of an interrupted upload first. An image without a hypervisor type gets the wanted one.
    """
    asked = {"name": wanted["name"], CHECKSUM: wanted["sha256"], "disk_format": wanted["disk_format"]}
    if HYPERVISOR in wanted:
        asked[HYPERVISOR] = wanted[HYPERVISOR]
    for existing in cloud.image.find("v2/images", name=wanted["name"], owner=cloud.project):
        if existing["status"] == "active":
            if HYPERVISOR in asked and existing.get(CHECKSUM) and HYPERVISOR not in existing:
                existing[HYPERVISOR] = asked[HYPERVISOR]
                change = [{"op": "add", "path": f"/{HYPERVISOR}", "value": asked[HYPERVISOR]}]
                headers = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
                cloud.image.open("PATCH", f"v2/images/{existing['id']}", json.dumps(change).encode(), headers).close()
                print(f"image {wanted['name']}: {HYPERVISOR} added")
            yield from differences(f"image {wanted['name']}", existing, asked)
            return
        if existing.get(CHECKSUM):
            cloud.image.send("DELETE", f"v2/images/{existing['id']}")
    with tempfile.TemporaryFile() as file:
        size = download(wanted["url"], wanted["sha256"], file)
        made = cloud.image.send("POST", "v2/images", {**asked, "container_format": "bare", "visibility": "public"})
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        cloud.image.open("PUT", f"v2/images/{made['id']}/file", file, headers, UPLOAD_TIMEOUT).close()
    print(f"image {wanted['name']}: {size} bytes uploaded")


def download(url: str, sha256: str, file: IO[bytes]) -> int:
    """Downloads a URL into a file. Returns the number of bytes. Ends the job if the checksum is not `sha256`."""
    digest, size = hashlib.sha256(), 0
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        while block := answer.read(BLOCK):
            digest.update(block)
            size += file.write(block)
    if digest.hexdigest() != sha256:
        sys.exit(f"{url} has the SHA-256 {digest.hexdigest()}; expected {sha256}. Nothing was uploaded.")
    file.seek(0)
    return size


def main() -> None:
    """Creates the networks, flavors and image of the JSON file. Exits with an error if existing objects differ."""
    content: Object = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        cloud = Cloud(content["url"], content["region"])
        different = [*networks(cloud, content["networks"]), *flavors(cloud, content["flavors"])]
        if content["image"]:
            different += image(cloud, content["image"])
    except urllib.error.HTTPError as refusal:
        sys.exit(f"{refusal.url} answers {refusal.code}: {refusal.read(2000).decode(errors='replace')}")
    except OSError as reason:
        sys.exit(f"no answer: {reason}")
    if different:
        sys.exit("\n".join([*different, "Change the stack file, or rename or delete what exists."]))
    print("the cloud has what the stack file asks for")


if __name__ == "__main__":
    main()
