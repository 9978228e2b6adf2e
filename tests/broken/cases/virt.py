"""Broken stacks with virtual machines as nodes: a production stack on three virt hosts."""

from __future__ import annotations

from collections.abc import Callable

from tests.broken.broken import Broken, Props


def said(**facts: object) -> Callable[[Props], None]:
    """Returns a change of facts of a component or a machine."""

    def break_(props: Props) -> None:
        assert props.keys() >= facts.keys()
        props.update(facts)

    return break_


def with_another_guest(props: Props) -> None:
    """Adds another host's virtual machine to a virt host."""
    props["vms"] = [*props["vms"], {"node": "messaging2", "cpu": 16, "memory": 64, "roles": ["controller"]}]


def in_domain(old: str, new: str) -> Callable[[Props], None]:
    """Returns a change that replaces a text in a virtual machine's libvirt domain."""

    def break_(props: Props) -> None:
        domain = props["definition"]["domain.xml"]
        assert old in domain, f"{old} is not in the domain"
        props["definition"]["domain.xml"] = domain.replace(old, new)

    return break_


CASES = [
    Broken(
        "a virt host that is a controller too",
        (("VirtHost", "cloud-virt1", said(hostRoles=["virt", "controller"])),),
        {"virt-mixes-with-compute-only": {"cloud-virt1"}},
        stack="virt",
    ),
    Broken(
        "virtual machines that were not asked for",
        (("Cloud", "cloud", said(features=[])),),
        {"virt-is-asked-for": {"cloud"}},
        stack="virt",
    ),
    Broken(
        "disclaimers that were not read",
        (("Cloud", "cloud", said(acknowledged=["performance"])),),
        {"virt-disclaimers-acknowledged": {"cloud"}},
        stack="virt",
    ),
    Broken(
        "an emulated member of Galera",
        (("Machine", "cloud-virt2-database2", in_domain("type='kvm'", "type='qemu'")),),
        {"hypervisor-known": {"cloud-virt2"}},
        stack="virt",
    ),
    Broken(
        "a domain with half of its memory",
        (("Machine", "cloud-virt2-database2", in_domain(">199808<", ">99904<")),),
        {"domain-gives-what-is-said": {"cloud-virt2-database2"}},
        stack="virt",
    ),
    Broken(
        "virtual machines larger than their host",
        (("VirtHost", "cloud-virt3", said(hostMemory=304)),),
        {"vms-fit-their-host": {"cloud-virt3"}},
        stack="virt",
    ),
    Broken(
        "two nodes of a pool on one virt host",
        (("VirtHost", "cloud-virt1", with_another_guest),),
        {"controllers-on-different-servers": {"cloud-virt1"}, "server-label-is-true": {"cloud-virt2-messaging2"}},
        stack="virt",
    ),
    Broken(
        "computes that are controllers",
        (("MachinePool", "cloud-compute-24c-256g", said(roles=["compute", "controller"])),),
        {"one-role-per-machine": {"cloud-compute-24c-256g"}},
    ),
    Broken(
        "a master tier without etcd",
        (("Etcd", "cloud-masters-etcd", said(members=[])),),
        {"cluster-has-etcd": {"cloud-masters"}, "etcd-size": {"cloud-masters-etcd"}},
    ),
]
