"""Configuration, jobs and actions of Nova."""

from __future__ import annotations

from dataclasses import replace

from blueprint.openstack.projects.process_definition import (
    ConfigurationFile,
)
from blueprint.openstack.projects.records import own_records
from openstack import accounts, ceph_client, node_values
from openstack.config import cephx, migrations, sections, sriov_devices, tenants_room
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, Section, TextFile, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import ActionDefinition, JobDefinition

_CONFIGURATION = own_records()["nova"].file("nova.conf")
_CONSOLE_PAGE = "/vnc_lite.html"
_ENTITY = "client.nova"
_POOL = "vms"
_DISKS = (_ENTITY, cephx.CINDER)
"""Ceph accounts with which libvirt opens disks: Nova's for the disks of virtual machines, Cinder's for volumes."""


_MANUAL = "https://docs.openstack.org/nova/2026.1/configuration/config.html"
_BARE_METAL = "nova-compute-ironic"
_IRONIC = "https://docs.openstack.org/ironic/2026.1/install/configure-compute.html"
_ON_COMPUTES = frozenset({"nova-compute"})
"""Nova's processes on computes. They access the database through the conductor and validate no tokens, so a compute has
neither the password of the database nor the key of the cached tokens. Nor has the nova-compute of bare metal."""

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


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    user = sections.service_user(wiring, "nova")
    internal: Section = user | {"region_name": wiring.region, "valid_interfaces": ("internal",)}
    others = Layer(
        Origin.PROJECT,
        _MANUAL,
        {
            "glance": {"region_name": wiring.region, "valid_interfaces": ("internal",)},
            "placement": internal,
            "cinder": user | {"os_region_name": wiring.region, "catalog_info": "block-storage:cinder:internalURL"},
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
        "004, 5.3.7 ('at least 3 worker threads')",
        {"scheduler": {"workers": wiring.workers("nova-scheduler", least=3), "discover_hosts_in_cells_interval": 300}},
    )
    conductor = Layer(
        Origin.ARCHITECTURE,
        "cores requested by nova-conductor (blueprint/openstack/projects/nova.yaml)",
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
    if name == _BARE_METAL:
        layers.append(Layer(Origin.PROJECT, _IRONIC, _bare_metal(internal)))
    elif name in _ON_COMPUTES:
        layers += [guests, tenants_room.common_layer(wiring)]
        if wiring.monitors:
            layers.append(Layer(Origin.PROJECT, "004, 5.3.17; " + _MANUAL, {"libvirt": _disks(wiring)}))
        if wiring.sets_up_machines:
            layers.append(migrations.nova())
    else:
        databases = [
            sections.database(wiring, "nova", "nova"),
            sections.database(wiring, "nova", "nova_api", section="api_database"),
        ]
        apis = [sections.authentication(wiring, "nova"), sections.cache(wiring)]
        layers += [scheduler, *sriov_devices.scheduler_layers(wiring), conductor, *apis, *databases]
    return (
        ConfigFile("nova.conf", "ini", tuple(layers), fragment="/etc/nova/nova.conf.d/secrets.conf"),
        uwsgi(wiring, "nova-api", "nova-api-uwsgi.ini", "nova.wsgi.osapi_compute"),
        uwsgi(wiring, "nova-api", "nova-metadata-uwsgi.ini", "nova.wsgi.metadata", "metadata"),
        node_values.SCRIPT,
        *migrations.libvirt(certificates=wiring.sets_up_machines),
        *migrations.ssh(),
        *ceph_client.files(wiring, _ENTITY),
        *(
            file
            for entity in _DISKS
            if wiring.monitors
            for file in cephx.libvirt_files(ceph_client.client(wiring, entity))
        ),
    )


def _bare_metal(client: Section) -> dict[str, Section]:
    """Returns the options of the nova-compute of bare-metal machines. `client`: with which it calls Ironic.

    Its host is a name of its own, so that it is the same service on whatever node it runs.
    """
    return {
        "DEFAULT": {"compute_driver": "ironic.IronicDriver", "host": _BARE_METAL, "state_path": "/var/lib/nova"},
        "ironic": client,
    }


def _disks(wiring: Wiring) -> Section:
    """Returns options by which disks of virtual machines are in Ceph, so that they outlive the compute."""
    return {
        "images_type": "rbd",
        "images_rbd_pool": ceph_client.pools(wiring).vms,
        "images_rbd_ceph_conf": ceph_client.CONFIGURATION.path,
        "rbd_user": ceph_client.client(wiring, _ENTITY).name,
        "rbd_secret_uuid": cephx.libvirt_secret(_ENTITY),
    }


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    script = "/usr/local/bin/cells.sh"
    files = (_CONFIGURATION, ConfigurationFile("cells.sh", script))
    registration = accounts.migration(wiring, "nova", "nova-conductor", f"bash {script}", files)
    cells = replace(registration, name="nova-cells", written=(*registration.written, TextFile("cells.sh", (_CELLS,))))
    rights = cephx.entry(_ENTITY, **cephx.block_devices(_POOL, "images"))
    return (
        *accounts.storage(wiring, "nova", (rights,), (_POOL,)),
        accounts.databases(wiring, "nova"),
        *accounts.messaging(wiring, "nova"),
        cells,
        accounts.identity(wiring, "nova"),
    )


def actions(wiring: Wiring) -> tuple[ActionDefinition, ...]:
    command = "nova-manage db online_data_migrations"
    migrations = accounts.manage("nova", "nova-conductor", "online-data-migrations", command, (_CONFIGURATION,))
    purpose = "Migrate Nova's data to its new schema, after all of Nova is updated"
    migrations = replace(migrations, quorums=(wiring.galera("nova"),))
    return (ActionDefinition(job=migrations, purpose=purpose, requires="whole", deadline=6 * 3600),)
