"""Creates Debian root file systems for trials with real programs.

There are roots for the database, the message queue and Prometheus; for Ceph; for Open vSwitch and QEMU; for BIND; for
node-exporter; for OVN; for OpenSearch; for virtual BMCs; for computes with QEMU and LXC; for the ramdisk with Ironic's
agent; for a machine of the machine lab; for the lab's images of nginx and kube-proxy; for virtual machines of libvirt;
for an emulated host of the lab; for a bare machine, which Quorate prepares; for an image of such machines, which Ironic
deploys; and for another deployment machine.
mmdebstrap creates a root in the user's cache, once for all clones, from the Debian mirror of the machine. This requires
root and apt; without them, the trials are skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from console.errors import UserError
from console.exit_codes import exit_code
from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain import checksums
from toolchain.engine import Unfinished, cache_directory, finish
from toolchain.install import alone

SUITE = "trixie"
"""The Debian release of a root: Debian 13, the base of Kolla's images for 2026.1."""


@dataclass(frozen=True)
class Root:
    """Description of a Debian root file system: its packages, programs and Debian release."""

    packages: tuple[str, ...]
    programs: tuple[str, ...]
    """Programs in the root whose checksums are recorded, as paths relative to the root."""
    suite: str = SUITE
    hooks: tuple[str, ...] = ()
    """Further options of mmdebstrap, such as a command that it runs before it installs the packages."""


SERVICES = Root(
    packages=(
        "galera-4",
        "iproute2",
        "libfaketime",
        "mariadb-backup",
        "mariadb-client",
        "mariadb-server",
        "memcached",
        "procps",
        "prometheus",
        "prometheus-alertmanager",
        "prometheus-mysqld-exporter",
        "python3",
        "python3-pika",
        "python3-pymysql",
        "rabbitmq-server",
        "socat",
    ),
    programs=(
        "usr/sbin/mariadbd",
        "usr/bin/mariadb",
        "usr/bin/mariadb-backup",
        "usr/bin/wsrep_sst_mariabackup",
        "usr/lib/galera/libgalera_smm.so",
        "usr/sbin/rabbitmq-server",
        "usr/bin/memcached",
        "usr/bin/prometheus",
        "usr/bin/promtool",
        "usr/bin/prometheus-alertmanager",
        "usr/bin/amtool",
        "usr/bin/prometheus-mysqld-exporter",
        "usr/bin/python3",
    ),
)
CEPH = Root(
    packages=("ceph-common", "ceph-mgr", "ceph-mon", "ceph-osd", "iproute2", "procps", "python3", "radosgw"),
    programs=("usr/bin/ceph", "usr/bin/ceph-mgr", "usr/bin/ceph-mon", "usr/bin/ceph-osd", "usr/bin/radosgw"),
)
"""The root with Ceph. It is separate from the other services, because it is large."""
SWITCH = Root(
    packages=(
        "dnsmasq-base",
        "iproute2",
        "iputils-ping",
        "openvswitch-switch",
        "procps",
        "python3",
        "qemu-system-x86",
    ),
    programs=(
        "usr/lib/openvswitch-switch/ovs-vswitchd",
        "usr/sbin/ovsdb-server",
        "usr/bin/qemu-system-x86_64",
        "usr/sbin/dnsmasq",
    ),
)
"""The root with Open vSwitch and QEMU, for guests that talk through the switch."""
DNS = Root(packages=("bind9", "bind9-dnsutils"), programs=("usr/sbin/named", "usr/bin/dig"))
"""The root with BIND, which runs beside designate-mdns."""
NODE_EXPORTER = Root(
    packages=("openssl", "prometheus-node-exporter"),
    programs=("usr/bin/prometheus-node-exporter", "usr/bin/openssl"),
)
"""The root of a node with node-exporter, whose files Prometheus reads."""
OVN = Root(
    packages=(
        "busybox",
        "haproxy",
        "iproute2",
        "iptables",
        "iputils-ping",
        "openvswitch-switch",
        "ovn-central",
        "ovn-host",
        "procps",
        "python3",
    ),
    programs=(
        "usr/bin/busybox",
        "usr/bin/ovn-northd",
        "usr/bin/ovn-controller",
        "usr/sbin/haproxy",
        "usr/sbin/ovsdb-server",
        "usr/bin/ovs-appctl",
    ),
)
"""The root with the databases and controllers of OVN, and Open vSwitch; with haproxy for the metadata agent, and
busybox as the client of DHCP and metadata."""
JAVA = Root(
    packages=("iproute2", "openjdk-21-jre-headless", "passwd", "procps"),
    programs=("usr/lib/jvm/java-21-openjdk-amd64/bin/java",),
    # Java's package makes links to manual pages, and fails without their directory.
    hooks=('--essential-hook=mkdir -p "$1/usr/share/man/man1"',),
)
"""The root with Java, for OpenSearch (toolchain/opensearch_programs.py)."""
BARE_METAL = Root(
    packages=(
        "cpio",
        "dnsmasq-base",
        "dosfstools",
        "fdisk",
        "grub-common",
        "grub-efi-amd64-bin",
        "ipmitool",
        "iproute2",
        "iptables",
        "ipxe",
        "libvirt-clients",
        "libvirt-daemon",
        "libvirt-daemon-driver-qemu",
        "libvirt-daemon-driver-storage",
        "mtools",
        "ovmf",
        "procps",
        "python3-bcrypt",
        "python3-flask",
        "python3-libvirt",
        "python3-requests",
        "python3-tenacity",
        "python3-webob",
        "qemu-system-x86",
        "qemu-utils",
        "xorriso",
    ),
    programs=("usr/sbin/libvirtd", "usr/bin/qemu-system-x86_64", "usr/bin/qemu-img", "usr/bin/xorriso"),
)
"""The root with libvirt and QEMU for virtual BMCs, and with what Ironic's conductor makes images with."""
COMPUTES = Root(
    packages=(
        "busybox-static",
        "e2fsprogs",
        "iproute2",
        "libvirt-clients",
        "libvirt-daemon",
        "libvirt-daemon-driver-lxc",
        "libvirt-daemon-driver-qemu",
        "mount",
        "procps",
        "python3",
        "python3-libvirt",
        "qemu-system-x86",
        "qemu-utils",
    ),
    programs=("usr/sbin/libvirtd", "usr/lib/libvirt/libvirt_lxc", "usr/bin/qemu-system-x86_64", "usr/bin/python3"),
    suite="bookworm",
)
"""The root of computes with libvirt, QEMU and LXC. It is Debian 12, whose Python 3.11 runs a release's programs."""
RAMDISK = Root(
    packages=(
        "bsdextrautils",
        "busybox-static",
        "dmidecode",
        "dosfstools",
        "efibootmgr",
        "file",
        "gdisk",
        "hdparm",
        "iproute2",
        "kmod",
        "linux-image-cloud-amd64",
        "lshw",
        "parted",
        "pciutils",
        "psmisc",
        "python3",
        "qemu-utils",
        "udev",
        "util-linux",
        "util-linux-extra",
    ),
    programs=("usr/bin/python3", "usr/bin/busybox", "usr/bin/qemu-img", "usr/sbin/sgdisk"),
)
"""The root of the ramdisk with Ironic's agent."""
MACHINE = Root(
    packages=(
        "ca-certificates",
        "conntrack",
        "containerd",
        "containernetworking-plugins",
        "curl",
        "dbus",
        "ebtables",
        "ethtool",
        "iproute2",
        "iptables",
        "iputils-ping",
        "kmod",
        "mount",
        "nftables",
        "openssh-server",
        "procps",
        "python3",
        "runc",
        "socat",
        "sudo",
        "systemd",
        "systemd-container",
        "systemd-sysv",
        "xz-utils",
    ),
    programs=("usr/bin/containerd", "usr/bin/systemd-nspawn", "usr/lib/systemd/systemd", "usr/sbin/runc"),
    suite="bookworm",
)
"""The root of a machine in the machine lab. It is Debian 12, because newer releases of systemd do not boot on a host
with cgroup v1 only."""
NETWORK_IMAGES = Root(
    packages=("conntrack", "iptables", "kmod", "libnginx-mod-stream", "nftables", "nginx-light"),
    programs=("usr/sbin/nginx", "usr/sbin/nft"),
)
"""The root with the programs for the machine lab's images of nginx and kube-proxy."""
CALICO_IMAGE = Root(
    packages=("bird2", "conntrack", "ipset", "iproute2", "iptables", "kmod", "nftables", "procps", "runit"),
    programs=("usr/sbin/bird", "usr/sbin/ipset", "usr/bin/runsvdir"),
)
"""The root with the programs that calico-node starts."""
GUEST = Root(
    packages=(
        "cloud-init",
        "iproute2",
        "iputils-ping",
        "linux-image-cloud-amd64",
        "netplan.io",
        "openssh-server",
        "procps",
        "sudo",
        "systemd-resolved",
        "systemd-sysv",
    ),
    programs=("usr/bin/cloud-init", "usr/lib/systemd/systemd", "usr/sbin/sshd"),
    suite="bookworm",
)
"""The root of a virtual machine that libvirt defines, with a kernel and cloud-init (tests/trials/machines)."""
EMULATED_HOST = Root(
    packages=(
        "apt",
        "e2fsprogs",
        "iproute2",
        "kmod",
        "linux-image-cloud-amd64",
        "mount",
        "openssh-client",
        "procps",
        "python3",
        "systemd-sysv",
        "udev",
    ),
    programs=("usr/bin/python3", "usr/lib/systemd/systemd", "usr/sbin/mkfs.ext4"),
    suite="bookworm",
)
"""The root of a host of the machine lab, which mounts cgroup v2 only (tests/trials/machines). Its Python is 3.11."""
BARE = Root(
    packages=(
        "apt",
        "ca-certificates",
        "dbus",
        "iproute2",
        "kmod",
        "linux-image-cloud-amd64",
        "openssh-server",
        "openssl",
        "procps",
        "systemd-sysv",
        "udev",
    ),
    programs=("usr/lib/systemd/systemd", "usr/sbin/sshd"),
    suite="bookworm",
)
"""The root of a bare machine: Debian 12 as its images for clouds have it, with a kernel and sshd, and nothing of what a
node needs."""
SERVER_IMAGE = Root(
    packages=(*BARE.packages, "cloud-guest-utils", "cloud-init", "fdisk", "netplan.io", "systemd-resolved"),
    programs=(*BARE.programs, "usr/bin/cloud-init", "usr/bin/growpart"),
    suite=BARE.suite,
)
"""The root of the image that Ironic deploys on a machine of the stack: a bare machine's with cloud-init
(trials/bare_metal)."""
DEPLOYMENT = Root(
    packages=(
        "ca-certificates",
        "dbus",
        "git",
        "iproute2",
        "libpam-systemd",
        "make",
        "openssh-client",
        "openssh-server",
        "passwd",
        "procps",
        "python3",
        "python3-venv",
        "rsync",
        "systemd-container",
        "systemd-sysv",
    ),
    programs=("usr/bin/systemd-nspawn", "usr/lib/systemd/systemd", "usr/sbin/sshd", "usr/bin/rsync", "usr/bin/git"),
    suite="bookworm",
)
"""The root of another deployment machine: what docs/handover.md says that it needs, and systemd-nspawn, which runs it.
Its Python is 3.11."""
_OPTIONS = (
    "--variant=apt",
    '--aptopt=Apt::Install-Recommends "false"',
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")),
    # Removes the data that the packages create: with this data, a member would not join a cluster.
    '--customize-hook=rm -rf "$1"/var/lib/mysql/* "$1"/var/lib/rabbitmq/* "$1"/etc/mysql/my.cnf',
)
MMDEBSTRAP = ("unshare", "--mount", "--propagation", "private", "mmdebstrap")
"""Runs mmdebstrap with mounts of its own. It mounts /proc, /sys and parts of /dev in the root; if it is killed, they
are gone with it, and whoever deletes the unfinished root does not delete through them."""
_LIMIT = 1800
"""Timeout of apt-get in seconds."""


def ensure(reporter: Reporter, wanted: Root = SERVICES) -> Path:
    """Returns the directory of a Debian root; creates the root if the cache does not have it or it is damaged.

    Raises UserError if the root cannot be created.
    """
    cache = cache_directory(os.environ)
    home = cache / f"debian-{digest(wanted)}"
    if checksums.exist(home) and not checksums.damaged(home):
        return home / "root"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise UserError("a Debian root can be created only by root, on a machine with apt")
    with alone(cache / "debian", reporter):
        if checksums.exist(home) and (damaged := checksums.damaged(home)):
            reporter.say(f"Damaged files in {home}: {', '.join(damaged)}. Making it again.")
        if not checksums.exist(home) or checksums.damaged(home):
            _make(home, wanted, reporter)
    return home / "root"


def digest(wanted: Root = SERVICES) -> str:
    """Returns the digest of a root's description, which names the root. Clones with the same digest share the root."""
    facts = [wanted.suite, platform.machine(), *wanted.packages, *_OPTIONS, *wanted.hooks]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _make(home: Path, wanted: Root, reporter: Reporter) -> None:
    try:
        require_mmdebstrap(reporter)
        reporter.begin(f"Making a Debian root with {len(wanted.packages)} packages", "two to five minutes, once")
        with Unfinished(home) as partial:
            root = partial / "root"
            words = [*_OPTIONS, *wanted.hooks, f"--include={','.join(wanted.packages)}", wanted.suite, root, mirror()]
            run([*MMDEBSTRAP, *words], on_line=lambda line: reporter.tick(line[:80]))
            checksums.write(partial, [root / name for name in wanted.programs])
            finish(partial, home)
        reporter.end()
    except ProgramError as failure:
        raise UserError(f"The Debian root could not be made: {failure}\n{failure.tail()}") from None


def require_mmdebstrap(reporter: Reporter) -> None:
    """Installs mmdebstrap if it is not on PATH. Raises ProgramError if it cannot be installed."""
    if shutil.which("mmdebstrap"):
        return
    reporter.begin("Installing Debian's mmdebstrap", "half a minute")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "mmdebstrap"]):
        run(["apt-get", *words], environment=environment, timeout=_LIMIT)
    reporter.end()


def mirror() -> str:
    """Returns the URL of the Debian mirror that the machine's apt uses."""
    wanted = ["--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"]
    said = subprocess.run(["apt-get", "indextargets", *wanted], capture_output=True, text=True, check=False).stdout
    found = (line.partition(" ")[2] for line in said.splitlines() if line.startswith("Debian "))
    # The archive of security updates does not have this suite.
    return next((uri for uri in found if "security" not in uri), "http://deb.debian.org/debian")


def main() -> int:
    """`python -m toolchain.debian_root`: creates the root for database and message queue, and prints its directory."""
    reporter = Reporter()
    return exit_code(lambda: print(ensure(reporter)), reporter)


if __name__ == "__main__":
    sys.exit(main())
