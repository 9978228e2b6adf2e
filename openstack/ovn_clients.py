"""What OVN's databases and their clients share: addresses and probes; and the files of Neutron's processes with OVN."""

from __future__ import annotations

from blueprint.openstack import options
from openstack import scripts
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, Section, TextFile, WrittenFile
from openstack.config.wiring import Wiring

BACKEND, NB, SB = "ovn", "ovn-nb", "ovn-sb"
RELAY = "ovn-sb-relay"
"""The process that passes the southbound database on to the nodes; only large stacks have it."""
DATABASE_NAMES = {NB: "OVN_Northbound", SB: "OVN_Southbound"}
"""The name of the database in ovsdb-server, by process."""
CLIENTS = {NB: "nb", SB: "sb", RELAY: "sb"}
"""The name of the port of a database's clients."""
METRICS = "metrics"
"""The name of the port at which Prometheus reads a member's state."""
PROBE = 60_000
"""Milliseconds without a message after which a server, or a client, asks whether the other one is there. The default of
5000 closes connections of busy clients. The figure of Kolla Ansible (ovn_db_inactivity_probe,
ovn_remote_probe_interval)."""
SERVER_PROBE = 10_000
"""The same of Neutron's server. A leader that is cut off or hangs closes no connection, and writes wait for twice this
time. Twice is more than the election timers (openstack/projects/ovn.py), so that a member which is silent but remains
the leader keeps its clients. Project figure; Neutron's default is 60000."""
_OPENFLOW_PROBE = 60
"""Seconds until ovn-controller asks its switch. The figure of Kolla Ansible (ovn_openflow_probe_interval)."""
_WAIT_BEFORE_CLEAR = 8_000
"""Milliseconds for which ovn-controller, when it starts, leaves the flows in the switch that the one before has set: by
then it has computed its own. With the default of 0, the node has none meanwhile. The figure of puppet-ovn
(ovn_ofctrl_wait_before_clear)."""
_HEADER = 38
"""Bytes of Geneve's header with OVN's options, of which Neutron's manual says that they are the least."""
MANUAL = "https://docs.openstack.org/neutron/2026.1/install/ovn/manual_install.html"
_NO_NAME_SERVER = ("0.0.0.0", "::")  # noqa: S104 - nothing listens here
"""What Neutron takes for no name server at all, in networks of both versions. Without it, instances whose subnet names
no server get those of the pod of Neutron's server: the cluster's own, which they do not reach."""
_WSGI = "https://docs.openstack.org/neutron/2026.2/admin/config-wsgi.html"
_OF_KERNEL = "system"


def members(wiring: Wiring, database: str) -> list[str]:
    """Returns the whole names of a database's members: OVN's programs resolve them without the pod's search domains."""
    return [f"{member}.cluster.local" for member in wiring.members(database)]


def connection(wiring: Wiring, database: str) -> str:
    """Returns the addresses of a database's members for its clients, which find the leader; or those of its relays."""
    port = wiring.records.port(database, CLIENTS[database])
    return ",".join(f"tcp:{member}:{port}" for member in members(wiring, database))


def _for_nodes(wiring: Wiring) -> str:
    """Returns the addresses of what serves the southbound database to the nodes: its relays, or else its members."""
    return connection(wiring, RELAY if wiring.has(RELAY) else SB)


def server_sections(wiring: Wiring, tunnels: str) -> dict[str, Section]:
    """Returns the sections of ml2_conf.ini about OVN. `tunnels`: range of the tunnels' ids."""
    return {
        "ml2_type_geneve": {"vni_ranges": (tunnels,), "max_header_size": _HEADER},
        "ovn": {
            "ovn_nb_connection": (connection(wiring, NB),),
            "ovn_sb_connection": (connection(wiring, SB),),
            "ovn_metadata_enabled": True,
            "dns_servers": _NO_NAME_SERVER,
            "ovsdb_probe_interval": SERVER_PROBE,
        },
    }


def worker_layer() -> Layer:
    """Returns what uWSGI tells the workers of Neutron's server.

    They share the events of OVN's databases, each a part. A worker that starts removes the workers of its host that
    started at another second from the list: without the common second, every worker but the last one. Each imports
    scripts/ovn_workers.py, by which it takes the place of a killed one in the list.
    """
    return Layer(Origin.PROJECT, _WSGI, {"uwsgi": {"start-time": "%t", "import": "ovn_workers"}})


def api_workers(wiring: Wiring) -> Section:
    """Returns the option by which workers of Neutron's server know how many there are; from 2026.2 on, uWSGI says so.

    Until so many share the events, each of them reads the list in the database at every event, instead of every 60 s.
    Neutron's default is one for each core of the node.
    """
    is_known = "api_workers" in options.listed(wiring.release, "neutron.conf")["DEFAULT"]
    return {"api_workers": wiring.workers("neutron-server")} if is_known else {}


def files(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    """Returns the files of Neutron's processes that only a stack with OVN has. `name`: the workload."""
    metadata: dict[str, Section] = {
        "DEFAULT": {
            "nova_metadata_host": wiring.host("nova-api"),
            "nova_metadata_port": wiring.records.port("nova-api", "metadata"),
            "metadata_proxy_shared_secret": Secret("neutron/metadata"),
        },
        "ovs": {"ovsdb_connection": "tcp:127.0.0.1:6640"},
        "ovn": {"ovn_sb_connection": (_for_nodes(wiring),), "ovsdb_probe_interval": PROBE},
    }
    fragment = "/etc/neutron/neutron.conf.d/metadata.conf"
    return (
        ConfigFile(
            "neutron_ovn_metadata_agent.ini", "ini", (Layer(Origin.PROJECT, MANUAL, metadata),), fragment=fragment
        ),
        TextFile("ovn-chassis", (_chassis(wiring, name),)),
        TextFile("ovn-controller.sh", (scripts.text("ovn_controller.sh"),)),
        TextFile("unbound.py", (scripts.text("unbound.py"),)),
        TextFile("ovn_workers.py", (scripts.text("ovn_workers.py"),)),
    )


def _chassis(wiring: Wiring, name: str) -> str:
    """Returns the settings of the nodes of a workload as chassis. A key without a value is removed."""
    mappings = ",".join(f"{network}:{each.bridge}" for network, each in wiring.physical_networks.items())
    settings = {
        "ovn-remote": _for_nodes(wiring),
        "ovn-encap-type": "geneve",
        "ovn-remote-probe-interval": str(PROBE),
        "ovn-openflow-probe-interval": str(_OPENFLOW_PROBE),
        "ovn-ofctrl-wait-before-clear": str(_WAIT_BEFORE_CLEAR),
        "ovn-bridge-mappings": mappings,
        "ovn-bridge-datapath-type": "" if wiring.datapath_type == _OF_KERNEL else wiring.datapath_type,
        "ovn-cms-options": "enable-chassis-as-gw" if name in wiring.gateways else "",
    }
    return "".join(f"{key} {value}".rstrip() + "\n" for key, value in settings.items())
