from policy.rules.storage import members_volumes_keep_data, mounts_keep_barriers, virtual_disks_flush
from tests.policy.cases import case
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


CASES = (
    case(disks, "flushes are obeyed", vm("none"), domain(), domain(xslt=XSLT.format("writeback")), passes="m1 etcd1"),
    case(
        disks,
        "flushes are ignored, in a template",
        vm("unsafe"),
        fails="m1",
        message="a disk has cache='unsafe', so that the host ignores flushes; expected any other cache mode",
    ),
    case(disks, "flushes are ignored, by XSLT", domain(xslt=XSLT.format("unsafe")), fails="etcd1"),
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
        message="3 of its volumes are on one NFS server, nas",
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
    case(volumes, "nothing is known of its volumes, or it is no quorum", quorum(), workload("keystone")),
    case(volumes, "an unknown policy", MEMBERS, storage_class(reclaimPolicy=UNKNOWN), undecided="rabbitmq"),
)
