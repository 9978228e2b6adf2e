"""Bad inputs: options of OpenStack's configuration files that no service reads, or reads otherwise than written."""

from __future__ import annotations

from typing import Any

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack


def option(said: str, value: Any = 1, section: str = "DEFAULT", name: str = "debug", file: str = "nova.conf") -> Bad:
    """An option of nova-api; the key in the message ends where `said` begins."""
    files = {file: {section: {name: value}}}
    key = f"quorate:services.nova-api.options.{file}.{section}.{name}"
    return Bad(stack(services={"nova-api": {"options": files}}), f"{key}: {said}")


def project(name: str, said: str) -> Bad:
    files = {"nova.conf": {"DEFAULT": {"debug": True}}}
    return Bad(stack(projects={name: {"options": files}}), f"quorate:projects.{name}{said}")


def section(file: str, name: str, said: str, **services: Any) -> Bad:
    service = {"cinder.conf": "cinder-volume"}.get(file, "nova-api")
    key = f"quorate:services.{service}.options.{file}.{name}"
    return Bad(stack(services={service: {"options": {file: {name: {"debug": True}}}}}), f"{key}: {said}")


def on_nodes(pattern: str, said: str, service: str = "nova-compute", name: str = "debug") -> Bad:
    values = {"services": {service: {"options": {"nova.conf": {"DEFAULT": {name: True}}}}}}
    return Bad(stack(nodes={pattern: values}), f"quorate:nodes.{pattern}{said}")


def secret(name: str, said: str, **version: Any) -> Bad:
    return Bad(stack(secrets={name: {"generation": 2, **version}}), f"quorate:secrets.{name}{said}")


def overridden(key: str, said: str, **settings: Any) -> Bad:
    """An option that a process reads from its environment instead."""
    return Bad(stack(**settings), f"quorate:{key}: has no effect on {said}")


def given(file: str, section: str, name: str, value: Any = "10.40.0.51") -> dict[str, Any]:
    return {"options": {file: {section: {name: value}}}}


UNKNOWN = "is not an option of section"
CASES = {
    "an unknown option": option(f"{UNKNOWN} DEFAULT in nova.conf of OpenStack 2026.1 (did you mean", name="debgu"),
    "an option of another file": option(f"{UNKNOWN} DEFAULT", name="network_vlan_ranges"),
    "an old name": option(
        "is deprecated in nova.conf of OpenStack 2026.1; write wsgi.api_paste_config", "/etc/x", name="api_paste_config"
    ),
    "an old name with a dash": option(
        "is deprecated in nova.conf of OpenStack 2026.1; write wsgi.api_paste_config", "/etc/x", name="api-paste-config"
    ),
    "text for an integer": option(
        "'many' does not fit; write a whole number", "many", "DEFAULT", "reserved_host_memory_mb"
    ),
    "a boolean for an integer": option(
        "true does not fit; write a whole number", True, "DEFAULT", "reserved_host_memory_mb"
    ),
    "text for a boolean": option("'maybe' does not fit; write true or false", "maybe"),
    "a list for a boolean": option("a list does not fit; write true or false", [True]),
    "text for a number": option("'x' does not fit; write a number", "x", "DEFAULT", "initial_cpu_allocation_ratio"),
    "a port that there is not": option("70000 does not fit; write a port, 0 to 65535", 70000, "vnc", "novncproxy_port"),
    "a number for a dictionary": option(
        "5 does not fit; write text such as key:value,key:value", 5, "profiler_jaeger", "process_tags"
    ),
    "two lines": option("has a value of several lines; write one line", "a\n[x]\nb = 1", name="instances_path"),
    "a mapping as a value": option("is not the value of an option; write text", {"a": 1}),
    "a secret in two places": option(
        "is not the value of an option; write text", {"environment": "LDAP", "file": "/run/ldap"}, "neutron", "password"
    ),
    "a secret in no variable": option(
        "is not the value of an option; write text", {"environment": "not a name"}, "neutron", "password"
    ),
    "nothing as a value": option("is not the value of an option; write text", None),
    "a secret by its name": option("holds a secret in clear text", "hunter2", "neutron", "password"),
    "a password that another system gave": option(
        "holds a secret in clear text; remove it from the file (and from its history): Quorate derives the services' "
        "passwords itself; if another system gave it, write {environment: NAME}, {file: path}",
        "hunter2",
        "neutron",
        "password",
    ),
    "a secret by its list": option(
        "is a secret, and a stack file is not; remove it", "hunter2", "vault", "approle_role_id"
    ),
    "an unknown section": section("nova.conf", "libvrit", "is not a section (did you mean 'libvirt'?)"),
    "a backend that is not enabled": section("cinder.conf", "ceph1", "is not a section; write one of cinder.conf"),
    "an unknown file": Bad(
        stack(services={"nova-api": {"options": {"nova.cfg": {"DEFAULT": {"debug": True}}}}}),
        "quorate:services.nova-api.options.nova.cfg: is not a file of nova (did you mean 'nova.conf'?)",
    ),
    "a file of another project": project("neutron", ".options.nova.conf: is not a file of neutron"),
    "a project that there is not": project("nvoa", ": is not a project with options (did you mean 'nova'?)"),
    "options of a service without a list": Bad(
        stack(services={"memcached": {"options": {"memcached.conf": {"": {"port": 1}}}}}),
        "quorate:services.memcached.options.memcached.conf: has no list of options; write the whole file",
    ),
    "values for a node that there is not": on_nodes("cmp[1-9]", ": 'cmp4' is not a node of this stack"),
    "values for names that are not a pattern": on_nodes("cmp[1-", ": 'cmp[1-' has a bracket without"),
    "values for a node without the service": on_nodes("master1", ".services.nova-compute: does not run on 'master1'"),
    "values for a service that is not on each node": on_nodes(
        "ctl01", ".services.nova-api: takes no values of single nodes", service="nova-api"
    ),
    "values for a service that there is not": on_nodes(
        "cmp1", ".services.nova-compte: takes no values of single nodes", service="nova-compte"
    ),
    "an unknown option for a node": on_nodes(
        "cmp1", f".services.nova-compute.options.nova.conf.DEFAULT.debgu: {UNKNOWN} DEFAULT", name="debgu"
    ),
    "an address of tunnels for all nodes": overridden(
        "services.neutron-l2-agent.options.openvswitch_agent.ini.ovs.local_ip",
        "neutron-l2-agent, whose option is the node's address on each node; write it under "
        "quorate:nodes.<nodes>.services.neutron-l2-agent.options",
        services={"neutron-l2-agent": given("openvswitch_agent.ini", "ovs", "local_ip")},
    ),
    "an address of a project, with a dash": overridden(
        "projects.nova.options.nova.conf.DEFAULT.my-ip",
        "nova-compute, whose option is the node's address",
        projects={"nova": given("nova.conf", "DEFAULT", "my-ip")},
    ),
    "an address of consoles": overridden(
        "services.nova-compute.options.nova.conf.vnc.server_listen",
        "nova-compute, whose option is the node's address",
        services={"nova-compute": given("nova.conf", "vnc", "server_listen", "0.0.0.0")},  # noqa: S104 - an input
    ),
    "a host name that only the node has": overridden(
        "services.cinder-scheduler.options.cinder.conf.DEFAULT.host",
        "cinder-scheduler, whose option is the node's name on each node; remove it",
        services={"cinder-scheduler": given("cinder.conf", "DEFAULT", "host", "ctl1")},
    ),
    "no options for a node": Bad(
        stack(nodes={"cmp1": {"services": {"nova-compute": {"options": {}}}}}),
        "quorate:nodes.cmp1.services.nova-compute.options: ",
    ),
    "a node without settings": Bad(
        stack(nodes={"cmp1": {}}), "quorate:nodes.cmp1: sets nothing; write services, interfaces or"
    ),
    "an interface on a network that there is not": Bad(
        stack(nodes={"cmp1": {"interfaces": {"physnet2": "ens8"}}}),
        "quorate:nodes.cmp1.interfaces.physnet2: is not a physical network (did you mean 'physnet1'?)",
    ),
    "VLANs in the wrong order": Bad(
        stack(networks={"physical": {"physnet1": {"vlans": "20:10"}}}),
        "quorate:networks.physical.physnet1.vlans: 20:10 is not a range of VLAN IDs; write first:last from 1 to 4094",
    ),
    "VLANs in two ranges": Bad(
        stack(networks={"physical": {"physnet1": {"vlans": "20:30,30:40"}}}),
        "quorate:networks.physical.physnet1.vlans: 30:40 has IDs of a range before it; write each ID once",
    ),
    "VLANs that are not ranges": Bad(
        stack(networks={"physical": {"physnet1": {"vlans": "20-30"}}}),
        "quorate:networks.physical.physnet1.vlans: '20-30' does not fit; write ranges of VLAN IDs such as 1001:1030 or",
    ),
    "a bridge for two networks": Bad(
        stack(networks={"physical": {"a": {}, "b": {}}}),
        "quorate:networks.physical: several physical networks have the bridge 'br-ex'; write one of its own for each",
    ),
    "an interface for two networks": Bad(
        stack(networks={"physical": {"a": {"interface": "ens8"}, "b": {"bridge": "br-b", "interface": "ens8"}}}),
        "quorate:networks.physical: several physical networks have the interface 'ens8'; write one of its own",
    ),
    "an interface with a long name": Bad(
        stack(networks={"physical": {"physnet1": {"interface": "enp0s31f6-vlan1001"}}}),
        "quorate:networks.physical.physnet1.interface: ",
    ),
    "an external network on none": Bad(
        stack(
            bootstrap={
                "networks": {
                    "external": {
                        "physicalNetwork": "physnet2",
                        "network": "192.0.2.0/24",
                        "gateway": "192.0.2.1",
                        "pool": {"start": "192.0.2.10", "end": "192.0.2.20"},
                    }
                }
            }
        ),
        "quorate:bootstrap.networks.external.physicalNetwork: 'physnet2' is not a physical network (did you mean",
    ),
    "a generation of a secret that there is not": secret(
        "nova/databse", ": is not a secret (did you mean 'nova/database'?); write one of: cinder/database"
    ),
    "a generation of a secret that stays": secret(
        "heat/identity", ": cannot be replaced while the services run: Keystone's trusts belong to the user"
    ),
    "the first generation of a secret": secret("nova/database", ".generation: 1 does not fit", generation=1),
    "a generation before that is neither": secret("nova/database", ".previous: 'gone' is not known", previous="gone"),
    "a key of which no generation stays": secret(
        "nova/memcached", ".previous: is only for accounts", previous="removed"
    ),
    "a section that is not a mapping": Bad(
        stack(services={"nova-api": {"options": {"nova.conf": {"DEFAULT": "debug"}}}}),
        "quorate:services.nova-api.options.nova.conf.DEFAULT: 'debug' does not fit; write a mapping",
    ),
}
