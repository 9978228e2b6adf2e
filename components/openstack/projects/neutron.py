"""Neutron with Open vSwitch: the server's three processes, and the agents that make networks on nodes.

Agents are privileged and on the host's network, as in Kolla and Fuel-CCP: they make namespaces and bridges there. The
L2 agent brings Open vSwitch itself along; other agents reach its database over the node's loopback.
"""

from components.openstack.definition import (
    AMQP,
    MYSQL,
    Container,
    Exec,
    File,
    HostPath,
    Http,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
    port_check,
    runs,
)

UID = 42435
CONFIGURATION = File("neutron.conf", "/etc/neutron/neutron.conf")
ML2 = File("ml2_conf.ini", "/etc/neutron/plugins/ml2/ml2_conf.ini")
WITH_CONFIGURATION = "--config-file /etc/neutron/neutron.conf"

METADATA_SOCKET = HostPath(name="metadata-socket", path="neutron", mount="/var/lib/neutron/kolla")
"""Where the metadata agent listens for the routers of its node."""
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
            ports=(Port("api", 9696),),
            ready=Http("api", "/healthcheck"),
            alive=Tcp("api"),
            files=(CONFIGURATION, ML2, File("neutron-server-uwsgi.ini", "/etc/neutron/neutron-server-uwsgi.ini")),
            share=2,
        ),
        Container(
            name="neutron-rpc-server",
            image="neutron-server",
            user="neutron",
            command=f"neutron-rpc-server {WITH_CONFIGURATION} --config-file {ML2.path}",
            ready=port_check("neutron-rpc-server", AMQP),
            alive=runs("neutron-rpc-server"),
            files=(CONFIGURATION, ML2),
            share=2,
        ),
        Container(
            name="neutron-periodic-worker",
            image="neutron-server",
            user="neutron",
            command=f"neutron-periodic-workers {WITH_CONFIGURATION} --config-file {ML2.path}",
            ready=port_check("neutron-periodic-workers", MYSQL),
            alive=runs("neutron-periodic-workers"),
            files=(CONFIGURATION, ML2),
        ),
    ),
)


def _agent(
    service: str, *, configuration: str, host_paths: tuple[HostPath, ...], extra: tuple[File, ...] = ()
) -> ProcessDefinition:
    own = File(configuration, f"/etc/neutron/{configuration}")
    process = Container(
        name=service,
        image=service,
        user="neutron",
        command=f"{service} {WITH_CONFIGURATION} --config-file {own.path}",
        ready=port_check(service, AMQP),
        alive=runs(service),
        files=(CONFIGURATION, own, *extra),
        host_paths=host_paths,
        owns=(METADATA_SOCKET.mount or METADATA_SOCKET.path,),
        privileged=True,
    )
    return ProcessDefinition(
        name=service, project="neutron", kind="Deployment", uid=UID, host_network=True, containers=(process,)
    )


DHCP_AGENT = _agent(
    "neutron-dhcp-agent",
    configuration="dhcp_agent.ini",
    host_paths=(METADATA_SOCKET, NAMESPACES),
    extra=(File("dnsmasq.conf", "/etc/neutron/dnsmasq.conf"),),
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
    containers=(
        Container(
            name="neutron-openvswitch-agent",
            image="neutron-openvswitch-agent",
            user="neutron",
            command=f"neutron-openvswitch-agent {WITH_CONFIGURATION} "
            "--config-file /etc/neutron/plugins/ml2/openvswitch_agent.ini",
            ready=port_check("neutron-openvswitch-agent", AMQP),
            alive=runs("neutron-openvswitch-agent"),
            files=(CONFIGURATION, File("openvswitch_agent.ini", "/etc/neutron/plugins/ml2/openvswitch_agent.ini")),
            host_paths=(OPENVSWITCH, MODULES),
            privileged=True,
            share=2,
        ),
        Container(
            name="openvswitch-vswitchd",
            image="openvswitch-vswitchd",
            user="root",
            command=f"ovs_wrapper ovs-vswitchd unix:/run/openvswitch/db.sock {_OVS_LOGS} --mlockall "
            "--log-file=/var/log/kolla/openvswitch/ovs-vswitchd.log --pidfile",
            ready=Exec(("ovs-appctl", "version")),
            alive=Exec(("ovs-appctl", "version")),
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

PROJECT = ProjectDefinition(
    name="neutron",
    needs=("keystone", "mariadb", "rabbitmq"),
    processes=(SERVER, DHCP_AGENT, L2_AGENT, L3_AGENT, METADATA_AGENT),
)
