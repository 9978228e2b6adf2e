"""The job that makes the networks, flavors and image of a new cloud, against a small imitation of the APIs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from blueprint.plan.planner import plan
from openstack.config.layers import TextFile
from openstack.config.wiring import wiring
from openstack.projects import bootstrap
from tests.stacks import full_size, parsed

DISK = b"the disk of an image" * 200_000
EXTERNAL = {
    "network": "10.90.2.0/24",
    "gateway": "10.90.2.1",
    "nameserver": "9.9.9.9",
    "pool": {"start": "10.90.2.10", "end": "10.90.2.250"},
}
IMAGE = {"url": "http://images.example/disk.img", "sha256": hashlib.sha256(DISK).hexdigest(), "name": "tiny"}
DEFAULTS = {"OS-FLV-EXT-DATA:ephemeral": 0, "os-flavor-access:is_public": True}
EVERYTHING: dict[str, Any] = {"networks": {"external": EXTERNAL}, "image": IMAGE}


@dataclass
class Apis:
    """Keystone, Nova, Neutron and Glance as far as the job uses them, and the server of the image's file."""

    objects: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    extra_specs: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Extra specs of flavors by the flavor's id."""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    changes: list[str] = field(default_factory=list[str])
    """Method and path of every request that changes something."""
    broken: str = ""
    """Part of the paths that answer 503."""

    def answer(self, base: str, method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:
        if self.broken and self.broken in path:
            return 503, {"error": "out of order"}
        if path == "/v3/auth/tokens":
            return 201, {"token": {"project": {"id": "p1"}, "catalog": _catalog(base)}}
        if method != "GET":
            self.changes.append(f"{method} {path}")
        service, *parts = path.strip("/").split("/")
        handled = {"compute": self._compute, "network": self._network, "image": self._image}[service]
        return handled(method, [part for part in parts if not re.fullmatch(r"v[0-9.]+", part)], query, body)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return self.objects.setdefault(kind, [])

    def _compute(self, method: str, parts: list[str], _query: dict[str, str], body: bytes) -> tuple[int, Any]:
        if parts[-1] == "os-extra_specs":
            specs = self.extra_specs.setdefault(unquote(parts[1]), {})
            if method == "POST":
                specs |= json.loads(body)["extra_specs"]
            return 200, {"extra_specs": specs}
        if method == "POST":
            self.of("flavors").append(json.loads(body)["flavor"])
        return 200, {"flavors": self.of("flavors"), "flavor": self.of("flavors")[-1] if self.of("flavors") else None}

    def _network(self, method: str, parts: list[str], query: dict[str, str], body: bytes) -> tuple[int, Any]:
        kind, one = parts[0], parts[0].removesuffix("s")
        if method == "GET":
            return 200, {kind: [each for each in self.of(kind) if query.items() <= each.items()]}
        if method == "POST":
            made = {**json.loads(body)[one], "id": f"{one}-{len(self.of(kind))}", "project_id": "p1"}
            self.of(kind).append(made)
            return 201, {one: made}
        (router,) = (each for each in self.of("routers") if each["id"] == parts[1])
        if parts[-1] == "add_router_interface":
            subnet = json.loads(body)["subnet_id"]
            self.of("ports").append({"device_id": router["id"], "fixed_ips": [{"subnet_id": subnet}]})
        else:
            router.update(json.loads(body)["router"])
        return 200, {}

    def _image(self, method: str, parts: list[str], query: dict[str, str], body: bytes) -> tuple[int, Any]:
        if method == "GET":
            wanted = {"name": query["name"], "project": query["owner"]}
            return 200, {"images": [each for each in self.of("images") if wanted.items() <= each.items()]}
        if method == "POST":
            made = {**json.loads(body), "id": f"image-{len(self.of('images'))}", "status": "queued", "project": "p1"}
            self.of("images").append(made)
            return 201, made
        (one,) = (each for each in self.of("images") if each["id"] == parts[1])
        if method == "DELETE":
            self.of("images").remove(one)
        elif method == "PATCH":
            one |= {change["path"].removeprefix("/"): change["value"] for change in json.loads(body)}
        else:
            self.files[one["id"]] = body
            one["status"] = "active"
        return 204, None


def _catalog(base: str) -> list[dict[str, Any]]:
    return [
        {
            "type": name,
            "endpoints": [
                {"interface": "public", "region_id": "RegionOne", "url": "http://unused.invalid"},
                {"interface": "internal", "region_id": "RegionOne", "url": f"{base}/{name}"},
            ],
        }
        for name in ("compute", "network", "image")
    ]


@dataclass
class Lab:
    """The imitation, and the job."""

    apis: Apis
    base: str
    directory: Path

    def run(self, **settings: Any) -> subprocess.CompletedProcess[str]:
        """Runs the job as it is rendered for a stack with these settings; URLs are those of this process."""
        made = plan(parsed(full_size("100", bootstrap=settings)))
        (job,) = bootstrap.jobs(wiring(made, "openstack"))
        for file in job.written:
            assert isinstance(file, TextFile)
            text = "".join(str(part) for part in file.parts).replace("http://keystone.openstack.svc:5000", self.base)
            (self.directory / file.name).write_text(text.replace("http://images.example", f"{self.base}/files"))
        command = [sys.executable, "cloud_content.py", "content.json"]
        variables = {**os.environ, "OS_USERNAME": "admin", "OS_PASSWORD": "hunter2"}
        return subprocess.run(
            command, cwd=self.directory, env=variables, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture
def lab(tmp_path: Path) -> Generator[Lab]:
    apis = Apis()

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if parts.path == "/files/disk.img":
                return self._send(200, DISK)
            base = f"http://127.0.0.1:{server.server_port}"
            status, document = apis.answer(base, self.command, parts.path, query, body)
            return self._send(status, b"" if document is None else json.dumps(document).encode())

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("X-Subject-Token", "token")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - names of the base class

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - a name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Lab(apis, f"http://127.0.0.1:{server.server_port}", tmp_path)
    server.shutdown()


def test_everything_is_made_as_the_document_has_it(lab: Lab) -> None:
    result = lab.run(**EVERYTHING)
    assert result.returncode == 0, result.stderr
    assert [
        (each["name"], each["id"], each["ram"], each["disk"], each["vcpus"]) for each in lab.apis.of("flavors")
    ] == [
        ("m1.test", "0", 128, 1, 1),
        ("m1.tiny", "1", 512, 1, 1),
        ("m1.small", "2", 2048, 20, 1),
        ("m1.medium", "3", 4096, 40, 2),
        ("m1.large", "4", 8192, 80, 4),
        ("m1.xlarge", "5", 16384, 160, 8),
    ]
    external, internal = lab.apis.of("networks")
    assert (external["name"], external["router:external"]) == ("ext-net", True)
    assert (external["provider:network_type"], external["provider:physical_network"]) == ("flat", "physnet1")
    assert internal["name"] == "int-net"
    outer, inner = lab.apis.of("subnets")
    assert (outer["network_id"], outer["cidr"], outer["enable_dhcp"]) == (external["id"], "10.90.2.0/24", False)
    assert outer["allocation_pools"] == [{"start": "10.90.2.10", "end": "10.90.2.250"}]
    assert (inner["network_id"], inner["cidr"], inner["gateway_ip"]) == (internal["id"], "10.0.1.0/24", "10.0.1.1")
    (router,) = lab.apis.of("routers")
    assert router["external_gateway_info"] == {"network_id": external["id"]}
    assert lab.apis.of("ports") == [{"device_id": router["id"], "fixed_ips": [{"subnet_id": inner["id"]}]}]
    (image,) = lab.apis.of("images")
    assert (image["name"], image["status"], image["visibility"]) == ("tiny", "active", "public")
    assert lab.apis.files[image["id"]] == DISK


def test_done_again_it_changes_nothing(lab: Lab) -> None:
    assert lab.run(**EVERYTHING).returncode == 0
    lab.apis.changes.clear()
    result = lab.run(**EVERYTHING)
    assert (result.returncode, lab.apis.changes) == (0, []), result.stderr


@pytest.mark.parametrize("broken", ["networks", "subnets", "routers", "interface", "flavors", "images", "file"])
def test_after_an_interruption_it_goes_on(lab: Lab, broken: str) -> None:
    lab.apis.broken = broken
    result = lab.run(**EVERYTHING)
    assert result.returncode == 1
    assert "answers 503: " in result.stderr
    assert "Traceback" not in result.stderr
    lab.apis.broken = ""
    assert lab.run(**EVERYTHING).returncode == 0
    sizes = {kind: len(objects) for kind, objects in lab.apis.objects.items()}
    assert sizes == {"flavors": 6, "networks": 2, "subnets": 2, "routers": 1, "ports": 1, "images": 1}
    assert lab.apis.of("images")[0]["status"] == "active"


def test_the_defaults_make_no_external_network_and_no_image(lab: Lab) -> None:
    result = lab.run()
    assert result.returncode == 0, result.stderr
    assert [each["name"] for each in lab.apis.of("networks")] == ["int-net"]
    assert [each["name"] for each in lab.apis.of("routers")] == ["ext-router"]
    assert len(lab.apis.of("flavors")) == 6
    assert lab.apis.of("images") == []


def test_flavors_of_the_user_replace_the_documents(lab: Lab) -> None:
    own = {"name": "big", "id": 42, "ram": 1024, "disk": 0, "vcpus": 2}
    result = lab.run(networks={"internal": None}, flavors=[own])
    assert result.returncode == 0, result.stderr
    assert lab.apis.of("flavors") == [{**own, "id": "42", **DEFAULTS}]
    assert lab.apis.extra_specs == {}
    assert lab.apis.of("networks") == lab.apis.of("routers") == []


def test_a_flavor_has_extra_specs_a_second_disk_and_its_visibility(lab: Lab) -> None:
    own = {"name": "SCS-4V:16:100", "id": "a b", "ram": 1024, "disk": 0, "vcpus": 2, "ephemeral": 5, "public": False}
    specs = {"hw:cpu_policy": "dedicated", "scs:name-v1": "SCS-4V:16:100"}
    lab.apis.broken = "os-extra_specs"
    assert lab.run(flavors=[{**own, "extraSpecs": specs}]).returncode == 1
    lab.apis.broken = ""
    assert lab.run(flavors=[{**own, "extraSpecs": specs}]).returncode == 0
    (made,) = lab.apis.of("flavors")
    assert (made["name"], made["OS-FLV-EXT-DATA:ephemeral"], made["os-flavor-access:is_public"]) == (
        "SCS-4V:16:100", 5, False
    )  # fmt: skip
    assert lab.apis.extra_specs == {"a b": specs}
    lab.apis.changes.clear()
    result = lab.run(flavors=[{**own, "extraSpecs": {**specs, "hw:cpu_policy": "shared"}}])
    assert "SCS-4V:16:100 exists with hw:cpu_policy dedicated; the stack file has shared" in result.stderr
    assert (result.returncode, lab.apis.changes) == (1, [])


def test_an_external_network_may_be_a_vlan(lab: Lab) -> None:
    assert lab.run(networks={"external": {**EXTERNAL, "vlan": 2101}}).returncode == 0
    (external,) = (each for each in lab.apis.of("networks") if each["name"] == "ext-net")
    place = {key.partition(":")[2]: value for key, value in external.items() if key.startswith("provider:")}
    assert place == {"network_type": "vlan", "segmentation_id": 2101, "physical_network": "physnet1"}


def test_what_differs_is_reported_and_not_changed(lab: Lab) -> None:
    lab.apis.of("flavors").append({"name": "m1.tiny", "id": "1", "ram": 1024, "disk": 1, "vcpus": 1, **DEFAULTS})
    lab.apis.of("networks").append({"name": "int-net", "id": "n", "project_id": "p1"})
    own = {"name": "int-subnet", "id": "s", "project_id": "p1", "network_id": "n", "ip_version": 4, "enable_dhcp": True}
    lab.apis.of("subnets").append({**own, "cidr": "10.9.9.0/24", "gateway_ip": "10.0.1.1"})
    result = lab.run()
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "subnet int-subnet exists with cidr 10.9.9.0/24; the stack file has 10.0.1.0/24",
        "flavor m1.tiny exists with ram 1024; the stack file has 512",
        "Change the stack file, or rename or delete what exists.",
    ]
    assert len(lab.apis.of("flavors")) == 6, "everything else is made"
    assert lab.apis.of("flavors")[0]["ram"] == 1024


def test_a_router_of_another_network_is_reported(lab: Lab) -> None:
    given = {"name": "ext-router", "id": "r", "project_id": "p1", "external_gateway_info": {"network_id": "other"}}
    lab.apis.of("routers").append(given)
    result = lab.run(**EVERYTHING)
    assert result.returncode == 1
    assert "router ext-router exists with the external network other; the stack file has ext-net" in result.stderr
    assert given["external_gateway_info"] == {"network_id": "other"}


def test_a_file_with_another_checksum_is_not_uploaded(lab: Lab) -> None:
    result = lab.run(image={**IMAGE, "sha256": "0" * 64})
    assert result.returncode == 1
    assert f"has the SHA-256 {IMAGE['sha256']}; expected {'0' * 64}. Nothing was uploaded." in result.stderr
    assert (lab.apis.of("images"), lab.apis.files) == ([], {})


def test_an_image_with_another_checksum_is_not_replaced(lab: Lab) -> None:
    assert lab.run(image=IMAGE).returncode == 0
    result = lab.run(image={**IMAGE, "sha256": "0" * 64})
    assert result.returncode == 1
    assert f"image tiny exists with quorate_sha256 {IMAGE['sha256']}" in result.stderr


def test_an_image_has_the_hypervisor_that_alone_may_run_it(lab: Lab) -> None:
    assert lab.run(image={**IMAGE, "hypervisorType": "baremetal"}).returncode == 0
    assert [each["hypervisor_type"] for each in lab.apis.of("images")] == ["baremetal"]
    other = lab.run(image={**IMAGE, "hypervisorType": "qemu"})
    assert other.returncode == 1
    assert "image tiny exists with hypervisor_type baremetal; the stack file has qemu" in other.stderr


def test_an_image_of_an_earlier_stack_gets_its_hypervisor_and_nothing_else(lab: Lab) -> None:
    assert lab.run(image=IMAGE).returncode == 0
    assert "hypervisor_type" not in lab.apis.of("images")[0]
    result = lab.run(image={**IMAGE, "hypervisorType": "qemu"})
    assert (result.returncode, "image tiny: hypervisor_type added" in result.stdout) == (0, True)
    assert lab.apis.of("images")[0]["hypervisor_type"] == "qemu"
    before = list(lab.apis.changes)
    assert lab.run(image={**IMAGE, "hypervisorType": "qemu"}).returncode == 0
    assert not [each for each in lab.apis.changes[len(before) :] if "image" in each]


@pytest.mark.parametrize(("projects", "hypervisor"), [({}, None), ({"ironic": {}}, "qemu")])
def test_an_image_is_for_virtual_machines_in_a_stack_that_has_others_too(
    projects: dict[str, Any], hypervisor: str | None
) -> None:
    ingress = {"domain": "cloud.example.org", "className": "nginx"}
    made = plan(parsed(full_size("100", bootstrap={"image": {}}, projects=projects, ingress=ingress)))
    (job,) = bootstrap.jobs(wiring(made, "openstack"))
    _, content = job.written
    assert isinstance(content, TextFile)
    assert json.loads("".join(map(str, content.parts)))["image"].get("hypervisor_type") == hypervisor


def test_a_cloud_that_does_not_answer_is_an_error_in_a_line(lab: Lab) -> None:
    lab.base = "http://127.0.0.1:9"
    result = lab.run()
    assert result.returncode == 1
    assert result.stderr.startswith("no answer: ")
    assert "Traceback" not in result.stderr


def test_the_password_is_in_no_output(lab: Lab) -> None:
    for broken in ("", "auth", "flavors"):
        lab.apis.broken = broken
        result = lab.run(**EVERYTHING)
        assert "hunter2" not in result.stdout + result.stderr
