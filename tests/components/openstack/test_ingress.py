"""Tests of access from outside of the cluster: one Ingress, and public URLs in the files that clients use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.plan import domain_names as command
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from console.errors import UserError
from openstack import configuration
from openstack.config.formats import public_text
from tests.fakes import ROOT
from tests.projects import PROCESSES, SUBDOMAINS
from tests.recording import Recorded, record
from tests.stacks import STACKS, full_size, parsed


@pytest.fixture(scope="module")
def prod() -> list[Recorded]:
    made = plan(load_file(STACKS["prod"]))

    def build() -> None:
        Cloud("cloud", CloudArgs(made, "prod", Render("prod"), None))

    return record(build)


def text_of(service: str, file: str, **ingress: Any) -> str:
    files = configuration.of_service(planned(**ingress), service)
    return next(public_text(each) or "" for each in files if each.name == file)


def planned(**ingress: Any) -> Plan:
    return plan(parsed(full_size("100") | ({"ingress": ingress} if ingress else {})))


def test_every_host_leads_to_the_service_of_its_process(prod: list[Recorded]) -> None:
    (made,) = [each for each in prod if each.kind == "Ingress"]
    spec = made.inputs["spec"]
    backends = {rule["host"]: rule["http"]["paths"][0]["backend"]["service"] for rule in spec["rules"]}
    assert set(backends) == {f"{each}.cloud.example.org" for each in SUBDOMAINS.values()}
    services = {each.inputs["metadata"]["name"]: each.inputs["spec"] for each in prod if each.kind == "Service"}
    for backend in backends.values():
        ports = [port["port"] for port in services[backend["name"]]["ports"]]
        assert backend["port"]["number"] in ports
    assert spec["tls"] == [{"hosts": list(backends), "secretName": "openstack-tls"}]
    assert spec["ingressClassName"] == "traefik"
    assert made.inputs["metadata"]["annotations"] == {"cert-manager.io/cluster-issuer": "internal-ca"}


def test_the_catalog_has_public_urls(prod: list[Recorded]) -> None:
    accounts = [each for each in prod if each.kind == "ConfigMap" and "account.json" in each.inputs["data"]]
    found = [json.loads(each.inputs["data"]["account.json"]).get("services", []) for each in accounts]
    services = [service for group in found for service in group]
    assert len(services) > 6
    for service in services:
        assert service["public"].startswith("https://")
        assert service["internal"].startswith("http://")
        assert service["public"].partition("org")[2] == service["internal"].partition("svc:")[2].lstrip("0123456789")


def test_what_virtual_machines_and_browsers_call_is_public() -> None:
    given = {"domain": "cloud.example.org", "className": "traefik", "port": 8443}
    assert "https://console.cloud.example.org:8443/vnc_lite.html" in text_of("nova-compute", "nova.conf", **given)
    heat = text_of("heat-engine", "heat.conf", **given)
    assert "heat_metadata_server_url = https://cloudformation.cloud.example.org:8443\n" in heat
    assert "www_authenticate_uri = https://identity.cloud.example.org:8443\n" in heat
    assert "auth_url = http://keystone.openstack.svc:5000/v3\n" in heat, "services call each other inside"


def test_without_an_ingress_all_urls_are_internal() -> None:
    assert "novncproxy_base_url = http://nova-novncproxy.openstack.svc:6080/" in text_of("nova-compute", "nova.conf")
    assert planned().settings.ingress is None


def test_a_process_with_a_subdomain_has_a_service() -> None:
    assert all(PROCESSES[process].exposed for process in SUBDOMAINS)


def test_domains_are_printed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.show(ROOT, "prod") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "identity.cloud.example.org"
    assert len(lines) == len(SUBDOMAINS)


def test_a_stack_without_an_ingress_says_what_to_write() -> None:
    with pytest.raises(UserError, match="dev has no names outside of the cluster; write quorate:ingress with a domain"):
        command.show(ROOT, "dev")


def test_a_certificate_of_your_own_needs_no_issuer() -> None:
    settings = planned(domain="a.example", className="traefik").settings
    assert settings.ingress
    assert (settings.ingress.certificate, settings.ingress.issuer) == ("openstack-tls", None)
