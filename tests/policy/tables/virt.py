from dataclasses import replace

from policy.rules.virt import (
    controllers_on_different_servers,
    domain_gives_what_is_said,
    domains_on_different_hypervisors,
    hypervisor_known,
    one_role_per_machine,
    virt_disclaimers_acknowledged,
    virt_host_is_protected,
    virt_is_asked_for,
    virt_mixes_with_compute_only,
    vms_fit_their_host,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, etcd, machine, machine_pool, masters, stack

mixes, one_role, asked, acknowledged, known, protected, apart, fit, gives = (
    virt_mixes_with_compute_only,
    one_role_per_machine,
    virt_is_asked_for,
    virt_disclaimers_acknowledged,
    hypervisor_known,
    virt_host_is_protected,
    controllers_on_different_servers,
    vms_fit_their_host,
    domain_gives_what_is_said,
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


def domain(protected: bool = False, **props: object) -> Given:
    """A libvirt domain by hand."""
    return Given("libvirt:index/domain:Domain", "vm", {"name": "vm", "memory": 4096, "vcpu": 2, **props}, protected)


def tier(*hypervisors: str) -> list[Given]:
    """libvirt domains ctl-1, ctl-2, …, each on the hypervisor of its provider."""
    return [
        replace(domain(name=f"ctl-{number}"), name=f"ctl-{number}", provider=uri)
        for number, uri in enumerate(hypervisors, start=1)
    ]


def guest(name: str = "db1", pool: str = "mysqld", xml: object = None, server: str = "virt1") -> Given:
    """A virtual machine with its libvirt domain."""
    definition = {} if xml is None else {"domain.xml": xml}
    made = machine(name, pool, server=server, definition=definition)
    return replace(made, props={**made.props, "cpu": 8, "memory": 16})


VOTER = [etcd()]
"""Members on master-1, master-2 and master-3."""
tiers = domains_on_different_hypervisors

XML = "<domain type='{type}'><name>{name}</name><memory unit='{unit}'>{memory}</memory><vcpu>{cpu}</vcpu></domain>"


def xml(**values: object) -> str:
    return XML.format(**{"type": "kvm", "name": "db1", "unit": "GiB", "memory": 16, "cpu": 8, **values})


CASES = (
    case(
        tiers,
        "a hypervisor for each",
        tier("qemu+ssh://h1/system", "qemu+ssh://h2/system", "qemu+ssh://h3/system"),
        passes="ctl-1 ctl-2 ctl-3",
    ),
    case(
        tiers,
        "three on one hypervisor through one provider",
        tier("qemu+ssh://h1/system", "qemu+ssh://h1/system", "qemu+ssh://h1/system"),
        fails="ctl-1 ctl-2 ctl-3",
        message="shares its hypervisor with ctl-2, ctl-3; expected a hypervisor for each",
    ),
    case(tiers, "two small virtual machines", tier("qemu:///system", "qemu:///system")),
    case(tiers, "unknown name", tier("a", "a"), domain(name=UNKNOWN), undecided="ctl-1 ctl-2 vm"),
    case(protected, "an unrelated virtual machine", masters(), etcd(), domain()),
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
        known,
        "the three",
        host("virt1"),
        host("virt2", hypervisor="lxc"),
        host("virt3", hypervisor="container"),
        domain(),
        passes="virt1 virt2 virt3 vm",
    ),
    case(
        known,
        "emulated, by hand",
        domain(type="qemu"),
        fails="vm",
        message="hypervisor is qemu; expected kvm, lxc or container",
    ),
    case(
        known,
        "unheard of",
        host(hypervisor="xen"),
        fails="virt1",
        message="hypervisor is xen; expected kvm, lxc or container",
    ),
    case(
        known,
        "a guest that is another thing than its host says",
        host("virt1", "db1"),
        guest(xml=xml(type="qemu")),
        fails="virt1",
        message="domain of db1 has type qemu; expected kvm",
    ),
    case(known, "the same as its host", host("virt1", "db1"), guest(xml=xml()), passes="virt1"),
    case(known, "no virtual machine", masters()),
    case(known, "an unknown type", domain(type=UNKNOWN), undecided="vm"),
    case(
        protected, "protected", VOTER, host(protected=True), domain(protected=True, name="master-1"), passes="virt1 vm"
    ),
    case(
        protected,
        "not",
        VOTER,
        host(),
        domain(name="master-1"),
        fails="virt1 vm",
        message="not protected; expected the resource option protect=True",
    ),
    case(protected, "a lab", cloud(profile="lab"), host(), domain()),
    case(protected, "no virt host", cloud()),
    case(protected, "unknown profile", cloud(profile=UNKNOWN), host(), undecided="virt1"),
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
    case(gives, "what is said", guest(xml=xml()), passes="db1"),
    case(gives, "in another unit", guest(xml=xml(unit="KiB", memory=16 * 2**20)), passes="db1"),
    case(
        gives,
        "less memory",
        guest(xml=xml(memory=8)),
        fails="db1",
        message="domain has 8 GiB of memory; expected 16 GiB",
    ),
    case(
        gives,
        "a template that leaves the CPUs out",
        guest(xml="<domain type='kvm'><name>db1</name><memory unit='GiB'>16</memory></domain>"),
        fails="db1",
        message="domain sets no CPU count; expected 8",
    ),
    case(
        gives,
        "an empty value",
        guest(xml=xml(memory="")),
        fails="db1",
        message="domain has 0 GiB of memory; expected 16 GiB",
    ),
    case(gives, "another's name", guest(xml=xml(name="db2")), fails="db1", message="domain name is db2; expected db1"),
    case(
        gives,
        "no XML",
        guest(xml="{ram}"),
        fails="db1",
        message="domain.xml is not valid XML; expected a libvirt domain",
    ),
    case(gives, "no domain", guest(), stack()),
    case(gives, "an unknown domain", guest(xml=UNKNOWN), undecided="db1"),
)
