"""Designate's pool and BIND's file fit the plan, and Neutron makes records only in a stack with Designate."""

from __future__ import annotations

import configparser
import json
from collections.abc import Mapping

import pytest

from blueprint.stackfile.settings import Projects
from tests.trials.services.stack import documents
from trials.services.containers import TriedContainer, read

DNS = Projects.model_validate({"designate": {}})
NEUTRON = "/etc/neutron/neutron.conf"


@pytest.fixture(scope="module")
def containers() -> Mapping[str, TriedContainer]:
    return read(documents("dev", projects=DNS))


@pytest.fixture(scope="module")
def without() -> Mapping[str, TriedContainer]:
    return read(documents("dev"))


def ini(container: TriedContainer, path: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(container.text(path))
    return parser


def test_the_pool_has_every_bind(containers: Mapping[str, TriedContainer]) -> None:
    job = containers["designate-pools/designate-pools"]
    (pool,) = json.loads(job.text("/etc/designate/pools.yaml"))
    names = [f"designate-mdns-{number}.designate-mdns-members.openstack.svc" for number in range(3)]
    assert [each["options"]["host"] for each in pool["targets"]] == names
    # Designate refuses the name of a server without a dot at its end.
    assert [each["hostname"] for each in pool["ns_records"]] == [f"{name}.cluster.local." for name in names]


def test_the_api_is_a_call_that_every_release_has(containers: Mapping[str, TriedContainer]) -> None:
    uwsgi = ini(containers["designate-api/designate-api"], "/etc/designate/designate-api-uwsgi.ini")["uwsgi"]
    assert (uwsgi["module"], uwsgi["uid"]) == ("designate.api.wsgi:init_application()", "designate")


def test_bind_takes_the_catalog_of_the_pool_from_its_own_pod(containers: Mapping[str, TriedContainer]) -> None:
    (pool,) = json.loads(containers["designate-pools/designate-pools"].text("/etc/designate/pools.yaml"))
    written = ini(containers["designate-mdns/designate-mdns"], "/etc/designate/designate.conf")
    listens = written["service:mdns"]["listen"]
    catalog = pool["catalog_zone"]["catalog_zone_fqdn"].rstrip(".")
    named = containers["designate-mdns/designate-backend-bind9"].text("/etc/designate/named.conf")
    source = f"primaries {{ {listens.replace(':', ' port ')}; }}"
    assert f'zone "{catalog}" default-{source}' in named
    assert f'zone "{catalog}" {{\n    type secondary;\n    {source};' in named
    assert 'file "/etc/designate/catalog.db";' in named


def test_the_pods_password_is_in_no_config_map(containers: Mapping[str, TriedContainer]) -> None:
    worker = containers["designate-mdns/designate-worker"]
    assert "connection" not in ini(worker, "/etc/designate/designate.conf")["storage:sqlalchemy"]
    secrets = ini(worker, "/etc/designate/designate.conf.d/secrets.conf")
    assert secrets["storage:sqlalchemy"]["connection"].startswith("mysql+pymysql://designate:")


def test_neutron_makes_records_of_ports(containers: Mapping[str, TriedContainer]) -> None:
    server = containers["neutron-server/neutron-server"]
    written = ini(server, NEUTRON)
    assert written["DEFAULT"]["external_dns_driver"] == "designate"
    assert written["designate"]["url"] == "http://designate-api.openstack.svc:9001/v2"
    assert "password" not in written["designate"]
    assert ini(server, "/etc/neutron/neutron.conf.d/secrets.conf")["designate"]["password"]
    extensions = ini(server, "/etc/neutron/plugins/ml2/ml2_conf.ini")["ml2"]["extension_drivers"]
    assert extensions == "port_security,subnet_dns_publish_fixed_ip"


def test_agents_know_the_domain_of_ports_and_no_account_of_designate(
    containers: Mapping[str, TriedContainer],
) -> None:
    written = ini(containers["neutron-dhcp-agent/neutron-dhcp-agent"], NEUTRON)
    assert written["DEFAULT"]["dns_domain"] == "openstack.internal."
    assert "designate" not in written


def test_a_stack_without_designate_has_neither(without: Mapping[str, TriedContainer]) -> None:
    written = ini(without["neutron-server/neutron-server"], NEUTRON)
    assert "designate" not in written
    assert not {"external_dns_driver", "dns_domain"} & written["DEFAULT"].keys()
    assert not [name for name in without if name.startswith("designate")]
