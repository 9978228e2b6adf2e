from policy.rules.storage import members_volumes_keep_data, mounts_keep_barriers, virtual_disks_flush
from tests.policy.cases import case
from tests.policy.tables.commands import ssh
from tests.policy.world import UNKNOWN, Given, Props, daemons, machine, quorum, workload

disks, mounts, volumes = virtual_disks_flush, mounts_keep_barriers, members_volumes_keep_data

DISK = "<domain><devices><disk type='file'><driver name='qemu' cache='{}'/></disk></devices></domain>"
XSLT = '<xsl:template match="driver"><xsl:copy><xsl:attribute name="cache">{}</xsl:attribute></xsl:copy></xsl:template>'


def vm(cache: str) -> Given:
    """A virtual machine with this cache of its disk."""
    return machine("m1", "master", definition={"domain.xml": DISK.format(cache)})


def domain(**xml: object) -> Given:
    """A hand-written libvirt domain."""
    return Given("libvirt:index/domain:Domain", "etcd1", {"name": "etcd1", **({"xml": xml} if xml else {})})


def mounted(path: str, text: object) -> Given:
    """A machine with a file that mounts a file system."""
    return machine("m1", "master", files={path: text})


def volume(number: int = 1, **spec: object) -> Given:
    """A PersistentVolume of the storage class `local`."""
    fields = {"storageClassName": "local", "local": {"path": f"/var/lib/data/{number}"}, **spec}
    given = {key: value for key, value in fields.items() if value is not None}
    return Given(
        "kubernetes:core/v1:PersistentVolume", f"v{number}", {"metadata": {"name": f"v{number}"}, "spec": given}
    )


def storage_class(**fields: object) -> Given:
    return Given("kubernetes:storage.k8s.io/v1:StorageClass", "local", {"metadata": {"name": "local"}, **fields})


MEMORY = "/dev/shm"  # noqa: S108 - a file system in memory, which the rule must find
CLAIM: Props = {"metadata": {"name": "data"}, "spec": {"storageClassName": "local"}}
MEMBERS = quorum().but(spec__volumeClaimTemplates=[CLAIM])


def on_node(path: str) -> Given:
    """A quorum whose data is in a directory of the node."""
    given = daemons("rabbitmq", "rabbitmq", row="rabbitmq-server")
    return given.but(spec__template__spec__volumes=[{"name": "data", "hostPath": {"path": path}}])


MASTER = machine("m1", "master").but(address="10.0.0.1")

CASES = (
    case(disks, "flushes are obeyed", vm("none"), domain(), domain(xslt=XSLT.format("writeback")), passes="m1 etcd1"),
    case(
        disks,
        "flushes are ignored, in a template",
        vm("unsafe"),
        fails="m1",
        message="a disk has cache='unsafe', so that the host ignores flushes, or is transient; expected any other",
    ),
    case(disks, "flushes are ignored, by XSLT", domain(xslt=XSLT.format("unsafe")), fails="etcd1"),
    case(
        disks,
        "flushes are ignored, by a command on the host",
        MASTER,
        ssh("tune", "sed -i s/none/unsafe/ /etc/libvirt/qemu/m2.xml", "10.0.0.1"),
        ssh("make", f"cat > /etc/libvirt/qemu/m2.xml <<'END'\n{DISK.format('unsafe')}\nEND", "10.0.0.1"),
        fails="m1",
    ),
    case(disks, "a transient disk", domain(xslt="<transient/>"), fails="etcd1"),
    case(disks, "no virtual machine", machine("m1", "master")),
    case(disks, "an unknown transformation", domain(xslt=UNKNOWN), undecided="etcd1"),
    case(mounts, "barriers", mounted("/etc/fstab", "/dev/sdb /var/lib/etcd ext4 noatime 0 2\n"), passes="m1"),
    case(
        mounts,
        "no barriers, and a comment",
        mounted("/etc/fstab", "# nobarrier\n/dev/sdb /var/lib/etcd ext4 noatime,nobarrier 0 2\n"),
        fails="m1",
        message="/etc/fstab mounts a file system with nobarrier; expected write barriers (the default)",
    ),
    case(
        mounts,
        "no barriers, in a unit",
        mounted("/etc/systemd/system/var-lib-etcd.mount", "[Mount]\nOptions=noatime,barrier=0\n"),
        fails="m1",
    ),
    case(
        mounts,
        "no barriers, by a command",
        MASTER,
        ssh("tune", "mount -o remount,nobarrier /var/lib/etcd", "10.0.0.1"),
        fails="m1",
        message="mount command (tune) mounts a file system with nobarrier",
    ),
    case(
        mounts,
        "a line that a command appends",
        MASTER,
        ssh("tune", "echo '/dev/sdb /var/lib/etcd xfs nobarrier 0 0' | tee -a /etc/fstab; mount -a", "m1"),
        fails="m1",
    ),
    case(
        mounts,
        "data in memory",
        MASTER,
        ssh("tune", "mount -t tmpfs -o size=8g tmpfs /var/lib/etcd", "10.0.0.1"),
        fails="m1",
        message="mounts /var/lib/etcd in memory; expected a disk of the machine",
    ),
    case(mounts, "memory by a bind mount", mounted("/etc/fstab", f"{MEMORY} /var/lib/etcd none bind\n"), fails="m1"),
    case(
        mounts,
        "data on a file server",
        mounted("/etc/systemd/system/var-lib-etcd.mount", "What=nas:/e\nWhere=/var/lib/etcd\nType=nfs\n"),
        fails="m1",
        message="mounts /var/lib/etcd on the network",
    ),
    case(
        mounts,
        "memory by a command on a host that no component declares",
        ssh("tune", "echo 'tmpfs /var/lib/etcd tmpfs size=8g 0 0' >> /etc/fstab && mount -a", "h1"),
        fails="tune",
        message="/etc/fstab (tune) mounts /var/lib/etcd in memory",
    ),
    case(
        mounts,
        "a disk that gets no flush",
        MASTER,
        ssh("tune", "echo 'write through' > /sys/block/sda/queue/write_cache", "10.0.0.1"),
        fails="m1",
        message="is write through, so that no flush is sent",
    ),
    case(
        mounts,
        "memory and a file server elsewhere",
        MASTER,
        ssh("tune", "mount -t tmpfs none /mnt/a; mount -t nfs nas:/backup /backup; mount /dev/sdb /data", "10.0.0.1"),
        passes="m1",
    ),
    case(mounts, "no mount", machine("m1", "master", files={"/etc/hosts": "nobarrier"})),
    case(mounts, "an unknown file", mounted("/etc/fstab", UNKNOWN), undecided="m1"),
    case(
        volumes,
        "local volumes that are retained",
        MEMBERS,
        volume(),
        storage_class(reclaimPolicy="Retain", mountOptions=["noatime"]),
        passes="rabbitmq",
    ),
    case(
        volumes,
        "volumes in memory",
        MEMBERS,
        volume(local={"path": f"{MEMORY}/data"}),
        fails="rabbitmq",
        message="its data is in /dev/shm/data, which is empty after a restart of the node; expected a directory",
    ),
    case(volumes, "a directory in memory", on_node("/run/rabbitmq"), fails="rabbitmq"),
    case(volumes, "a directory whose name begins alike", on_node("/runner/rabbitmq"), passes="rabbitmq"),
    case(
        volumes,
        "one NFS server",
        MEMBERS,
        *(volume(number, local=None, nfs={"server": "nas", "path": f"/{number}"}) for number in (1, 2, 3)),
        fails="rabbitmq",
        message="3 of its volumes are on one server, nas",
    ),
    case(
        volumes,
        "one server of block devices",
        MEMBERS,
        *(volume(number, local=None, iscsi={"targetPortal": "10.0.0.9:3260"}) for number in (1, 2, 3)),
        fails="rabbitmq",
    ),
    case(
        volumes,
        "a class of one NFS server",
        MEMBERS,
        storage_class(provisioner="nfs.csi.k8s.io", reclaimPolicy="Retain"),
        fails="rabbitmq",
        message="StorageClass local makes all volumes on one server (nfs.csi.k8s.io)",
    ),
    case(
        volumes,
        "memory below a local volume",
        MEMBERS,
        volume(),
        mounted("/etc/fstab", "tmpfs /var/lib/data tmpfs size=9g 0 0\n"),
        fails="rabbitmq",
        message="its data is in /var/lib/data/1, which machine m1 mounts in memory",
    ),
    case(
        volumes,
        "a disk below a local volume",
        MEMBERS,
        volume(),
        mounted("/etc/fstab", "/dev/sdb /var/lib/data xfs noatime 0 0\ntmpfs /mnt tmpfs size=9g 0 0\n"),
        passes="rabbitmq",
    ),
    case(
        volumes,
        "three NFS servers",
        MEMBERS,
        *(volume(number, local=None, nfs={"server": f"nas{number}", "path": "/"}) for number in (1, 2, 3)),
        passes="rabbitmq",
    ),
    case(
        volumes,
        "a volume that goes with its claim",
        MEMBERS,
        volume(persistentVolumeReclaimPolicy="Delete"),
        fails="rabbitmq",
        message="volume v1 has persistentVolumeReclaimPolicy Delete; expected Retain",
    ),
    case(volumes, "a class whose volumes go", MEMBERS, storage_class(reclaimPolicy="Delete"), fails="rabbitmq"),
    case(volumes, "a class without barriers", MEMBERS, storage_class(mountOptions=["nobarrier"]), fails="rabbitmq"),
    case(volumes, "read-only for its node", MEMBERS, volume(mountOptions=["ro"]), fails="rabbitmq"),
    case(volumes, "read-only for every node", MEMBERS, volume(accessModes=["ReadOnlyMany"]), fails="rabbitmq"),
    case(
        volumes,
        "read-only by its driver",
        MEMBERS,
        volume(local=None, csi={"readOnly": True}),
        fails="rabbitmq",
        message="volume v1 is read-only (csi)",
    ),
    case(volumes, "nothing is known of its volumes, or it is not a quorum", quorum(), workload("keystone")),
    case(volumes, "an unknown policy", MEMBERS, storage_class(reclaimPolicy=UNKNOWN), undecided="rabbitmq"),
)
