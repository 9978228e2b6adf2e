"""Neutron with Open vSwitch: the server's three processes, and the agents that create networks on nodes.

Agents create network namespaces and bridges of the node, so they are privileged and use the host's network, as in Kolla
and Fuel-CCP. Open vSwitch runs in the pod of the L2 agent; other agents reach its database over the node's loopback.
"""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.stackfile.settings import PhysicalNetwork
from openstack import accounts, bridges, node_values
from openstack.config import sections
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, Section, WrittenFile
from openstack.config.ports import AMQP, MYSQL
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import REGION, Wiring
from openstack.definition import (
    ConfigurationFile,
    Container,
    Exec,
    HostPath,
    Http,
    JobDefinition,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
    port_check,
)

UID = 42435
CONFIGURATION = ConfigurationFile("neutron.conf", "/etc/neutron/neutron.conf")
ML2 = ConfigurationFile("ml2_conf.ini", "/etc/neutron/plugins/ml2/ml2_conf.ini")
WITH_CONFIGURATION = "--config-file /etc/neutron/neutron.conf"

METADATA_SOCKET = HostPath(name="metadata-socket", path="neutron", mount="/var/lib/neutron/kolla")
"""Directory of the socket by which the routers of a node reach the metadata agent of the node."""
NAMESPACES = HostPath(name="netns", path="/run/netns", shared=True)
MODULES = HostPath(name="modules", path="/lib/modules", read_only=True)
OPENVSWITCH = HostPath(name="openvswitch", path="/run/openvswitch")

SERVER = ProcessDefinition(
    name="neutron-server",
    project="neutron",
    kind="Deployment",
    uid=UID,
    exposed=((9696, "api"),),
    containers=(
        Container(
            name="neutron-server",
            image="neutron-server",
            user="neutron",
            command="uwsgi /etc/neutron/neutron-server-uwsgi.ini",
            ports=(Port("api", 9696, clients=("everyone",)),),
            ready=Http("api", "/healthcheck"),
            alive=Tcp("api"),
            files=(
                CONFIGURATION,
                ML2,
                ConfigurationFile("neutron-server-uwsgi.ini", "/etc/neutron/neutron-server-uwsgi.ini"),
            ),
            share=2,
        ),
        Container(
            name="neutron-rpc-server",
            image="neutron-server",
            user="neutron",
            command=f"neutron-rpc-server {WITH_CONFIGURATION} --config-file {ML2.path}",
            ready=port_check("neutron-rpc-server", AMQP),
            files=(CONFIGURATION, ML2),
            share=2,
        ),
        Container(
            name="neutron-periodic-worker",
            image="neutron-server",
            user="neutron",
            command=f"neutron-periodic-workers {WITH_CONFIGURATION} --config-file {ML2.path}",
            ready=port_check("neutron-periodic-workers", MYSQL),
            files=(CONFIGURATION, ML2),
        ),
    ),
)


def _agent(
    service: str, *, configuration: str, host_paths: tuple[HostPath, ...], extra: tuple[ConfigurationFile, ...] = ()
) -> ProcessDefinition:
    own = ConfigurationFile(configuration, f"/etc/neutron/{configuration}")
    process = Container(
        name=service,
        image=service,
        user="neutron",
        command=f"{service} {WITH_CONFIGURATION} --config-file {own.path}",
        ready=port_check(service, AMQP),
        files=(CONFIGURATION, own, *extra),
        host_paths=host_paths,
        owns=(METADATA_SOCKET.mount or METADATA_SOCKET.path,),
        privileged=True,
    )
    return ProcessDefinition(
        name=service,
        project="neutron",
        kind="Deployment",
        uid=UID,
        host_network=True,
        containers=(process,),
        after=SERVER.name,
    )


DHCP_AGENT = _agent(
    "neutron-dhcp-agent",
    configuration="dhcp_agent.ini",
    host_paths=(METADATA_SOCKET, NAMESPACES),
    extra=(ConfigurationFile("dnsmasq.conf", "/etc/neutron/dnsmasq.conf"),),
)
L3_AGENT = _agent("neutron-l3-agent", configuration="l3_agent.ini", host_paths=(METADATA_SOCKET, NAMESPACES, MODULES))
METADATA_AGENT = _agent("neutron-metadata-agent", configuration="metadata_agent.ini", host_paths=(METADATA_SOCKET,))

_OVS_LOGS = "-vconsole:emer -vsyslog:err -vfile:info"

L2_AGENT = ProcessDefinition(
    name="neutron-l2-agent",
    project="neutron",
    kind="DaemonSet",
    uid=UID,
    host_network=True,
    after=SERVER.name,
    containers=(
        Container(
            name="neutron-openvswitch-agent",
            image="neutron-openvswitch-agent",
            user="neutron",
            command=node_values.start(
                f"neutron-openvswitch-agent {WITH_CONFIGURATION} "
                "--config-file /etc/neutron/plugins/ml2/openvswitch_agent.ini"
            ),
            ready=port_check("neutron-openvswitch-agent", AMQP),
            files=(
                CONFIGURATION,
                ConfigurationFile("openvswitch_agent.ini", "/etc/neutron/plugins/ml2/openvswitch_agent.ini"),
                node_values.START,
            ),
            node_values=True,
            host_paths=(OPENVSWITCH, MODULES),
            node_address=("OS_OVS__LOCAL_IP",),
            privileged=True,
            share=2,
        ),
        Container(
            name="openvswitch-vswitchd",
            image="openvswitch-vswitchd",
            user="root",
            command=bridges.start(
                f"ovs_wrapper ovs-vswitchd unix:/run/openvswitch/db.sock {_OVS_LOGS} --mlockall "
                "--log-file=/var/log/kolla/openvswitch/ovs-vswitchd.log --pidfile"
            ),
            ready=Exec(("ovs-appctl", "version")),
            alive=Exec(("ovs-appctl", "version")),
            files=(bridges.LIST, bridges.AGENT, bridges.START),
            node_values=True,
            host_paths=(OPENVSWITCH, MODULES),
            privileged=True,
        ),
        Container(
            name="openvswitch-db-server",
            image="openvswitch-db-server",
            user="root",
            command=f"ovs_wrapper ovsdb-server /var/lib/openvswitch/conf.db {_OVS_LOGS} "
            "--remote=punix:/run/openvswitch/db.sock --remote=ptcp:6640:127.0.0.1 "
            "--remote=db:Open_vSwitch,Open_vSwitch,manager_options "
            "--log-file=/var/log/kolla/openvswitch/ovsdb-server.log --pidfile",
            ports=(Port("ovsdb", 6640),),
            ready=Exec(("ovsdb-client", "list-dbs")),
            alive=Exec(("ovsdb-client", "list-dbs")),
            host_paths=(
                OPENVSWITCH,
                HostPath(name="openvswitch-db", path="openvswitch", mount="/var/lib/openvswitch"),
            ),
        ),
    ),
)

_MANUAL = "https://docs.openstack.org/neutron/2026.1/admin/deploy-ovs-selfservice.html"
_AVAILABILITY = "https://docs.openstack.org/neutron/2026.1/admin/deploy-ovs-ha-vrrp.html"
_TUNNELS = "1:1000"
"""VXLAN ids of tenant networks, as in Fuel-CCP (neutron.ml2.vni_ranges)."""
_WITHOUT_DATABASE = frozenset(
    {
        "neutron-dhcp-agent", "neutron-l2-agent", "neutron-l2-agent-network", "neutron-l3-agent",
        "neutron-metadata-agent",
    }
)  # fmt: skip


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    server = uwsgi(wiring, "neutron-server", "neutron-server-uwsgi.ini", "neutron.wsgi.api", 9696)
    return (
        _neutron_conf(wiring, name),
        server,
        *_plugin_files(wiring.physical_networks),
        *_agent_files(wiring),
        node_values.SCRIPT,
        *bridges.files(wiring.physical_networks),
    )


def _neutron_conf(wiring: Wiring, name: str) -> ConfigFile:
    routers = wiring.instances.get("neutron-l3-agent", 1)
    general: Section = {
        "core_plugin": "ml2",
        "service_plugins": ("router",),
        "l3_ha": routers > 1,
        "max_l3_agents_per_router": min(3, routers),
        "dhcp_agents_per_network": min(2, wiring.instances.get("neutron-dhcp-agent", 1)),
        "allow_automatic_l3agent_failover": False,
        "notify_nova_on_port_status_changes": True,
        "notify_nova_on_port_data_changes": True,
    }
    layers = [
        Layer(Origin.PROJECT, _AVAILABILITY, {"DEFAULT": general}),
        sections.messaging(wiring, "neutron"),
        sections.locks("neutron"),
        Layer(Origin.PROJECT, _MANUAL, {"agent": {"root_helper": "sudo neutron-rootwrap /etc/neutron/rootwrap.conf"}}),
    ]
    if name not in _WITHOUT_DATABASE:
        workers: Section = {"rpc_workers": wiring.workers("neutron-server")}
        user = sections.service_user(wiring, "neutron") | {"region_name": REGION, "endpoint_type": "internal"}
        layers += [
            Layer(
                Origin.ARCHITECTURE,
                "cores requested by neutron-server (blueprint/plan/sizing.yaml)",
                {
                    "DEFAULT": workers,
                },
            ),
            Layer(Origin.PROJECT, _MANUAL, {"nova": user, "placement": user}),
            sections.database(wiring, "neutron"),
            sections.authentication(wiring, "neutron"),
            sections.behind_a_proxy(),
        ]
    return ConfigFile("neutron.conf", "ini", tuple(layers), fragment="/etc/neutron/neutron.conf.d/secrets.conf")


def _plugin_files(networks: Mapping[str, PhysicalNetwork]) -> tuple[ConfigFile, ...]:
    ranges = (f"{name}:{network.vlans}" if network.vlans else name for name, network in networks.items())
    ml2: dict[str, Section] = {
        "ml2": {
            "type_drivers": ("flat", "vlan", "vxlan"),
            "project_network_types": ("vxlan",),
            "mechanism_drivers": ("openvswitch", "l2population"),
            "extension_drivers": ("port_security",),
        },
        "ml2_type_vxlan": {"vni_ranges": (_TUNNELS,)},
        "ml2_type_flat": {"flat_networks": tuple(networks)},
        "ml2_type_vlan": {"network_vlan_ranges": tuple(ranges)},
    }
    openvswitch: dict[str, Section] = {
        "ovs": {
            "bridge_mappings": tuple(f"{name}:{network.bridge}" for name, network in networks.items()),
            "ovsdb_connection": "tcp:127.0.0.1:6640",
        },
        "agent": {"tunnel_types": ("vxlan",), "l2_population": True},
        "securitygroup": {"firewall_driver": "openvswitch"},
    }
    return (
        ConfigFile("ml2_conf.ini", "ini", (Layer(Origin.PROJECT, _MANUAL, ml2),)),
        ConfigFile("openvswitch_agent.ini", "ini", (Layer(Origin.PROJECT, _MANUAL, openvswitch),)),
    )


def _agent_files(wiring: Wiring) -> tuple[ConfigFile, ...]:
    database: Section = {"ovsdb_connection": "tcp:127.0.0.1:6640"}
    dhcp: dict[str, Section] = {
        "DEFAULT": {"interface_driver": "openvswitch", "enable_isolated_metadata": True},
        "ovs": database,
    }
    routers: dict[str, Section] = {"DEFAULT": {"interface_driver": "openvswitch"}, "ovs": database}
    metadata: dict[str, Section] = {
        "DEFAULT": {
            "nova_metadata_host": wiring.host("nova-api"),
            "nova_metadata_port": 8775,
            "metadata_proxy_shared_secret": Secret("neutron/metadata"),
        }
    }
    fragment = "/etc/neutron/neutron.conf.d/metadata.conf"
    return (
        ConfigFile("dhcp_agent.ini", "ini", (Layer(Origin.PROJECT, _MANUAL, dhcp),)),
        ConfigFile("l3_agent.ini", "ini", (Layer(Origin.PROJECT, _MANUAL, routers),)),
        ConfigFile("metadata_agent.ini", "ini", (Layer(Origin.PROJECT, _MANUAL, metadata),), fragment=fragment),
    )


def _jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    endpoint = accounts.Endpoint("network", "neutron", "neutron-server")
    upgrade = f"neutron-db-manage {WITH_CONFIGURATION} --config-dir /etc/neutron/neutron.conf.d upgrade heads"
    return (
        accounts.databases(wiring, "neutron"),
        *accounts.messaging(wiring, "neutron"),
        accounts.migration(wiring, "neutron", "neutron-server", upgrade, (CONFIGURATION, ML2)),
        accounts.identity(wiring, "neutron", (endpoint,)),
    )


PROJECT = ProjectDefinition(
    name="neutron",
    needs=("keystone", "mariadb", "rabbitmq", "memcached"),
    processes=(SERVER, DHCP_AGENT, L2_AGENT, L3_AGENT, METADATA_AGENT),
    configure=_configure,
    jobs=_jobs,
)
