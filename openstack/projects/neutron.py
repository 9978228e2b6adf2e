"""Configuration and jobs of Neutron."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.openstack import options
from blueprint.openstack.projects.records import own_records
from blueprint.plan.sizing import ROUTER_COPIES
from blueprint.stackfile import bare_metal, sriov
from openstack import accounts, bridges, node_values, ovn_clients
from openstack.config import class_addresses, sections
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, Section, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_RECORD = own_records()["neutron"]
_CONFIGURATION, _ML2 = _RECORD.file("neutron.conf"), _RECORD.file("ml2_conf.ini")
_MANUAL = "https://docs.openstack.org/neutron/2026.1/admin/deploy-ovs-selfservice.html"
_AVAILABILITY = "https://docs.openstack.org/neutron/2026.1/admin/deploy-ovs-ha-vrrp.html"
_METADATA_SOCKET = "/var/lib/neutron/kolla/metadata_proxy"
"""Socket of a node's metadata agent, in the directory that the containers of the node's agents share (`metadata-socket`
in the record). Proxies of routers and networks look for it there too."""
_DESIGNATE = "designate-api"
_DNS = "https://docs.openstack.org/neutron/2026.1/admin/config-dns-int-ext-serv.html"
_DNS_DOMAIN = "openstack.internal."
"""Domain of ports whose network has none. Names in Neutron take effect only with another domain than its default."""
_TUNNELS = "1:1000"
"""Ids of the tunnels of tenant networks, as in Fuel-CCP (neutron.ml2.vni_ranges)."""
_DISTRIBUTED = "https://docs.openstack.org/neutron/2026.1/admin/config-dvr-ha-snat.html"
_CARDS = "https://docs.openstack.org/neutron/2026.1/admin/config-sriov.html"
_BARE_METAL = "https://docs.openstack.org/networking-baremetal/latest/"
_COMPUTES_L3 = "neutron-l3-agent-compute"
_METADATA_WORKERS = 2
"""Processes of the metadata agent of a compute, which only its own virtual machines ask. Neutron's default is half of
the node's cores. Project figure."""
_WITHOUT_DATABASE = frozenset(
    {
        "neutron-dhcp-agent", "neutron-l2-agent", "neutron-l2-agent-network", "neutron-l3-agent", _COMPUTES_L3,
        "neutron-metadata-agent", "neutron-ovn-metadata-agent", "neutron-ovn-metadata-agent-network", sriov.AGENT,
        "ironic-neutron-agent",
    }
)  # fmt: skip


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    server = uwsgi(wiring, "neutron-server", "neutron-server-uwsgi.ini", "neutron.wsgi.api")
    if wiring.backend == ovn_clients.BACKEND:
        server = server.with_layers(ovn_clients.worker_layer())
        agents = ovn_clients.files(wiring, name)
    else:
        agents = _agent_files(wiring, name)
    return (
        _neutron_conf(wiring, name),
        server,
        *_plugin_files(wiring),
        *agents,
        node_values.SCRIPT,
        *bridges.files(wiring.physical_networks, wiring.datapath_type, wiring.backend),
    )


def _plugins(wiring: Wiring) -> Section:
    """Returns the plugins, and what they need of the agents of DHCP and routers; OVN has none."""
    if wiring.backend == ovn_clients.BACKEND:
        return {"core_plugin": "ml2", "service_plugins": ("ovn-router",)}
    routers = wiring.instances.get("neutron-l3-agent", 1)
    return {
        "core_plugin": "ml2",
        "service_plugins": ("router",),
        "l3_ha": routers > 1,
        "max_l3_agents_per_router": min(ROUTER_COPIES, routers),
        "dhcp_agents_per_network": min(2, wiring.instances.get("neutron-dhcp-agent", 1)),
        "allow_automatic_l3agent_failover": False,
    }


def _neutron_conf(wiring: Wiring, name: str) -> ConfigFile:
    general: Section = {
        **_plugins(wiring),
        "notify_nova_on_port_status_changes": True,
        "notify_nova_on_port_data_changes": True,
        "metadata_proxy_socket": _METADATA_SOCKET,
    }
    layers = [
        Layer(Origin.PROJECT, _AVAILABILITY, {"DEFAULT": general}),
        sections.messaging(wiring, "neutron"),
        sections.locks("neutron"),
        *_names(wiring),
        *_distributed(wiring, {"DEFAULT": {"router_distributed": True}}),
        Layer(Origin.PROJECT, _MANUAL, {"agent": {"root_helper": "sudo neutron-rootwrap /etc/neutron/rootwrap.conf"}}),
    ]
    if name not in _WITHOUT_DATABASE:
        workers: Section = {"rpc_workers": wiring.workers("neutron-server")}
        if wiring.backend == ovn_clients.BACKEND:
            workers = {**workers, **ovn_clients.api_workers(wiring)}
        user = sections.service_user(wiring, "neutron") | {"region_name": wiring.region, "endpoint_type": "internal"}
        layers += [
            Layer(
                Origin.ARCHITECTURE,
                "cores requested by neutron-server (blueprint/openstack/projects/neutron.yaml)",
                {
                    "DEFAULT": workers,
                },
            ),
            Layer(Origin.PROJECT, _MANUAL, {"nova": user, "placement": user}),
            *_dns_records(wiring),
            sections.database(wiring, "neutron"),
            sections.authentication(wiring, "neutron"),
            sections.behind_a_proxy(),
        ]
        layers += class_addresses.mtu_layers("neutron.conf", wiring)
    return ConfigFile("neutron.conf", "ini", tuple(layers), fragment="/etc/neutron/neutron.conf.d/secrets.conf")


def _names(wiring: Wiring) -> list[Layer]:
    """Returns the settings for names of ports; [] in a stack without Designate."""
    return [Layer(Origin.PROJECT, _DNS, {"DEFAULT": {"dns_domain": _DNS_DOMAIN}})] if wiring.has(_DESIGNATE) else []


def _distributed(wiring: Wiring, settings: Mapping[str, Section]) -> tuple[Layer, ...]:
    """Returns the layer with settings of distributed routers; () in a stack without them."""
    return (Layer(Origin.STACK, f"quorate:networks.distributedRouters; {_DISTRIBUTED}", settings),) * (
        wiring.distributed_routers
    )


def _dns_records(wiring: Wiring) -> list[Layer]:
    """Returns the settings with which the server makes records of ports in Designate; [] in a stack without it."""
    if not wiring.has(_DESIGNATE):
        return []
    client: Section = {"url": wiring.url(_DESIGNATE, "/v2"), **sections.service_user(wiring, "neutron")}
    return [Layer(Origin.PROJECT, _DNS, {"DEFAULT": {"external_dns_driver": "designate"}, "designate": client})]


def _drivers(wiring: Wiring) -> tuple[str, ...]:
    """Returns the mechanism drivers of the server."""
    if wiring.backend == ovn_clients.BACKEND:
        return ("ovn",)
    others = {sriov.DRIVER: bool(wiring.sriov_devices), bare_metal.DRIVER: wiring.has("ironic-api")}
    return ("openvswitch", "l2population", *(name for name, is_there in others.items() if is_there))


def _plugin_files(wiring: Wiring) -> tuple[ConfigFile, ...]:
    networks = wiring.physical_networks
    # Its name until 2025.2; a release ignores the other one, and networks of projects are then in one node only.
    named = options.listed(wiring.release, "ml2_conf.ini")["ml2"]
    types = next(name for name in ("project_network_types", "tenant_network_types") if name in named)
    ranges = (
        f"{name}:{vlans}" if vlans else name
        for name, network in networks.items()
        for vlans in (network.vlans or "").split(",")
    )
    has_ovn = wiring.backend == ovn_clients.BACKEND
    tunnels = "geneve" if has_ovn else "vxlan"
    ml2: dict[str, Section] = {
        "ml2": {
            "type_drivers": ("flat", "vlan", tunnels),
            types: (tunnels,),
            "mechanism_drivers": _drivers(wiring),
            # The second one lets a subnet publish the addresses of its ports, also in a network of a project.
            "extension_drivers": (
                "port_security",
                *(["subnet_dns_publish_fixed_ip"] if wiring.has(_DESIGNATE) else []),
            ),
        },
        **(
            ovn_clients.server_sections(wiring, _TUNNELS)
            if has_ovn
            else {"ml2_type_vxlan": {"vni_ranges": (_TUNNELS,)}}
        ),
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
        ConfigFile(
            "ml2_conf.ini",
            "ini",
            (Layer(Origin.PROJECT, _MANUAL, ml2), *class_addresses.mtu_layers("ml2_conf.ini", wiring)),
        ),
        ConfigFile(
            "openvswitch_agent.ini",
            "ini",
            (
                Layer(Origin.PROJECT, _MANUAL, openvswitch),
                *_distributed(wiring, {"agent": {"enable_distributed_routing": True}}),
            ),
        ),
    )


def _agent_files(wiring: Wiring, name: str) -> tuple[ConfigFile, ...]:
    database: Section = {"ovsdb_connection": "tcp:127.0.0.1:6640"}
    dhcp: dict[str, Section] = {
        "DEFAULT": {"interface_driver": "openvswitch", "enable_isolated_metadata": True},
        "ovs": database,
    }
    routers: dict[str, Section] = {"DEFAULT": {"interface_driver": "openvswitch"}, "ovs": database}
    metadata: dict[str, Section] = {
        "DEFAULT": {
            "nova_metadata_host": wiring.host("nova-api"),
            "nova_metadata_port": wiring.records.port("nova-api", "metadata"),
            "metadata_proxy_shared_secret": Secret("neutron/metadata"),
        }
    }
    fragment = "/etc/neutron/neutron.conf.d/metadata.conf"
    on_compute = name == _COMPUTES_L3
    mode = _distributed(wiring, {"DEFAULT": {"agent_mode": "dvr" if on_compute else "dvr_snat"}})
    workers = _distributed(wiring, {"DEFAULT": {"metadata_workers": _METADATA_WORKERS}}) if on_compute else ()
    # Security groups do not apply to a virtual function: its packets pass no bridge (004, 2.5.3).
    cards: dict[str, Section] = {"securitygroup": {"firewall_driver": "noop"}}
    # The agent asks Ironic for the machines' ports, and tells Neutron the physical networks of each machine.
    machines = sections.service_user(wiring, "neutron") | {
        "region_name": wiring.region, "valid_interfaces": ("internal",),
    }  # fmt: skip
    return (
        ConfigFile("sriov_agent.ini", "ini", (Layer(Origin.PROJECT, _CARDS, cards),)),
        ConfigFile(
            "ironic_neutron_agent.ini",
            "ini",
            (Layer(Origin.PROJECT, _BARE_METAL, {"ironic": machines} | _without_ovn(wiring)),),
            fragment="/etc/neutron/neutron.conf.d/machines.conf",
        ),
        ConfigFile("dhcp_agent.ini", "ini", (Layer(Origin.PROJECT, _MANUAL, dhcp),)),
        ConfigFile("l3_agent.ini", "ini", (Layer(Origin.PROJECT, _MANUAL, routers), *mode)),
        ConfigFile(
            "metadata_agent.ini", "ini", (Layer(Origin.PROJECT, _MANUAL, metadata), *workers), fragment=fragment
        ),
    )


def _without_ovn(wiring: Wiring) -> dict[str, Section]:
    """Returns options by which the agent of machines asks no database of OVN: from 2026.1 on it does by default.

    It would go on without one, and log an error every few minutes.
    """
    wanted: dict[str, Section] = {
        "l2vni": {
            "enable_l2vni_trunk_reconciliation": False,
            "enable_l2vni_trunk_reconciliation_events": False,
        },
        "baremetal_agent": {"enable_ha_chassis_group_alignment": False, "enable_router_ha_binding": False},
    }
    known = options.listed(wiring.release, "ironic_neutron_agent.ini")
    return {section: values for section, values in wanted.items() if section in known}


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    upgrade = (
        f"neutron-db-manage --config-file {_CONFIGURATION.path} --config-dir /etc/neutron/neutron.conf.d upgrade heads"
    )
    return (
        accounts.databases(wiring, "neutron"),
        *accounts.messaging(wiring, "neutron"),
        accounts.migration(wiring, "neutron", "neutron-server", upgrade, (_CONFIGURATION, _ML2)),
        accounts.identity(wiring, "neutron"),
    )
