"""Configuration and jobs of Designate."""

from __future__ import annotations

import json

from blueprint.openstack.projects.process_definition import ConfigurationFile
from openstack import accounts
from openstack.config import sections
from openstack.config.layers import ConfigFile, Layer, Origin, TextFile, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_MANUAL = "https://docs.openstack.org/designate/2026.1/configuration/config.html"
_API = "designate.api.wsgi:init_application()"
"""Makes the API's application. Releases after 2025.1 also have it as designate.wsgi.api."""
_POOL = "794ccc2c-d751-44fe-b57f-8894c9f5c842"
"""Id of the pool, Designate's own default (`default_pool_id`)."""
_CATALOG = "catalog.designate.invalid"
"""Name of the catalog zone. No project can create a zone of this name, because the pool has it already."""
_POD = "127.0.0.1"
"""Address at which the containers of a pod reach each other."""
_MDNS_PORT = 5354
"""Port at which BIND reaches the designate-mdns of its pod: Designate's default."""
_DNS = 53
_NAMED = f"""\
options {{
    directory "/tmp";
    pid-file none;
    session-keyfile none;
    listen-on {{ any; }};
    listen-on-v6 {{ none; }};
    recursion no;
    dnssec-validation no;
    minimal-responses yes;
    allow-transfer {{ none; }};
    request-ixfr no;
    // Workers send NOTIFY from addresses that change. BIND then only asks the designate-mdns of its pod.
    allow-notify {{ any; }};
    notify no;
    // Seconds after which a failed transfer of a zone that BIND has is repeated. Project figures; the default is up to
    // two weeks.
    min-retry-time 5;
    max-retry-time 30;
    // Further transfers wait until one of these ends. Project figure: designate-mdns reads each zone from the database.
    transfers-in 10;
    transfers-per-ns 10;
    catalog-zones {{
        zone "{_CATALOG}" default-primaries {{ {_POD} port {_MDNS_PORT}; }} in-memory yes;
    }};
}};
controls {{ }};
zone "{_CATALOG}" {{
    type secondary;
    primaries {{ {_POD} port {_MDNS_PORT}; }};
    file "/etc/designate/catalog.db";
    masterfile-format text;
}};
"""
_EMPTY_CATALOG = """\
; What BIND has at its start. It starts before designate-mdns answers, and repeats transfers of a zone that it does not
; have after a time that doubles with every attempt, up to 6 hours; those of a zone that it has after `retry`, 5 s.
@ 60 IN SOA invalid. invalid. 0 60 5 86400 60
@ 60 IN NS invalid.
version 60 IN TXT "2"
"""
_UPDATE = """\
# `designate-manage pool update` calls designate-central, and jobs run before the processes: the job runs a central.
set -eum
conf="--config-file /etc/designate/designate.conf --config-dir /etc/designate/designate.conf.d"
designate-central $conf & central=$!
trap 'kill -KILL -- "-$central"' EXIT  # on SIGTERM, it would wait for a minute
for _ in 1 2 3; do  # a call that is not answered fails after 60 s
    if designate-manage $conf pool update --file /etc/designate/pools.yaml; then exit 0; fi
done
exit 1
"""


def configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    processes = Layer(
        Origin.PROJECT,
        _MANUAL,
        {
            "service:central": {"default_pool_id": _POOL},
            "service:producer": {"workers": 1},
            "service:mdns": {"listen": (f"{_POD}:{_MDNS_PORT}",)},
        },
    )
    sizes = Layer(
        Origin.ARCHITECTURE,
        "cores requested by each process (blueprint/openstack/projects/designate.yaml)",
        {
            "service:central": {"workers": wiring.workers("designate-central")},
            "service:worker": {"workers": wiring.workers("designate-mdns")},
            "service:mdns": {"workers": wiring.workers("designate-mdns")},
        },
    )
    layers = (
        processes,
        sizes,
        sections.database(wiring, "designate", section="storage:sqlalchemy"),
        sections.messaging(wiring, "designate"),
        sections.authentication(wiring, "designate"),
        sections.locks("designate"),
        sections.behind_a_proxy(),
    )
    return (
        ConfigFile("designate.conf", "ini", layers, fragment="/etc/designate/designate.conf.d/secrets.conf"),
        uwsgi(wiring, "designate-api", "designate-api-uwsgi.ini", _API),
        TextFile("named.conf", (_NAMED,)),
        TextFile("catalog.db", (_EMPTY_CATALOG,)),
    )


def _pools(wiring: Wiring) -> list[dict[str, object]]:
    """Returns Designate's pools: one, with every BIND of the stack.

    A worker sends NOTIFY to each target, and asks `nameservers` for the serial of a zone: the BIND of its own pod,
    because Designate takes addresses only, not names (22.0.1: ValueError of central).
    """
    servers = wiring.members("designate-mdns")
    return [
        {
            "name": "default",
            "id": _POOL,
            "description": "The BIND servers of the cloud",
            "attributes": {},
            "ns_records": [{"hostname": f"{server}.cluster.local.", "priority": 10} for server in servers],
            "nameservers": [{"host": _POD, "port": _DNS}],
            "catalog_zone": {"catalog_zone_fqdn": f"{_CATALOG}.", "catalog_zone_refresh": 60},
            "targets": [
                {
                    "type": "bind9",
                    "description": server,
                    "masters": [{"host": _POD, "port": _MDNS_PORT}],
                    "options": {"host": server, "port": _DNS},
                }
                for server in servers
            ],
        }
    ]


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    configuration = wiring.records["designate"].file("designate.conf")
    return (
        accounts.databases(wiring, "designate"),
        *accounts.messaging(wiring, "designate"),
        accounts.migration(
            wiring, "designate", "designate-central", "designate-manage database sync", (configuration,)
        ),
        JobDefinition(
            name="designate-pools",
            image="designate-central",
            user="designate",
            command="bash /usr/local/bin/pools.sh",
            written=(
                TextFile("pools.yaml", (json.dumps(_pools(wiring), indent=2) + "\n",)),  # JSON is YAML
                TextFile("pools.sh", (_UPDATE,)),
            ),
            files=(
                configuration,
                ConfigurationFile("pools.yaml", "/etc/designate/pools.yaml"),
                ConfigurationFile("pools.sh", "/usr/local/bin/pools.sh"),
            ),
            quorums=(wiring.galera("designate"), wiring.broker("designate", "rpc")),
        ),
        accounts.identity(wiring, "designate"),
    )
