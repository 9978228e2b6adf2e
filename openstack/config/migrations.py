"""How virtual machines move between computes: while they run over TLS, and while they are stopped by SSH.

libvirt on two computes, and QEMU for the memory of a virtual machine, authenticate each other by the certificates of
their machines. For a stopped virtual machine and for a new size, Nova creates a directory on the other compute by SSH;
disks in Ceph are not copied. A directory that all computes share would do too, but would be one more service whose
failure stops every compute.
"""

from __future__ import annotations

from formats import ssh_key
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, Section, TextFile

PORT = 8022
"""Port of the SSH daemon, that of Kolla-Ansible; the node has its own on 22."""
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

_SSHD = f"""\
Port {PORT}
HostKey /etc/ssh/nova_host_key
AuthorizedKeysFile /etc/ssh/nova_authorized_keys
AllowUsers nova
PermitRootLogin no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM yes
AllowTcpForwarding no
X11Forwarding no
# scp of OpenSSH 9 copies by SFTP.
Subsystem sftp internal-sftp
PidFile none
"""
_HOSTS = "quorate-computes"
"""The name under which clients know the host key, which all computes share."""
_SSH = f"""\
Host *
  Port {PORT}
  User nova
  IdentityFile /etc/nova/ssh_key
  HostKeyAlias {_HOSTS}
  UserKnownHostsFile /etc/nova/ssh_known_hosts
  StrictHostKeyChecking yes
"""


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


def ssh() -> tuple[TextFile, ...]:
    """Returns the files of the SSH daemon, and those of nova-compute, which connects to it."""

    def private(secret: str) -> str:
        return secret if secret.startswith("<") else ssh_key.derived(secret).private

    def public(secret: str) -> str:
        return secret if secret.startswith("<") else ssh_key.derived(secret).public

    user, host = "nova/ssh", "nova/ssh-host"
    return (
        TextFile("sshd_config", (_SSHD,)),
        TextFile("ssh_host_key", (Secret(host, encode=private),)),
        TextFile("ssh_authorized_keys", (Secret(user, encode=public), "\n")),
        TextFile("ssh_config", (_SSH,)),
        TextFile("ssh_key", (Secret(user, encode=private),)),
        TextFile("ssh_known_hosts", (f"{_HOSTS} ", Secret(host, encode=public), "\n")),
    )
