from dataclasses import replace

from policy.rules.virt import (
    controllers_on_different_servers,
    one_role_per_machine,
    virt_disclaimers_acknowledged,
    virt_is_asked_for,
    virt_mixes_with_compute_only,
    vms_fit_their_host,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, machine, machine_pool, masters

mixes, one_role, asked, acknowledged, apart, fit = (
    virt_mixes_with_compute_only,
    one_role_per_machine,
    virt_is_asked_for,
    virt_disclaimers_acknowledged,
    controllers_on_different_servers,
    vms_fit_their_host,
)

BOTH = ["virt", "compute"]


def host(
    name: str = "virt1",
    *guests: str,
    roles: object = BOTH,
    hypervisor: object = "kvm",
    cpu: int = 32,
    memory: int = 128,
    each: tuple[object, object] = (4, 16),
    protected: bool = False,
) -> Given:
    """A virt host; each of its guests takes `each`: CPUs and GiB."""
    vms = [{"node": guest, "cpu": each[0], "memory": each[1]} for guest in guests]
    props: dict[str, object] = {"server": name, "hypervisor": hypervisor, "vms": vms}
    props |= {"hostCpu": cpu, "hostMemory": memory, "hostRoles": roles}
    return Given("quorate:virt:VirtHost", name, props, protected)


def guest(name: str = "db1", pool: str = "mysqld", xml: object = None, server: str = "virt1") -> Given:
    """A virtual machine with its libvirt domain."""
    definition = {} if xml is None else {"domain.xml": xml}
    made = machine(name, pool, server=server, definition=definition)
    return replace(made, props={**made.props, "cpu": 8, "memory": 16})


CASES = (
    case(mixes, "with compute", host("virt1"), host("virt2", roles=["virt"]), passes="virt1 virt2"),
    case(
        mixes,
        "with controller",
        host(roles=["virt", "controller"]),
        fails="virt1",
        message="roles are controller, virt; expected virt, or virt and compute",
    ),
    case(
        mixes,
        "the machine on it is a master",
        host("virt1", "a"),
        machine("virt1", "master", roles=["master"]),
        machine("a", "mysqld", server="virt1"),
        fails="virt1",
    ),
    case(mixes, "no virt host", masters()),
    case(mixes, "unknown roles", host(roles=UNKNOWN), undecided="virt1", message="hostRoles of virt1"),
    case(
        one_role,
        "compute alone, and on a virt host",
        machine_pool("compute"),
        machine("virt1", "compute", roles=["virt", "compute"]),
        passes="computes virt1",
    ),
    case(
        one_role,
        "a controller that is a compute",
        machine("ctl1", "compute", roles=["compute", "controller"]),
        fails="ctl1",
        message="roles are compute, controller; expected compute, or compute and virt",
    ),
    case(one_role, "no compute", masters()),
    case(one_role, "unknown roles", masters(1), machine_pool("compute", roles=UNKNOWN), undecided="computes"),
    case(asked, "asked for", cloud(features=["reduced-footprint"]), host("virt1", "a"), passes="cloud"),
    case(
        asked,
        "not asked for",
        cloud(),
        host("virt1", "a"),
        fails="cloud",
        message="quorate:features is empty; expected reduced-footprint",
    ),
    case(asked, "an empty virt host", cloud(), host("virt1")),
    case(asked, "no virt host", cloud()),
    case(asked, "unknown features", cloud(features=UNKNOWN), host("virt1", "a"), undecided="cloud"),
    case(
        acknowledged,
        "both",
        cloud(acknowledged=["performance", "security"]),
        host("virt1", "a"),
        passes="cloud",
    ),
    case(
        acknowledged,
        "one of them",
        cloud(acknowledged=["security"]),
        host("virt1", "a"),
        fails="cloud",
        message="performance not acknowledged; expected quorate:acknowledged: [performance, security]",
    ),
    case(
        acknowledged,
        "containers share a kernel",
        cloud(acknowledged=["performance", "security"]),
        host("virt1", "a", hypervisor="lxc"),
        fails="cloud",
        message="isolation not acknowledged",
    ),
    case(acknowledged, "a lab", cloud(profile="lab"), host("virt1", "a")),
    case(acknowledged, "servers alone", cloud()),
    case(acknowledged, "unknown", cloud(acknowledged=UNKNOWN), host("virt1", "a"), undecided="cloud"),
    case(
        apart,
        "each on another host",
        host("virt1", "db1"),
        host("virt2", "db2"),
        guest("db1"),
        guest("db2", server="virt2"),
        passes="virt1 virt2",
    ),
    case(
        apart,
        "several pools on one host",
        host("virt1", "db1", "mq1"),
        guest("db1"),
        guest("mq1", "rabbitmq"),
        passes="virt1",
    ),
    case(
        apart,
        "two of a pool",
        host("virt1", "db1", "db2"),
        guest("db1"),
        guest("db2"),
        fails="virt1",
        message="carries db1, db2 of pool mysqld; expected one node of a pool per host",
    ),
    case(apart, "an empty host", host("virt1")),
    case(apart, "unknown guests", host("virt1").but(vms=UNKNOWN), undecided="virt1"),
    case(fit, "with room", host("virt1", "a", "b", memory=36), passes="virt1"),
    case(
        fit,
        "without the host's own reserve",
        host("virt1", "a", "b", memory=35),
        fails="virt1",
        message="virtual machines take 32 GiB of 35; expected at most 31 GiB",
    ),
    case(
        fit,
        "more CPUs than there are",
        host("virt1", "a", "b", cpu=7),
        fails="virt1",
        message="virtual machines take 8 CPUs of 7; expected at most 7",
    ),
    case(fit, "an empty host", host("virt1")),
    case(fit, "unknown memory", host("virt1", "a", each=(4, UNKNOWN)), undecided="virt1"),
)
