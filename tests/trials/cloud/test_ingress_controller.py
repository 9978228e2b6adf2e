"""The lab's ingress controller serves what the rendered Ingress names."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from tests.recording import Recorded, record
from tests.stacks import full_size, parsed
from trials.cloud import ingress_controller
from trials.cloud.ingress_controller import CERTIFICATE, CLASS, DOMAIN, Route


@pytest.fixture(scope="module")
def objects() -> list[Recorded]:
    made = plan(parsed(full_size("100", ingress={"domain": DOMAIN, "className": CLASS})))

    def build() -> None:
        Cloud("cloud", CloudArgs(made, "test", Render("test"), None))

    return record(build)


def test_every_host_of_the_rendered_ingress_leads_to_a_service(objects: list[Recorded]) -> None:
    (ingress,) = (each.inputs for each in objects if each.kind == "Ingress")
    names = [each.inputs["metadata"]["name"] for each in objects if each.kind == "Service"]
    services = {name: {"spec": {"clusterIP": f"10.96.1.{number}"}} for number, name in enumerate(names)}
    routes = ingress_controller.routes_of(ingress, services)
    address = services["keystone"]["spec"]["clusterIP"]
    assert routes["keystone"] == Route(f"identity.{DOMAIN}", f"{address}:5000", CERTIFICATE)
    assert len(routes) == len(ingress["spec"]["rules"])


def test_the_configuration_has_a_server_for_each_host() -> None:
    routes = [
        Route("identity.cloud.test", "10.96.0.20:5000", CERTIFICATE),
        Route("image.cloud.test", "10.96.0.21:9292", CERTIFICATE),
    ]
    lines = ingress_controller.configuration("10.20.0.1", routes).splitlines()
    servers = [line for line in lines if "listen 10.20.0.1:443 ssl;" in line]
    assert len(servers) == 2
    assert "server_name identity.cloud.test;" in servers[0]
    assert "proxy_pass http://10.96.0.20:5000;" in servers[0]
    assert f"ssl_certificate /run/{CERTIFICATE}.crt;" in servers[0]


def test_clients_trust_the_certificate(tmp_path: Path) -> None:
    certificate, key = ingress_controller.self_signed()
    (tmp_path / "crt").write_text(certificate)
    (tmp_path / "key").write_text(key)
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=str(tmp_path / "crt"))
    server.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=f"identity.{DOMAIN}"),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    waiting = set(ends)
    for _ in range(10):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.discard(end)
    assert not waiting
