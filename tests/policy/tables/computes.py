from policy.rules.computes import migrations_are_encrypted, nova_reserves_host
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, config_map, daemons, machine, machines, reading, requesting

reserves, encrypted = nova_reserves_host, migrations_are_encrypted


def computes(
    count: int = 2, cpu: object = 32, memory: object = 128, room: float = 128, cores: float = 32
) -> list[Given]:
    sized = {"cpu": cpu, "memory": memory, "allocatable": {"cpu": cores, "memory": room}}
    return [each.but(**sized) for each in machines("compute", count)]


def options(default: str, **nodes: str) -> list[Given]:
    """nova.conf with these options, and files of single nodes."""
    files = {f"{name.replace('_', '-')}.conf": text for name, text in nodes.items()}
    return [config_map("nova-kolla", {"nova.conf": default}), config_map("nova-nodes", files)]


def pinned(cpus: object, server: str = "compute-1") -> Given:
    """A virtual machine that is pinned to CPUs of its host, or whose definition is not known."""
    xml = f"<domain><cputune><vcpupin vcpu='0' cpuset='{cpus}'/></cputune></domain>"
    return machine("db1", "mysqld", server=server, definition={"domain.xml": cpus if cpus is UNKNOWN else xml})


NOVA = reading(
    requesting(daemons("nova-compute", "compute", row="nova-compute"), "1", "2Gi"), "nova-kolla", "nova-nodes"
)
AGENT = requesting(daemons("agent", "compute"), "500m", "1Gi")
BOTH = "[DEFAULT]\nreserved_host_memory_mb = 3072\nreserved_host_cpus = 2\n"


def moving(**files: object) -> list[Given]:
    """A DaemonSet that reads these files; `_` in a name is a dot."""
    texts = {name.replace("_", "."): text for name, text in files.items()}
    return [reading(daemons("mover", "compute"), "mover-files"), config_map("mover-files", texts)]


TLS = "[libvirt]\nlive_migration_scheme = tls\nlive_migration_with_native_tls = true\n"

CASES = (
    case(
        reserves, "as much as its pods request", cloud(), computes(), NOVA, AGENT, options(BOTH), passes="nova-compute"
    ),
    case(
        reserves,
        "Nova's defaults",
        cloud(),
        computes(1),
        NOVA,
        AGENT,
        options("[DEFAULT]\ndebug = false\n"),
        fails="nova-compute",
        message="reserves 512 MiB of memory on compute-1; expected 3072 MiB or more",
    ),
    case(
        reserves,
        "no core",
        cloud(),
        computes(1),
        NOVA,
        options("[DEFAULT]\nreserved_host_memory_mb = 9000\n"),
        fails="nova-compute",
        message="reserves 0.0 cores on compute-1; expected 1.0 or more",
    ),
    case(
        reserves,
        "a virt host that keeps no more than the others",
        cloud(),
        computes(1, room=76, cores=8),
        NOVA,
        options(BOTH),
        fails="nova-compute",
        message="reserves 3072 MiB of memory on compute-1; expected 55296 MiB or more",
    ),
    case(
        reserves,
        "a virt host with a reserve of its own",
        cloud(),
        computes(1, room=76, cores=8),
        NOVA,
        options(BOTH, compute_1="[DEFAULT]\nreserved_host_memory_mb = 55424\nreserved_host_cpus = 26\n"),
        passes="nova-compute",
    ),
    case(
        reserves,
        "CPUs of tenants named",
        cloud(),
        computes(),
        NOVA,
        options("[DEFAULT]\nreserved_host_memory_mb = 3072\n[compute]\ncpu_shared_set = 2-31,^5\n"),
        passes="nova-compute",
    ),
    case(
        reserves,
        "all CPUs named",
        cloud(),
        computes(1),
        NOVA,
        options("[DEFAULT]\nreserved_host_memory_mb = 3072\n[compute]\ncpu_shared_set = 0-31\n"),
        fails="nova-compute",
        message="reserves 0.0 cores",
    ),
    case(
        reserves,
        "CPUs of tenants beside a pinned machine",
        cloud(),
        computes(1),
        pinned("8-9"),
        NOVA,
        options("[DEFAULT]\nreserved_host_memory_mb = 3072\n[compute]\ncpu_shared_set = 2-7,10-31\n"),
        passes="nova-compute",
    ),
    case(
        reserves,
        "CPUs of a pinned machine for tenants",
        cloud(),
        computes(1),
        pinned("8-9"),
        NOVA,
        options("[DEFAULT]\nreserved_host_memory_mb = 3072\n[compute]\ncpu_shared_set = 2-8\n"),
        fails="nova-compute",
        message="gives tenants CPUs to which db1 is pinned on compute-1; expected cpu_shared_set without these CPUs",
    ),
    case(
        reserves,
        "a pinned machine, and all CPUs for tenants",
        cloud(),
        computes(1),
        pinned("8-9"),
        NOVA,
        options(BOTH),
        fails="nova-compute",
        message="gives tenants CPUs to which db1 is pinned on compute-1",
    ),
    case(
        reserves,
        "a pinned machine on another host",
        cloud(),
        computes(1),
        pinned("8-9", server="virt-1"),
        NOVA,
        options(BOTH),
        passes="nova-compute",
    ),
    case(
        reserves,
        "a machine of an unknown definition",
        cloud(),
        computes(1),
        pinned(UNKNOWN),
        NOVA,
        options(BOTH),
        undecided="nova-compute",
    ),
    case(
        reserves,
        "a small node, whose tenants have a GiB and a core",
        cloud(),
        computes(1, cpu=2, memory=3, room=3, cores=2),
        NOVA,
        AGENT,
        options("[DEFAULT]\nreserved_host_memory_mb = 2048\nreserved_host_cpus = 1\n"),
        passes="nova-compute",
    ),
    case(reserves, "nodes of an unknown size", cloud(), machine("compute-1", "compute"), NOVA, options(BOTH)),
    case(reserves, "without its configuration", cloud(), computes(), NOVA),
    case(
        reserves,
        "unknown configuration",
        cloud(),
        computes(),
        NOVA,
        options(UNKNOWN),
        undecided="nova-compute",  # pyright: ignore[reportArgumentType]
    ),
    case(
        reserves,
        "no number",
        cloud(),
        computes(),
        NOVA,
        options("[DEFAULT]\nreserved_host_memory_mb = 4Gi\n"),
        undecided="nova-compute",
        message="a reserve of nova-compute is '4Gi', not a whole number",
    ),
    case(
        encrypted, "libvirt with TLS", cloud(), moving(libvirtd_conf="listen_tcp = 0\nlisten_tls = 1\n"), passes="mover"
    ),
    case(encrypted, "Nova with TLS", cloud(), moving(nova_conf=TLS), passes="mover"),
    case(
        encrypted,
        "a URI with TLS",
        cloud(),
        moving(
            nova_conf="[libvirt]\nlive_migration_uri = qemu+tls://%s/system\nlive_migration_with_native_tls = True\n"
        ),
        passes="mover",
    ),
    case(
        encrypted,
        "libvirt's TCP port",
        cloud(),
        moving(libvirtd_conf='listen_tls = 0\nlisten_tcp = 1\nauth_tcp = "none"\n'),
        fails="mover",
        message="libvirtd.conf has listen_tcp = 1; expected 0",
    ),
    case(
        encrypted,
        "clients without a certificate",
        cloud(),
        moving(libvirtd_conf='tls_no_verify_certificate = "1"\n'),
        fails="mover",
        message="libvirtd.conf accepts clients without a certificate",
    ),
    case(
        encrypted,
        "migrations by TCP",
        cloud(),
        moving(nova_conf=TLS.replace("= tls", "= tcp")),
        fails="mover",
        message="nova.conf migrates by tcp; expected live_migration_scheme = tls",
    ),
    case(
        encrypted,
        "a URI with TCP",
        cloud(),
        moving(nova_conf="[libvirt]\nlive_migration_uri = qemu+tcp://%s/system\n"),
        fails="mover",
        message="nova.conf migrates by tcp",
    ),
    case(
        encrypted,
        "libvirt with TLS, the memory without",
        cloud(),
        moving(nova_conf=TLS.replace("true", "false")),
        fails="mover",
        message="sends the memory of virtual machines without TLS",
    ),
    case(encrypted, "Nova without a transport", cloud(), moving(nova_conf="[libvirt]\nvirt_type = kvm\n")),
    case(encrypted, "a text that is not known", cloud(), moving(libvirtd_conf=UNKNOWN), undecided="mover"),
)
