"""Every bad input gets one clear message: which key, what is wrong, what to write (issue 3, section 5)."""

from __future__ import annotations

import gc
import json
import runpy
import signal
import subprocess
import sys
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi import runtime

from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile import reader
from blueprint.stackfile.loader import from_pulumi, load_file
from commands import command_line
from files import atomic, yaml_reader
from tests.stacks import ROOT, STACKS, full_size, server, write


def refusal(path: Path) -> list[str]:
    with pytest.raises(InvalidStackError) as caught:
        plan(load_file(path))
    return [str(problem) for problem in caught.value.problems]


def vm(number: int, roles: list[str], **facts: Any) -> dict[str, Any]:
    return {"id": number, "cpu": 4, "ram": 8, "address": f"10.20.9.{number + 1}", "roles": roles, **facts}


def with_server(extra: dict[str, Any], **more: Any) -> dict[str, Any]:
    stack = full_size("100", **more)
    stack["servers"].append(extra)
    return stack


WAIVER = {
    "rule": "galera-size",
    "resource": "cloud-openstack-mariadb-mysqld",
    "reason": "a move",
    "owner": "Ada",
    "expires": "2027-01-31",
}


def waived(**changes: Any) -> dict[str, Any]:
    return {**full_size("100"), "waivers": [WAIVER, {**WAIVER, **changes}]}


HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGXqs8CyFbxQiLxeSStFVrwAOGXvJ5DtYNBNv1YYcF0c"
LIVE = full_size("100", target="live", machines="existing", cluster={"context": "cloud"})

LINE = "x" * 127 + "\n"
"""Of lines of this length libyaml reads a megabyte at once; a single line would take Python's own parser a second."""

CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a host key that is not a key": (
        with_server(server("x1", ["compute"], "10.20.9.9", hostKey="x1.example.org")),
        "quorate:servers[4].hostKey (x1)",
        "is not a valid public host key; write the line of /etc/ssh/ssh_host_ed25519_key.pub",
    ),
    "a host key that is cut short": (
        with_server(server("x1", ["compute"], "10.20.9.9", hostKey=HOST_KEY[:30])),
        "quorate:servers[4].hostKey (x1)",
        "is not a complete ssh-ed25519 key",
    ),
    "an RSA host key": (
        with_server(server("x1", ["compute"], "10.20.9.9", hostKey="ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB")),
        "quorate:servers[4].hostKey (x1)",
        "is an RSA key, with which Pulumi's command provider cannot log in; write the line of",
    ),
    "a private host key": (
        with_server(server("x1", ["compute"], "10.20.9.9", hostKey="-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0")),
        "quorate:servers[4].hostKey",
        "holds a secret in clear text",
    ),
    "one host key for two servers": (
        with_server(server("x[1-2]", ["compute"], "10.20.9.9", hostKey=HOST_KEY)),
        "quorate:servers[4] (x[1-2]).hostKey",
        "is one key for the 2 machines from x1 to x2; write a mapping of name to key",
    ),
    "a host key for another server": (
        with_server(server("x[1-2]", ["compute"], "10.20.9.9", hostKey={"x3": HOST_KEY})),
        "quorate:servers[4] (x[1-2]).hostKey",
        "names x3, which is not in this entry",
    ),
    "a host key of the jump host that is not a key": (
        {**full_size("100"), "ssh": {"jumpHost": {"host": "jump.example.org", "hostKey": "ssh-ed25519"}}},
        "quorate:ssh.jumpHost.hostKey",
        "is not a complete ssh-ed25519 key",
    ),
    "a port beyond the last": (
        {**full_size("100"), "ssh": {"port": 65536}},
        "quorate:ssh.port",
        "65536 does not fit; write a number below 65536",
    ),
    "an SSH user with a space": (
        {**full_size("100"), "ssh": {"user": "the admin"}},
        "quorate:ssh.user",
        "'the admin' does not fit; write a user name of up to 32 lower-case letters",
    ),
    "a jump host as a URL": (
        {**full_size("100"), "ssh": {"jumpHost": {"host": "ssh://jump", "hostKey": HOST_KEY}}},
        "quorate:ssh.jumpHost.host",
        "'ssh://jump' does not fit; write a host name or an IPv4 address",
    ),
    "a key file for SSH": (
        {**full_size("100"), "ssh": {"keyFile": "id_ed25519"}},
        "quorate:ssh.keyFile",
        "unknown key; write one of: user, port, jumpHost",
    ),
    "a waiver without an end": (
        {**full_size("100"), "waivers": [{key: WAIVER[key] for key in WAIVER if key != "expires"}]},
        "quorate:waivers[0].expires",
        "is missing; write it (the last day on which the waiver is valid, such as 2027-01-31)",
    ),
    "a waiver until a day that there is not": (
        waived(expires="2027-02-30"),
        "quorate:waivers[1].expires",
        "'2027-02-30' does not fit; write a date such as 2027-01-31",
    ),
    "a waiver for some time": (waived(expires=30), "quorate:waivers[1].expires", "30 does not fit; write a date"),
    "a waiver without a reason": (waived(reason=" "), "quorate:waivers[1].reason", "' ' does not fit; write some text"),
    "a waiver without an owner": (waived(owner=""), "quorate:waivers[1].owner", "write some text"),
    "a waiver of all rules": (waived(rule="*"), "quorate:waivers[1].rule", "'*' does not fit; write a rule's id as"),
    "a waiver with more in it": (waived(until="now"), "quorate:waivers[1].until", "unknown key"),
    "a waiver of every resource": (
        waived(resource="*"),
        "quorate:waivers[1].resource (galera-size)",
        "the pattern '*' matches resources of any kind; write a resource's name, or a pattern with at least 3 letters",
    ),
    "a waiver for centuries": (
        waived(expires="2999-12-31"),
        "quorate:waivers[1].expires (galera-size)",
        "days from today; write ",
    ),
    "a waiver that its owner approves": (
        waived(approvedBy="ada"),
        "quorate:waivers[1].approvedBy (galera-size)",
        "'ada' is the owner as well; write a second person",
    ),
    "a waiver that no name approves": (
        waived(approvedBy=" "),
        "quorate:waivers[1].approvedBy",
        "write some text",
    ),
    "waivers that are not a list": (
        {**full_size("100"), "waivers": {"rule": "galera-size"}},
        "quorate:waivers",
        "a mapping does not fit; write a list",
    ),
    "unknown key": (
        {**full_size("100"), "profil": "lab"},
        "quorate:profil",
        "unknown key (did you mean 'profile'?)",
    ),
    "unknown key of a server": (
        with_server(server("x1", ["compute"], "10.20.9.9", adress="1")),
        "quorate:servers[4].adress (x1)",
        "did you mean 'address'?",
    ),
    "a misspelt key that a server needs, which is not missing too": (
        with_server({"name": "x1", "roles": ["compute"], "adress": "10.20.9.9", "cpu": 4, "memory": 8}),
        "quorate:servers[4].adress (x1)",
        "did you mean 'address'?",
    ),
    "wrong type": (
        with_server(server("x1", ["compute"], "10.20.9.9", cpu="many")),
        "quorate:servers[4].cpu (x1)",
        "'many' does not fit; write a whole number",
    ),
    "missing key": (
        with_server({"name": "x1", "roles": ["compute"], "cpu": 4, "memory": 8}),
        "quorate:servers[4].address (x1)",
        "is missing; write it",
    ),
    "architecture 400": (
        {**full_size("100"), "architecture": "400"},
        "quorate:architecture",
        "100",
    ),
    "12 controllers where 30 are needed": (
        full_size("1000", controllers=12),
        "quorate:servers",
        "the stack has 12 of role controller and 0 of role monitoring; add 18",
    ),
    "two nodes of one name": (
        with_server(server("ctl03", ["compute"], "10.20.9.9")),
        "quorate:servers[1] (ctl[01-06]) and quorate:servers[4] (ctl03)",
        "two machines are named 'ctl03'",
    ),
    "two nodes of one address": (
        with_server(server("x1", ["compute"], "10.20.0.31")),
        "quorate:servers",
        "ctl01 and x1 have one address, 10.20.0.31",
    ),
    "a VM bigger than its host": (
        with_server(
            server("v1", ["virt"], "10.20.9.9", vms=[vm(0, ["compute"], ram=512)]), features=["reduced-footprint"]
        ),
        "quorate:servers[4] (v1).vms[0].ram",
        "512 GiB do not fit its host: it has 256 GiB and keeps 4; write 252 or less",
    ),
    "VMs that together are bigger than their host": (
        with_server(
            server("v1", ["virt"], "10.20.9.9", vms=[vm(i, ["compute"], ram=100) for i in range(3)]),
            features=["reduced-footprint"],
        ),
        "quorate:servers[4] (v1).vms",
        "take 300 GiB together",
    ),
    "a server without VMs that is too small for its services": (
        with_server(server("x1", ["compute"], "10.20.9.9", memory=1)),
        "quorate:servers (x1)",
        "it has 24 cores and 1 GiB for pods",
    ),
    "a VM on a server without role virt": (
        with_server(server("v1", ["compute"], "10.20.9.9", vms=[vm(0, ["compute"])]), features=["reduced-footprint"]),
        "quorate:servers[4] (v1).vms",
        "add 'virt' to its roles",
    ),
    "virt mixed with a role other than compute": (
        with_server(server("v1", ["virt", "storage"], "10.20.9.9"), features=["reduced-footprint"]),
        "quorate:servers[4] (v1).roles",
        "virt may be mixed with compute only (source 000), not with storage",
    ),
    "controller and compute on one machine": (
        with_server(server("v1", ["controller", "compute"], "10.20.9.9")),
        "quorate:servers[4] (v1).roles",
        "compute and controller on one machine",
    ),
    "an even number of etcd members": (
        with_server(server("master4", ["master"], "10.20.9.9")),
        "quorate:servers",
        "4 masters are 4 members of etcd: 4 is even",
    ),
    "an even number of machines of etcd": (
        with_server(server("etcd[1-4]", ["etcd"], "10.20.9.1")),
        "quorate:servers",
        "4 etcd machines are 4 members of etcd: 4 is even: it survives the loss of 1, no more than 3 would; write 3 or "
        "5 or 7; on the way to another size, waive etcd-size for that day (docs/operations.md)",
    ),
    "nine machines of etcd": (
        with_server(server("etcd[1-9]", ["etcd"], "10.20.9.1")),
        "quorate:servers",
        "9 etcd machines are 9 members of etcd: 9 members are too many",
    ),
    "etcd beside another role": (
        with_server(server("x[1-3]", ["etcd", "master"], "10.20.9.1")),
        "quorate:servers[4] (x[1-3]).roles",
        "a machine of role etcd is not a Kubernetes node and has no other role; remove master, or remove etcd: without "
        "machines of that role, the masters carry etcd's members",
    ),
    "etcd on a virt host itself": (
        with_server(server("x1", ["virt", "etcd"], "10.20.9.1"), features=["reduced-footprint"]),
        "quorate:servers[4] (x1).roles",
        "virt may be mixed with compute only (source 000), not with etcd; give etcd to a VM",
    ),
    "etcd in a running cluster": (
        with_server(server("x1", ["etcd"], "10.20.9.1"), machines="existing"),
        "quorate:servers[4] (x1).roles",
        "a running cluster has its etcd; with machines: existing, remove the machines of role etcd",
    ),
    "a pool beside a machine of etcd": (
        with_server(server("etcd1", ["etcd"], "10.20.9.1", pool="rabbitmq")),
        "quorate:servers (etcd1).pool",
        "only nodes of role controller or monitoring have a choice of pools; remove pool",
    ),
    "machines of etcd on one physical host in production": (
        with_server(
            server("m1", ["virt"], "10.20.9.100", vms=[vm(number, ["etcd"]) for number in range(3)]),
            features=["reduced-footprint"],
        ),
        "quorate:servers",
        "etcd machines m1-vm0 and m1-vm1 and m1-vm2 share the physical host m1: its loss takes 3 of 3 members of etcd",
    ),
    "no master": (
        {**full_size("100"), "servers": full_size("100")["servers"][1:]},
        "quorate:servers",
        "no machine has the role master; give it to three",
    ),
    "Galera of 7": (
        full_size("100", services={"mysqld": {"replicas": 7}}, controllers=12),
        "quorate:services.mysqld.replicas",
        "7 members are too many, each write waits for more of them; write 3 or 5",
    ),
    "RabbitMQ of 4": (
        full_size("100", services={"rabbitmq": {"replicas": 4}}, controllers=8),
        "quorate:services.rabbitmq.replicas",
        "4 is even: it survives the loss of 1, no more than 3 would; write 3 or more, odd",
    ),
    "Ceph monitors of 4": (
        full_size("100", services={"ceph-mon": {"replicas": 4}}, controllers=8),
        "quorate:services.ceph-mon.replicas",
        "4 is even: it survives the loss of 1, no more than 3 would; write 3 or 5",
    ),
    "replicas above the eligible hosts": (
        full_size("100", services={"glance-api": {"replicas": 7}}),
        "quorate:services.glance-api.replicas",
        "needs 7 instances; pools rabbitmq, mysqld have 6 nodes that may run it, one instance on each",
    ),
    "replicas of what runs everywhere": (
        full_size("100", services={"nova-compute": {"replicas": 2}}),
        "quorate:services.nova-compute.replicas",
        "runs once on every node of its pools",
    ),
    "an unknown service": (
        full_size("100", services={"keystne": {"replicas": 3}}),
        "quorate:services.keystne",
        "no such service (did you mean 'keystone'?)",
    ),
    "a service that is not built yet": (
        full_size("100", services={"calico-felix": {"replicas": 3}}),
        "quorate:services.calico-felix",
        "is not built yet; remove it: neutron-openvswitch-agent connects virtual machines",
    ),
    "a service that upstream retired": (
        full_size("100", services={"murano-api": {"replicas": 3}}),
        "quorate:services.murano-api",
        "is retired upstream; remove it and use images with cloud-init",
    ),
    "a retired service": (
        full_size("100", services={"glance-registry": {"replicas": 3}}),
        "quorate:services.glance-registry",
        "is retired; write glance-api",
    ),
    "a pattern that matches nothing": (
        with_server(server("x[9-1]", ["compute"], "10.20.9.9")),
        "quorate:servers[4].name (x[9-1])",
        "matches nothing, it runs backwards; write [1-9]",
    ),
    "an undefined role": (
        with_server(server("x1", ["compuet"], "10.20.9.9")),
        "quorate:servers[4].roles[0] (x1)",
        "'compuet' is not known (did you mean 'compute'?)",
    ),
    "two masters on one physical host in production": (
        {
            **full_size("100", features=["reduced-footprint"]),
            "servers": [
                *full_size("100")["servers"][1:],
                server("m1", ["virt"], "10.20.9.100", vms=[vm(0, ["master"]), vm(1, ["master"])]),
                server("m2", ["virt"], "10.20.9.101", vms=[vm(2, ["master"])]),
            ],
        },
        "quorate:servers",
        "masters m1-vm0 and m1-vm1 share the physical host m1",
    ),
    "reduced footprint without its feature": (
        with_server(server("v1", ["virt", "compute"], "10.20.9.9")),
        "quorate:servers[4] (v1).roles",
        "ask for it with quorate:features: [reduced-footprint]",
    ),
    "a root secret in clear": (
        {**full_size("100"), "rootSecret": "hunter2"},
        "quorate:rootSecret",
        "holds a secret in clear text",
    ),
    "a password in clear within a file": (
        full_size(
            "100", services={"keystone": {"config": {"keystone.conf": "[database]\nadmin_password = hunter2\n"}}}
        ),
        "quorate:services.keystone.config.keystone.conf",
        "holds a secret in clear text",
    ),
    "a server outside of the management network": (
        full_size("100", networks={"management": "10.30.0.0/16"}),
        "quorate:servers",
        "outside of management 10.30.0.0/16",
    ),
    "overlapping networks": (
        full_size("100", networks={"pods": "10.64.0.0/12", "services": "10.64.0.0/16"}),
        "quorate:networks.services",
        "overlaps pods 10.64.0.0/12",
    ),
    "live machines without host keys": (
        full_size("100", target="live") | {"rootSecret": {"secure": "v1:x:y"}},
        "quorate:servers",
        "target live logs in to machines by SSH, and master1, master2, master3, ctl01, ctl02 and 10 more have no "
        "hostKey; write the line of /etc/ssh/ssh_host_ed25519_key.pub of each",
    ),
    "a live stack without its cluster": (
        {key: value for key, value in LIVE.items() if key != "cluster"} | {"rootSecret": {"secure": "v1:x:y"}},
        "quorate:cluster",
        "is missing; write the kubeconfig's context, such as {context: cloud-1}",
    ),
    "a live stack without its root secret": (
        LIVE,
        "quorate:rootSecret",
        "is not set, and all passwords are derived from it; write it once with",
    ),
    "a cluster for machines that Quorate sets up": (
        full_size("100", cluster={"context": "cloud"}),
        "quorate:cluster",
        "names a running cluster; write machines: existing too, or remove it",
    ),
    "a template for machines that exist": (
        full_size("100", machines="existing", template="nowhere.xml"),
        "quorate:template",
        "defines virtual machines that Quorate makes; with machines: existing, remove it",
    ),
    "a network plugin for a cluster that exists": (
        full_size("100", machines="existing", cni="calico"),
        "quorate:cni",
        "installs a network plugin; the cluster has one: with machines: existing, remove it",
    ),
    "a version of Kubernetes for a cluster that exists": (
        full_size("100", machines="existing", kubernetes="1.37.2"),
        "quorate:kubernetes",
        "is for a new cluster; with machines: existing, remove it",
    ),
    "a context without a name": (
        full_size("100", machines="existing", cluster={"context": ""}),
        "quorate:cluster.context",
        "write",
    ),
    "a release that Kolla has no images for": (
        full_size("100", release="2031.2"),
        "quorate:release",
        "2031.2 has no Kolla images; write one of: 2025.1, 2025.2, 2026.1, 2026.2",
    ),
    "a distribution for which Kolla stopped to build": (
        full_size("100", release="2026.2", images={"distro": "centos"}),
        "quorate:images.distro",
        "Kolla has no images of 2026.2 for centos; write one of: rocky, ubuntu, debian",
    ),
    "a version of Kubernetes that is too old": (
        full_size("100", kubernetes="1.20.0"),
        "quorate:kubernetes",
        "1.20.0 is not supported; write a version of 1.35, 1.36, 1.37, such as 1.37.2",
    ),
    "a version of Kubernetes with a letter": (
        full_size("100", kubernetes="v1.37.2"),
        "quorate:kubernetes",
        'write a version of Kubernetes such as "1.37.2"',
    ),
    "a template that is not there": (
        full_size("100", template="nowhere.xml"),
        "quorate:template",
        "nowhere.xml cannot be read: no such file or directory; write the path of a libvirt domain template",
    ),
    "a template that is not XML": (
        full_size("100", template="README.md"),
        "quorate:template",
        "README.md is not valid XML: ",
    ),
    "a template of something else": (
        full_size("100", template="docs/architecture.svg"),
        "quorate:template",
        "write a libvirt domain",
    ),
    "a file that is Kolla's own": (
        full_size("100", services={"mysqld": {"config": {"proxysql.config.json": "{}"}}}),
        "quorate:services.mysqld.config.proxysql.config.json",
        "is a file with instructions for Kolla's start script, which Quorate writes",
    ),
    "a file in a folder": (
        full_size("100", services={"mysqld": {"config": {"a/b": "x"}}}),
        "quorate:services.mysqld.config.a/b",
        "is not a valid name of a file; write letters, digits",
    ),
    "files that no ConfigMap can hold": (
        full_size("100", services={"mysqld": {"config": {"a": LINE * (1024 * 1024 // len(LINE)), "b": "é"}}}),
        "quorate:services.mysqld.config",
        "its files have 1048578 bytes together; write 1048576 or less",
    ),
    "an image that is not a reference": (
        full_size("100", services={"mysqld": {"image": "https://quay.io/x"}}),
        "quorate:services.mysqld.image",
        "'https://quay.io/x' is not a valid image reference",
    ),
    "a registry with a scheme": (
        full_size("100", images={"registry": "https://quay.io"}),
        "quorate:images.registry",
        "'https://quay.io' is not a valid registry; write a host",
    ),
    "a namespace in capitals": (
        full_size("100", images={"namespace": "Kolla"}),
        "quorate:images.namespace",
        "'Kolla' is not a valid namespace",
    ),
    "a rack that no label can hold": (
        with_server(server("x1", ["compute"], "10.20.9.9", rack="row 1")),
        "quorate:servers[4].rack (x1)",
        "'row 1' is not a valid label of a node",
    ),
    "an architecture that is not there": (
        {**full_size("100"), "architecture": "mine.yaml"},
        "quorate:architecture",
        "mine.yaml: cannot be read: no such file or directory",
    ),
    "a topology that is not there": (
        {
            "profile": "lab",
            "topology": "mine.yaml",
            "servers": [server("m[1-3]", ["master"], "10.20.0.11"), server("n[1-3]", [], "10.20.0.31")],
        },
        "quorate:topology (mine.yaml)",
        "cannot be read: no such file or directory; give the path of a topology file",
    ),
}


@pytest.mark.parametrize(("stack", "key", "said"), CASES.values(), ids=list(CASES))
def test_each_bad_input_is_named_and_nothing_else(tmp_path: Path, stack: dict[str, Any], key: str, said: str) -> None:
    """One fault, one key: what follows from a fault is not reported as a second one."""
    messages = refusal(write(tmp_path, stack))
    assert any(said in message for message in messages if message.startswith(f"{key}: ")), messages
    assert {message.split(": ")[0] for message in messages} == {key}


@pytest.mark.parametrize("stack", [stack for stack, _, _ in CASES.values()], ids=list(CASES))
def test_the_program_says_the_same_before_it_builds_anything(
    tmp_path: Path, stack: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`quorate check` and the program itself: one verdict and one text, and no resource, provider or file before it."""
    path = write(tmp_path, stack)
    assert command_line.main(["check", str(path)]) == 1
    checked = [line.removeprefix(f"{path}: ") for line in capsys.readouterr().err.splitlines()]
    assert run_program(path, monkeypatch) == checked


def run_program(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs `__main__.py` as the engine would, and returns the problems that it reports, a line each."""
    logged: list[str] = []

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("something was built before the refusal")

    def ignored(*_: object) -> None: ...

    config, secret = engine_config(path)
    monkeypatch.setattr(runtime, "get_config_env", lambda: config)
    monkeypatch.setattr(runtime, "get_config_secret_keys_env", lambda: secret)
    monkeypatch.setattr(pulumi, "get_stack", lambda: "test")
    monkeypatch.setattr(pulumi.log, "error", logged.append)
    monkeypatch.setattr(pulumi.Resource, "__init__", forbidden)
    monkeypatch.setattr(atomic, "write", forbidden)
    monkeypatch.setattr(gc, "disable", lambda: None)
    monkeypatch.setattr(signal, "signal", ignored)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "__main__.py"))
    assert ended.value.code == 32
    (message,) = logged
    first, *lines = message.splitlines()
    assert first == "The stack is invalid. Nothing was changed."
    return [line.removeprefix("  ") for line in lines]


def engine_config(path: Path) -> tuple[dict[str, str], set[str]]:
    """A stack file's configuration as the engine hands it to the program: text, or JSON."""
    read = reader.read(path)
    texts = {key: value if isinstance(value, str) else yaml_reader.to_json(value) for key, value in read.raw.items()}
    return {f"quorate:{key}": text for key, text in texts.items()}, {f"quorate:{key}" for key in read.encrypted}


@pytest.mark.parametrize("name", [name for name in CASES if "clear" in name])
def test_no_message_repeats_a_secret(tmp_path: Path, name: str) -> None:
    assert "hunter2" not in "\n".join(refusal(write(tmp_path, CASES[name][0])))


def test_all_problems_of_a_file_come_at_once(tmp_path: Path) -> None:
    stack = with_server(server("ctl03", ["compute"], "10.20.9.9"))
    stack["servers"].append(server("x1", ["compuet"], "10.20.9.10", cpu="many"))
    stack["profil"] = "lab"
    stack["release"] = "2031.2"
    keys = {message.split(": ")[0] for message in refusal(write(tmp_path, stack))}
    assert keys == {
        "quorate:profil",
        "quorate:release",
        "quorate:servers[5].roles[0] (x1)",
        "quorate:servers[5].cpu (x1)",
        "quorate:servers[1] (ctl[01-06]) and quorate:servers[4] (ctl03)",
    }


def test_settings_and_placement_are_refused_together(tmp_path: Path) -> None:
    """What is wrong by itself, and what does not fit the servers."""
    cluster = {"context": "cloud"}
    stack = full_size("100", controllers=5, release="2031.2", cluster=cluster, template="nowhere.xml")
    keys = {message.split(": ")[0] for message in refusal(write(tmp_path, stack))}
    assert keys == {"quorate:release", "quorate:cluster", "quorate:template", "quorate:servers"}


@pytest.mark.parametrize(
    "name", ["a/b", "../x", "..x", "with space", "", "config.json", "proxysql.config.json", "config.yaml"]
)
def test_names_that_no_configuration_file_can_have(tmp_path: Path, name: str) -> None:
    stack = full_size("100", services={"mysqld": {"config": {name: "x"}}})
    (message,) = refusal(write(tmp_path, stack))
    assert message.startswith(f"quorate:services.mysqld.config.{name}: is ")


def test_a_template_with_a_place_that_nothing_fills_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seed 000: such a place is left empty."""
    monkeypatch.chdir(tmp_path)
    template = tmp_path / "domain.xml"
    template.write_text("<domain type='{type}'><x>{unheard_of}</x></domain>", encoding="utf-8")
    assert plan(load_file(write(tmp_path, full_size("100", template="domain.xml"))))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("config:\n  quorate:profile: lab\n  quorate:profile: lab\n", "line 3: the key 'quorate:profile'"),
        ("config: [\n", "line 2"),
        ("other: {}\n", "has no 'config:' mapping"),
        ("", "is not a mapping; write a stack file"),
    ],
)
def test_a_file_that_is_no_stack_file(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text(text, encoding="utf-8")
    assert any(said in message for message in refusal(path))


def test_an_absent_file(tmp_path: Path) -> None:
    (message,) = refusal(tmp_path / "no.yaml")
    assert message.startswith(f"{tmp_path / 'no.yaml'}: cannot be read: no such file or directory; write a stack file")


def test_the_engine_s_door_says_the_same(tmp_path: Path) -> None:
    """A root secret that is not marked secret, and one that is."""
    good = {"quorate:profile": "lab", "quorate:rootSecret": "hunter2"}
    with pytest.raises(InvalidStackError, match="quorate:rootSecret: holds a secret in clear text"):
        from_pulumi(good, set())
    with pytest.raises(InvalidStackError) as caught:
        from_pulumi(good, {"quorate:rootSecret"})
    assert [problem.key for problem in caught.value.problems] == ["quorate:servers"]


def test_the_command_line_prints_a_line_each_and_exits_1(tmp_path: Path) -> None:
    stack = deepcopy(CASES["an undefined role"][0])
    path = write(tmp_path, stack)
    run = subprocess.run(
        [sys.executable, "-m", "commands.command_line", "check", str(path), str(STACKS["dev"])],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        f"{path}: quorate:servers[4].roles[0] (x1): 'compuet' is not known (did you mean 'compute'?); write one of: "
        "master, etcd, controller, compute, storage, monitoring, virt"
    ]
    assert run.stdout.startswith(f"{STACKS['dev']}: valid: architecture 100, lab;")


@pytest.mark.parametrize("owner", ["Ada", "Eve"])
def test_a_copy_for_pulumi_has_the_values_of_its_stack_file(tmp_path: Path, owner: str) -> None:
    """Pulumi passes texts as they are, and waivers as JSON, in which an unquoted date is a text."""
    stack = {**full_size("100"), "waivers": [{**WAIVER, "expires": date(2027, 1, 31)}]}
    file = write(tmp_path, stack)
    copied = {"copy": {"stack": "test", "file": str(file)}, "waivers": [{**WAIVER, "owner": owner}]}
    texts: dict[str, Any] = {key: stack[key] for key in ("profile", "architecture")}
    texts |= {key: json.dumps(value) for key, value in copied.items()}
    config = {f"quorate:{key}": text for key, text in texts.items()}
    if owner == WAIVER["owner"]:
        assert from_pulumi(config, set(), "test").waivers
        return
    with pytest.raises(InvalidStackError, match=f"^quorate:waivers: has changed in {file} since the copy"):
        from_pulumi(config, set(), "test")
