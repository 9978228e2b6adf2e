"""Nova: API and metadata service, scheduler, conductor, console proxy, and nova-compute with libvirt on each compute.

Source 004, 5.3.7, installs nova-compute on the host. Here nova-compute and libvirt are Kolla's containers, privileged
and on the host's network as in Kolla and Fuel-CCP. Virtual machines are in the cgroup slice of the host's
systemd-machined instead of the pod's cgroup, so that the pod's limits do not apply to them.
"""

from __future__ import annotations

from dataclasses import replace

from openstack import accounts, ceph_client, node_values
from openstack.config import cephx, sections
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, Section, TextFile, WrittenFile
from openstack.config.ports import AMQP, APIS
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import REGION, Wiring
from openstack.definition import (
    HOST,
    ActionDefinition,
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

UID = 42436
CONFIGURATION = ConfigurationFile("nova.conf", "/etc/nova/nova.conf")
_CONSOLE_PAGE = "/vnc_lite.html"
_ENTITY = "client.nova"
_POOL = "vms"
_DISKS = (_ENTITY, cephx.CINDER)
"""Ceph accounts with which libvirt opens disks: Nova's for the disks of virtual machines, Cinder's for volumes."""

API = ProcessDefinition(
    name="nova-api",
    project="nova",
    kind="Deployment",
    uid=UID,
    exposed=((8774, "api"), (8775, "metadata")),
    containers=(
        Container(
            name="nova-api",
            image="nova-api",
            user="nova",
            command="uwsgi /etc/nova/nova-api-uwsgi.ini",
            ports=(Port("api", 8774, clients=("everyone",)),),
            ready=Http("api"),
            alive=Tcp("api"),
            files=(CONFIGURATION, ConfigurationFile("nova-api-uwsgi.ini", "/etc/nova/nova-api-uwsgi.ini")),
            share=3,
        ),
        Container(
            name="nova-metadata",
            image="nova-api",
            user="nova",
            command="uwsgi /etc/nova/nova-metadata-uwsgi.ini",
            ports=(Port("metadata", 8775, clients=("nodes",)),),
            ready=Http("metadata"),
            alive=Tcp("metadata"),
            files=(CONFIGURATION, ConfigurationFile("nova-metadata-uwsgi.ini", "/etc/nova/nova-metadata-uwsgi.ini")),
        ),
    ),
)


def _worker(service: str) -> ProcessDefinition:
    process = Container(
        name=service,
        image=service,
        user="nova",
        command=service,
        ready=port_check(service, AMQP),
        files=(CONFIGURATION,),
        node_name=HOST,
    )
    return ProcessDefinition(name=service, project="nova", kind="Deployment", uid=UID, containers=(process,))


SCHEDULER = _worker("nova-scheduler")
CONDUCTOR = _worker("nova-conductor")

CONSOLES = ProcessDefinition(
    name="nova-novncproxy",
    project="nova",
    kind="Deployment",
    uid=UID,
    exposed=((APIS["nova-novncproxy"], "vnc"),),
    containers=(
        Container(
            name="nova-novncproxy",
            image="nova-novncproxy",
            user="nova",
            command="nova-novncproxy",
            ports=(Port("vnc", APIS["nova-novncproxy"], clients=("everyone",)),),
            ready=Http("vnc", _CONSOLE_PAGE),
            alive=Tcp("vnc"),
            files=(CONFIGURATION,),
        ),
    ),
)

_SHARED_WITH_LIBVIRT = (
    HostPath(name="run", path="/run", shared=True),
    HostPath(name="dev", path="/dev"),
    HostPath(name="modules", path="/lib/modules", read_only=True),
    HostPath(name="nova", path="/var/lib/nova", shared=True),
    HostPath(name="libvirt", path="/var/lib/libvirt"),
)

COMPUTE = ProcessDefinition(
    name="nova-compute",
    project="nova",
    kind="DaemonSet",
    uid=UID,
    host_network=True,
    host_pid=True,
    host_ipc=True,
    after=CONDUCTOR.name,
    containers=(
        Container(
            name="nova-compute",
            image="nova-compute",
            user="nova",
            command=node_values.start(f"nova-compute --config-file {CONFIGURATION.path}"),
            ready=port_check("nova-compute", AMQP),
            files=(CONFIGURATION, node_values.START, ceph_client.CONFIGURATION, ceph_client.keyring(_ENTITY)),
            node_values=True,
            host_paths=_SHARED_WITH_LIBVIRT,
            owns=("/var/lib/nova",),
            environment=(("LIBGUESTFS_BACKEND", "direct"),),
            # Consoles listen on the node's address, which the proxy connects to.
            node_address=("OS_DEFAULT__MY_IP", "OS_VNC__SERVER_LISTEN", "OS_VNC__SERVER_PROXYCLIENT_ADDRESS"),
            privileged=True,
        ),
        Container(
            name="nova-libvirt",
            image="nova-libvirt",
            user="root",
            command="/usr/local/bin/kolla_nova_libvirt_start",
            ports=(Port("libvirt", 16509),),
            ready=Exec(("virsh", "version", "--daemon")),
            alive=Exec(("virsh", "version", "--daemon")),
            files=(
                ConfigurationFile("libvirtd.conf", "/etc/libvirt/libvirtd.conf"),
                ConfigurationFile("qemu.conf", "/etc/libvirt/qemu.conf"),
                ceph_client.CONFIGURATION,
                *(
                    ConfigurationFile(
                        f"{entity}{suffix}", f"/etc/libvirt/secrets/{cephx.libvirt_secret(entity)}{suffix}"
                    )
                    for entity in _DISKS
                    for suffix in (".xml", ".base64")
                ),
            ),
            host_paths=(
                *_SHARED_WITH_LIBVIRT,
                HostPath(name="cgroup", path="/sys/fs/cgroup"),
                HostPath(name="libvirt-qemu", path="libvirt-qemu", mount="/etc/libvirt/qemu"),
            ),
            privileged=True,
        ),
    ),
)

_MANUAL = "https://docs.openstack.org/nova/2026.1/configuration/config.html"
_ON_COMPUTES = frozenset({"nova-compute"})
"""Nova's processes on computes. They access the database through the conductor and validate no tokens, so a compute has
neither the password of the database nor the key of the cached tokens."""

_RBD: Section = {
    "images_type": "rbd",
    "images_rbd_pool": _POOL,
    "images_rbd_ceph_conf": ceph_client.CONFIGURATION.path,
    "rbd_user": _ENTITY.removeprefix("client."),
    "rbd_secret_uuid": cephx.libvirt_secret(_ENTITY),
}
"""Options by which disks of virtual machines are block devices in Ceph, so that they outlive the compute."""

_LIBVIRTD = "https://libvirt.org/auth.html"
_LIBVIRT_DAEMON: Section = {
    "listen_tcp": 0,
    "listen_tls": 0,
    # Kolla's images have no PolicyKit, which authorises users by default. Its group kolla contains nova.
    "auth_unix_rw": '"none"',
    "unix_sock_group": '"kolla"',
    "unix_sock_rw_perms": '"0770"',
}

_CELLS = """\
set -e
cell0='{scheme}://{username}:{password}@{hostname}:{port}/nova_cell0'
nova-manage api_db sync
nova-manage cell_v2 map_cell0 --database_connection "$cell0"
nova-manage cell_v2 update_cell --cell_uuid 00000000-0000-0000-0000-000000000000 --transport-url none:/// \\
  --database_connection "$cell0"
nova-manage db sync
cell1=$(nova-manage cell_v2 list_cells | grep ' cell1 ' | grep --only-matching '[0-9a-f-]\\{36\\}' || true)
if [ "$cell1" ]; then
  nova-manage cell_v2 update_cell --cell_uuid "$cell1"
else
  nova-manage cell_v2 create_cell --name=cell1
fi
nova-manage db online_data_migrations
"""
"""Script that creates or upgrades the schemas of Nova's databases, registers cell0 and cell1, and migrates data online.
Passwords are not arguments, which every process of the node can read: cell1 gets the connections in nova.conf, and
cell0 gets a template that Nova fills in from nova.conf (Nova's manual, Cells)."""


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    user = sections.service_user(wiring, "nova")
    internal: Section = user | {"region_name": REGION, "valid_interfaces": ("internal",)}
    others = Layer(
        Origin.PROJECT,
        _MANUAL,
        {
            "glance": {"region_name": REGION, "valid_interfaces": ("internal",)},
            "placement": internal,
            "cinder": user | {"os_region_name": REGION, "catalog_info": "block-storage:cinder:internalURL"},
            "neutron": internal
            | {"service_metadata_proxy": True, "metadata_proxy_shared_secret": Secret("neutron/metadata")},
            "service_user": user | {"send_service_user_token": True},
            "vnc": {"novncproxy_base_url": wiring.public_url("nova-novncproxy", _CONSOLE_PAGE)}
            if wiring.has("nova-novncproxy")
            else {"enabled": False},
            # During an update, all versions use the RPC version of the oldest one.
            "upgrade_levels": {"compute": "auto"},
        },
    )
    scheduler = Layer(
        Origin.PROJECT,
        "004, 5.4.3 ('at least 3 worker threads')",
        {"scheduler": {"workers": wiring.workers("nova-scheduler", least=3), "discover_hosts_in_cells_interval": 300}},
    )
    conductor = Layer(
        Origin.ARCHITECTURE,
        "cores requested by nova-conductor (blueprint/plan/sizing.yaml)",
        {"conductor": {"workers": wiring.workers("nova-conductor")}},
    )
    guests = Layer(
        Origin.PROJECT,
        _MANUAL,
        {
            "DEFAULT": {"compute_driver": "libvirt.LibvirtDriver", "state_path": "/var/lib/nova"},
            "libvirt": {"virt_type": "kvm", "connection_uri": "qemu:///system"},
        },
    )
    layers = [
        others,
        sections.messaging(wiring, "nova"),
        sections.locks("nova"),
        sections.behind_a_proxy(),
    ]
    if name in _ON_COMPUTES:
        layers.append(guests)
        if wiring.monitors:
            layers.append(Layer(Origin.PROJECT, "004, 5.3.17; " + _MANUAL, {"libvirt": _RBD}))
    else:
        databases = [
            sections.database(wiring, "nova", "nova"),
            sections.database(wiring, "nova", "nova_api", section="api_database"),
        ]
        apis = [sections.authentication(wiring, "nova"), sections.cache(wiring)]
        layers += [scheduler, conductor, *apis, *databases]
    return (
        ConfigFile("nova.conf", "ini", tuple(layers), fragment="/etc/nova/nova.conf.d/secrets.conf"),
        uwsgi(wiring, "nova-api", "nova-api-uwsgi.ini", "nova.wsgi.osapi_compute", 8774),
        uwsgi(wiring, "nova-api", "nova-metadata-uwsgi.ini", "nova.wsgi.metadata", 8775),
        node_values.SCRIPT,
        ConfigFile("libvirtd.conf", "flat", (Layer(Origin.PROJECT, _LIBVIRTD, {"": _LIBVIRT_DAEMON}),)),
        *ceph_client.files(wiring, _ENTITY),
        *(file for entity in _DISKS if wiring.monitors for file in cephx.libvirt_files(entity)),
    )


def _jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    endpoint = accounts.Endpoint("compute", "nova", "nova-api", "/v2.1")
    script = "/usr/local/bin/cells.sh"
    files = (CONFIGURATION, ConfigurationFile("cells.sh", script))
    registration = accounts.migration(wiring, "nova", "nova-conductor", f"bash {script}", files)
    cells = replace(registration, name="nova-cells", written=(*registration.written, TextFile("cells.sh", (_CELLS,))))
    rights = cephx.entry(_ENTITY, **cephx.block_devices(_POOL, reads=("images",)))
    return (
        *accounts.storage(wiring, "nova", (rights,), (_POOL,)),
        accounts.databases(wiring, "nova"),
        *accounts.messaging(wiring, "nova"),
        cells,
        accounts.identity(wiring, "nova", (endpoint,)),
    )


def _actions(wiring: Wiring) -> tuple[ActionDefinition, ...]:
    command = "nova-manage db online_data_migrations"
    migrations = accounts.manage("nova", "nova-conductor", "online-data-migrations", command, (CONFIGURATION,))
    purpose = "Migrate Nova's data to its new schema, after all of Nova is updated"
    migrations = replace(migrations, quorums=(wiring.galera("nova"),))
    return (ActionDefinition(job=migrations, purpose=purpose, requires="whole", deadline=6 * 3600),)


PROJECT = ProjectDefinition(
    name="nova",
    needs=("keystone", "mariadb", "rabbitmq", "memcached", "glance", "placement", "neutron"),
    processes=(API, SCHEDULER, CONDUCTOR, CONSOLES, COMPUTE),
    configure=_configure,
    jobs=_jobs,
    actions=_actions,
)
