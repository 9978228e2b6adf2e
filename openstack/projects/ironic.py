"""Configuration and jobs of Ironic."""

from __future__ import annotations

from openstack import accounts
from openstack.config import sections
from openstack.config.layers import ConfigFile, Layer, Origin, Repeated, Section, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_MANUAL = "https://docs.openstack.org/ironic/2026.1/configuration/config.html"
_UWSGI = "https://uwsgi-docs.readthedocs.io/en/latest/StaticFiles.html"
_ROOT = "/var/lib/ironic"
_SERVED = f"{_ROOT}/httpboot"
_IPXE = ("/usr/lib/ipxe/snponly.efi", "/usr/share/ipxe/ipxe-snponly-x86_64.efi")
"""The iPXE program in Kolla's images: of Debian and Ubuntu; of Rocky and CentOS (docker/ironic/ironic-pxe)."""
_NETWORK = "baremetal"
"""Name of the flat network of Neutron to which machines are attached (004, 2.9.2)."""


def configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    user = sections.service_user(wiring, "ironic")
    client: Section = user | {"region_name": wiring.region, "valid_interfaces": ("internal",)}
    drivers: Section = {
        "enabled_hardware_types": ("ipmi", "redfish"),
        # Conductors serve no TFTP, with which ipxe and pxe begin, and no boot loader for http.
        "enabled_boot_interfaces": ("redfish-virtual-media", "http-ipxe"),
        "enabled_deploy_interfaces": ("direct", "ramdisk"),
        "enabled_inspect_interfaces": ("agent", "redfish", "no-inspect"),
        "enabled_network_interfaces": ("flat", "noop"),
        "enabled_storage_interfaces": ("noop",),
    }
    machines = Layer(
        Origin.PROJECT,
        _MANUAL,
        {
            "DEFAULT": drivers
            | {
                # Accounts of services, such as Nova's, see and use the machines of every project.
                "rbac_service_role_elevated_access": True,
                # An image is linked from its cache, the first time without a copy as a way out
                # (ironic/drivers/modules/image_cache.py): both must be in the directory of the node.
                "tempdir": _ROOT,
            },
            "deploy": {
                "http_root": _SERVED,
                "http_url": f"http://$my_ip:{wiring.records.port('ironic-conductor', 'boot')}",
            },
            "pxe": {
                "images_path": f"{_ROOT}/images",
                "instance_master_path": f"{_ROOT}/master_images",
                "tftp_root": f"{_ROOT}/tftpboot",
                "tftp_master_path": f"{_ROOT}/tftpboot/master_images",
            },
        },
    )
    others = Layer(
        Origin.PROJECT,
        _MANUAL,
        {
            "glance": client,
            "neutron": client
            | {"cleaning_network": _NETWORK, "inspection_network": _NETWORK, "provisioning_network": _NETWORK},
            "nova": client,
            # Machines call the API while they are deployed. They know only its public name.
            "service_catalog": client | {"endpoint_override": wiring.public_url("ironic-api")},
        },
    )
    layers = (
        machines,
        others,
        sections.database(wiring, "ironic"),
        sections.messaging(wiring, "ironic"),
        sections.authentication(wiring, "ironic"),
        sections.locks("ironic"),
        sections.behind_a_proxy(),
    )
    return (
        ConfigFile("ironic.conf", "ini", layers, fragment="/etc/ironic/ironic.conf.d/secrets.conf"),
        uwsgi(wiring, "ironic-api", "ironic-api-uwsgi.ini", "ironic.wsgi"),
        _http(wiring),
    )


def _http(wiring: Wiring) -> ConfigFile:
    """Returns uWSGI's settings for the HTTP server of a conductor, which serves files and no application."""
    options: Section = {
        "http-socket": f"0.0.0.0:{wiring.records.port('ironic-conductor', 'boot')}",
        "check-static": _SERVED,
        # Ironic links files there to its cache of images.
        "static-safe": _ROOT,
        # The first one that is there. The name is Ironic's default, uefi_ipxe_bootfile_name.
        "static-map": Repeated(tuple(f"/snponly.efi={path}" for path in _IPXE)),
        # The image starts as root.
        "uid": "ironic",
        "gid": "ironic",
        "honour-range": True,
        "master": True,
        "die-on-term": True,
        "enable-threads": True,
        # Files are sent by threads beside the worker, so that a slow machine does not delay others. Project figure.
        "offload-threads": 4,
        "processes": 1,
    }
    return ConfigFile("ironic-http-uwsgi.ini", "ini", (Layer(Origin.PROJECT, _UWSGI, {"uwsgi": options}),))


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    configuration = wiring.records["ironic"].file("ironic.conf")
    return (
        accounts.databases(wiring, "ironic"),
        *accounts.messaging(wiring, "ironic"),
        accounts.migration(wiring, "ironic", "ironic-conductor", "ironic-dbsync upgrade", (configuration,)),
        accounts.identity(wiring, "ironic"),
    )
