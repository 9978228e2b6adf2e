"""How virtual machines move between computes while they run.

libvirt on two computes, and QEMU for the memory of a virtual machine, authenticate each other by the certificates of
their machines.
"""

from __future__ import annotations

from openstack.config.layers import ConfigFile, Layer, Origin, Section

_LIBVIRTD = "https://libvirt.org/auth.html"
_DAEMON: Section = {
    "listen_tcp": 0,
    # Kolla's images have no PolicyKit, which authorises users by default. Its group kolla contains nova.
    "auth_unix_rw": '"none"',
    "unix_sock_group": '"kolla"',
    "unix_sock_rw_perms": '"0770"',
}
_GUESTS = "https://libvirt.org/drvqemu.html; Kolla-Ansible, nova-cell (qemu.conf)"
_QEMU: Section = {
    # Kolla's images have no user of Debian's or Red Hat's own name, and its script gives /dev/kvm to a group of nova's.
    "user": '"nova"',
    "group": '"nova"',
}
_MANUAL = "https://docs.openstack.org/nova/2026.1/admin/secure-live-migration-with-qemu-native-tls.html"
_QEMU_MIGRATION: Section = {
    "default_tls_x509_cert_dir": '"/etc/pki/qemu"',
    "default_tls_x509_verify": 1,
    # A migration that asks for no encryption fails.
    "migrate_tls_force": 1,
}


def libvirt(*, certificates: bool) -> tuple[ConfigFile, ConfigFile]:
    """Returns libvirtd's and QEMU's configuration. Without `certificates` of computes, libvirtd has no port."""
    daemon: Section = {**_DAEMON, "listen_tls": int(certificates)}
    guests = [Layer(Origin.PROJECT, _GUESTS, {"": _QEMU})]
    if certificates:
        guests.append(Layer(Origin.PROJECT, _MANUAL, {"": _QEMU_MIGRATION}))
    return (
        ConfigFile("libvirtd.conf", "flat", (Layer(Origin.PROJECT, _LIBVIRTD, {"": daemon}),)),
        ConfigFile("qemu.conf", "flat", tuple(guests)),
    )


def nova() -> Layer:
    """Returns the options of nova-compute by which libvirt and QEMU connect over TLS only."""
    options: Section = {"live_migration_scheme": "tls", "live_migration_with_native_tls": True}
    return Layer(Origin.PROJECT, _MANUAL, {"libvirt": options})
