from dataclasses import replace

from policy.rules.libvirt_domains import (
    domain_gives_what_is_said,
    domains_on_different_hypervisors,
    hypervisor_known,
    virt_host_is_protected,
    virtual_voters_come_back,
)
from tests.policy.cases import case
from tests.policy.tables.virt import guest, host
from tests.policy.world import UNKNOWN, Given, cloud, etcd, masters, stack

known, protected, tiers, gives, back = (
    hypervisor_known,
    virt_host_is_protected,
    domains_on_different_hypervisors,
    domain_gives_what_is_said,
    virtual_voters_come_back,
)


def domain(protected: bool = False, **props: object) -> Given:
    """A libvirt domain by hand."""
    return Given("libvirt:index/domain:Domain", "vm", {"name": "vm", "memory": 4096, "vcpu": 2, **props}, protected)


def tier(*hypervisors: str) -> list[Given]:
    """libvirt domains ctl-1, ctl-2, …, each on the hypervisor of its provider."""
    return [
        replace(domain(name=f"ctl-{number}"), name=f"ctl-{number}", provider=uri)
        for number, uri in enumerate(hypervisors, start=1)
    ]


VOTER = [etcd()]
"""Members on master-1, master-2 and master-3."""

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
    case(
        tiers,
        "two on one hypervisor, which two URIs name",
        tier(
            "qemu+ssh://root@10.20.0.11/system",
            "qemu+ssh://deploy@10.20.0.11:22/system?keyfile=/home/deploy/.ssh/id&no_verify=1",
            "qemu+tls://h3/system",
        ),
        passes="ctl-3",
        fails="ctl-1 ctl-2",
        message="shares its hypervisor with ctl-2; expected a hypervisor for each",
    ),
    case(tiers, "two small virtual machines", tier("qemu:///system", "qemu:///system")),
    case(back, "autostart", VOTER, domain(name="master-1", autostart=True), passes="vm"),
    case(
        back,
        "libvirt's default",
        VOTER,
        domain(name="master-1"),
        fails="vm",
        message="autostart is off; expected autostart=True",
    ),
    case(
        back,
        "left over from an installer",
        VOTER,
        domain(
            name="master-1", autostart=True, xml={"xslt": "<on_reboot>destroy</on_reboot><on_crash>restart</on_crash>"}
        ),
        fails="vm",
        message="on_reboot is destroy; expected coredump-restart, restart",
    ),
    case(back, "no voter", VOTER, domain()),
    case(back, "unknown autostart", VOTER, domain(name="master-1", autostart=UNKNOWN), undecided="vm"),
    case(tiers, "unknown name", tier("a", "a"), domain(name=UNKNOWN), undecided="ctl-1 ctl-2 vm"),
    case(protected, "an unrelated virtual machine", masters(), etcd(), domain()),
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
    case(gives, "what is said", guest(xml=xml()), passes="db1"),
    *(
        case(gives, f"in {unit}", guest(xml=xml(unit=unit, memory=16 * many)), passes="db1")
        for unit, many in {"b": 2**30, "KiB": 2**20, "k": 2**20, "MiB": 2**10, "M": 2**10, "G": 1}.items()
    ),
    *(
        case(gives, f"in {unit}", guest(xml=xml(unit=unit, memory=1)), fails="db1", message="has 1024 GiB of memory")
        for unit in ("TiB", "T")
    ),
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
