"""Each check of a machine: what passes, what fails, and that a fact that is missing never passes."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.host_reserves import HostReserve
from blueprint.plan.nodes import Node, etcd_machine, node
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.servers import Disk, VirtualMachine
from blueprint.stackfile.virt import cpu_numbers
from commands.live import machine_check
from doctor import checks, examination, fleet_checks
from doctor.facts import HugePages, IncompleteError, parse
from doctor.login import PROBE, Reading
from tests.stacks import full_size, parsed, write

NOW = 1_800_000_000
LATER = f"{datetime.now(UTC) + timedelta(days=300):%b %d 00:00:00 %Y GMT}"
SOON = datetime.now(UTC) + timedelta(days=3)
SOUND: dict[str, list[str]] = {
    "clock": [str(NOW)],
    "name": ["m1"],
    "root": ["yes"],
    "systemd": ["yes"],
    "synchronized": ["yes"],
    "cores": ["8"],
    "memory": [str(16 * 1024**2 + checks.EVICTION)],
    "available": [str(16 * 1024**2)],
    "cgroup": [checks.CGROUP],
    "machine-id": ["a"],
    "free": [str(100 * 1024**2)],
    "etcd": ["3.6.16"],
    "program": [
        "conntrack",
        "containerd",
        "curl",
        "etcd",
        "etcdctl",
        "etcdutl",
        "kubeadm",
        "kubectl",
        "kubelet",
        "runc",
    ],
    "kubelet-version": ["v1.37.2"],
    "kubeadm-version": ["v1.37.2"],
    "kubectl-version": ["v1.36.5"],
    "containerd-version": ["1.6.20~ds1"],
    "sandbox-image": ["registry.k8s.io/pause:3.10.2"],
    "forwarding": ["1"],
    "nameserver": ["10.0.0.53"],
    "containerd-config": [
        "disabled_plugins = []",
        '[plugins."io.containerd.grpc.v1.cri"]',
        'sandbox_image = "mirror.example.com/pause:3.10.2"',
        '[plugins."io.containerd.grpc.v1.cri".cni]',
        'bin_dir = "/opt/cni/bin"',
        '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]',
        "SystemdCgroup = true",
    ],
    "module": ["br_netfilter", "nf_conntrack", "overlay"],
    "sysctl": ["fs.inotify.max_user_instances 8192", "fs.inotify.max_user_watches 1048576"],
    "distribution": ["debian-12"],
    "address": ["lo 127.0.0.1/8", "eth0 10.0.0.1/24"],
    "mtu": ["lo 65536", "eth0 1500"],
    "ports": ["yes"],
    "listens": ['LISTEN 0 4096 10.0.0.1:2379 0.0.0.0:* users:(("etcd",pid=1,fd=3))'],
    "disk": ["disk 0 960197124096", "disk 1 4000787030016", "part 0 960197124096"],
    "certificate": [f"/etc/etcd/pki/ca.crt {LATER}"],
    "end": ["yes"],
}
"""Facts of a master with nothing wrong."""


def reading(**changed: list[str]) -> Reading:
    values = SOUND | {key.replace("_", "-"): value for key, value in changed.items()}
    output = "\n".join(f"{key}\t{each}" for key, all_values in values.items() for each in all_values)
    return Reading(parse(output), NOW, NOW + 2.0)


def machine(name: str = "m1", **facts: Any) -> Machine:
    given: dict[str, Any] = {"roles": ("master",), "cpu": 8, "memory": 16, "rack": None, "address": "10.0.0.1"}
    given |= {"name": name, "server": name} | facts
    return Machine(**given)


MASTER = node(machine(disks=(Disk(size=960), Disk(size=4000, type="hdd"))), "master")
WORKER = node(machine(roles=("compute",)), "compute")
ETCD = etcd_machine(machine(roles=("etcd",)))


def problems(of: Node, read: Reading, *, has_member: bool | None = None, **stack: Any) -> list[tuple[str, str]]:
    """The failed checks. `has_member`: by default, masters have members. `stack`: settings of the stack."""
    if has_member is None:
        has_member = of != WORKER
    settings = parsed(full_size("100", **stack))
    return [(each.check, each.problem) for each in checks.of_machine(of, read, settings, has_member=has_member)]


def test_a_machine_of_etcd_needs_nothing_of_kubernetes() -> None:
    sound = reading(
        program=["etcd", "etcdctl", "etcdutl", "kubectl"],
        module=[],
        cgroup=["tmpfs"],
        swap=["/dev/sda2"],
        memory=[str(16 * 1024**2)],
        listens=[
            'LISTEN 0 4096 10.0.0.1:2379 0.0.0.0:* users:(("etcd",pid=1,fd=3))',
            'LISTEN 0 511 127.0.0.1:6443 0.0.0.0:* users:(("haproxy",pid=9,fd=5))',
        ],
    )
    assert problems(ETCD, sound) == []
    missing = "missing programs: etcd, etcdctl, etcdutl, kubectl"
    assert problems(ETCD, reading(program=[])) == [("programs", missing)]
    occupied = reading(listens=['LISTEN 0 4096 10.0.0.1:2380 0.0.0.0:* users:(("nginx",pid=1,fd=3))'])
    assert problems(ETCD, occupied) == [("ports", "port 2380 of etcd is used by nginx")]
    assert problems(ETCD, reading(memory=[str(15 * 1024**2)])) == [("size", "it has 15.0 GiB of memory, not 16")]


def test_a_master_without_a_member_asks_etcd_and_does_not_run_it() -> None:
    programs = [each for each in SOUND["program"] if each not in ("etcd", "etcdutl")]
    listens = ['LISTEN 0 511 10.0.0.1:2379 0.0.0.0:* users:(("other",pid=9,fd=5))']
    assert problems(MASTER, reading(program=programs, listens=listens), has_member=False) == []
    without = reading(program=[each for each in programs if each != "etcdctl"])
    assert problems(MASTER, without, has_member=False) == [("programs", "missing programs: etcdctl")]


def test_a_sound_machine_passes_every_check() -> None:
    assert problems(MASTER, reading()) == []
    listens = ['LISTEN 0 511 127.0.0.1:6443 0.0.0.0:* users:(("nginx",pid=9,fd=5))']
    assert problems(WORKER, reading(listens=listens)) == []


@pytest.mark.parametrize(
    ("changed", "check", "problem"),
    [
        ({"root": []}, "root", "the user cannot become root"),
        ({"clock": [str(NOW - 60)]}, "clock", "its clock is 62 s behind"),
        ({"clock": [str(NOW + 60)]}, "clock", "its clock is 58 s ahead"),
        ({"synchronized": ["no"]}, "clock", "its clock is not synchronized"),
        ({"swap": ["/dev/sda2"]}, "swap", "swap is on (/dev/sda2)"),
        ({"cgroup": ["tmpfs"]}, "cgroups", "it has no cgroup v2 (tmpfs at /sys/fs/cgroup)"),
        ({"name": ["m2"]}, "name", "its name is m2"),
        ({"cores": ["7"]}, "size", "it has 7 cores, not 8"),
        ({"memory": [str(16 * 1024**2)]}, "size", "it has 15.9 GiB of memory for pods, not 16"),
        (
            {"program": []},
            "programs",
            "missing programs: conntrack, containerd, kubeadm, kubectl, kubelet, runc, etcd, etcdctl, etcdutl, curl",
        ),
        ({"module": ["nf_conntrack", "overlay"]}, "programs", "missing kernel modules: br_netfilter"),
        ({"etcd": ["3.5.16"]}, "etcd", "its etcd is 3.5.16"),
        ({"etcd": []}, "etcd", "its etcd is of an unknown version"),
        ({"free": [str(1024**2)]}, "disks", "1.0 GiB are free in /var/lib, less than 20"),
        ({"disk": ["disk 0 960197124096"]}, "disks", "it has 0 hdd disks of 4000 GB, not 1"),
        (
            {"certificate": [f"/x.crt {SOON:%b %d 00:00:00 %Y GMT}"]},
            "certificates",
            f"/x.crt expires on {SOON:%Y-%m-%d}",
        ),
        ({"failed": ["etcd-backup.service"]}, "units", "etcd-backup.service has failed"),
        ({"failed": ["etcd-backup-test.service"]}, "units", "etcd-backup-test.service has failed"),
        ({"failed": ["etcd-backup-copy.service"]}, "units", "etcd-backup-copy.service has failed"),
        ({"certificate": ["/x.crt "]}, "certificates", "the end of /x.crt cannot be read"),
        (
            {"listens": ['LISTEN 0 9 *:10250 *:* users:(("cupsd",pid=9,fd=5))']},
            "ports",
            "port 10250 of kubelet is used by cupsd",
        ),
        (
            {"listens": ["LISTEN 0 9 [::]:6443 [::]:*"]},
            "ports",
            "port 6443 of kube-apiserver is used by another program",
        ),
    ],
)
def test_a_problem_is_found(changed: dict[str, list[str]], check: str, problem: str) -> None:
    assert problems(MASTER, reading(**changed)) == [(check, problem)]


@pytest.mark.parametrize(
    "key",
    [
        *("clock", "synchronized", "cores", "memory", "cgroup", "systemd", "ports", "free", "forwarding", "nameserver"),
        *("kubelet-version", "kubeadm-version", "kubectl-version", "containerd-version", "containerd-config"),
    ],
)
def test_a_missing_fact_is_a_problem(key: str) -> None:
    nothing: list[str] = []
    assert problems(MASTER, reading(**{key: nothing}))


def test_the_controller_manager_is_recognized_by_its_shortened_name() -> None:
    """Linux keeps 15 characters of a program's name."""
    listens = ['LISTEN 0 9 127.0.0.1:10257 0.0.0.0:* users:(("kube-controller",pid=9,fd=5))']
    assert problems(MASTER, reading(listens=listens)) == []


def test_addresses_mtus_and_identities_are_compared() -> None:
    nodes = [node(machine(f"m{number}", address=f"10.0.0.{number}"), "master") for number in (1, 2, 3, 4)]
    read = {each.name: reading(address=[f"eth0 {each.address}/24"], machine_id=[each.name]) for each in nodes}
    assert [*fleet_checks.network(nodes, read), *fleet_checks.identities(read)] == []
    read["m2"] = reading(address=["eth0 10.0.0.2/24"], mtu=["eth0 9000"], machine_id=["m1"])
    read["m3"] = reading(address=["eth0 10.0.0.33/24"], machine_id=[])
    found = [*fleet_checks.network(nodes, read), *fleet_checks.identities(read)]
    assert [(each.machine, each.problem) for each in found] == [
        ("m3", "no interface has the address 10.0.0.3"),
        ("m2", "its interface has an MTU of 9000, and most machines 1500"),
        ("m2", "it has the machine ID of m1"),
        ("m3", "it has no machine ID"),
    ]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"libvirt": ["qemu:///system"], "kvm": ["yes"]}, []),
        ({"libvirt": ["qemu:///system"]}, ["it has no /dev/kvm"]),
        ({"kvm": ["yes"]}, ["libvirt does not answer at qemu:///system"]),
        (
            {"libvirt": ["qemu:///system"], "kvm": ["yes"], "available": [str(8 * 1024**2)]},
            ["8.0 GiB of memory are free; v1, v2 need 12"],
        ),
        # One of the two runs, so that only the other one's memory must be free.
        ({"libvirt": ["qemu:///system"], "kvm": ["yes"], "available": [str(8 * 1024**2)], "domain": ["v1"]}, []),
    ],
)
def test_a_virt_host_needs_its_hypervisor_and_memory(facts: dict[str, list[str]], expected: list[str]) -> None:
    host = machine("m1", memory=32, hypervisor="kvm", vms=("v1", "v2"))
    nodes = [node(each, "master") for each in (host, machine("v1", memory=6), machine("v2", memory=6))]
    found = fleet_checks.virt_hosts(nodes, {"m1": reading(**facts)})
    assert [each.problem for each in found] == expected


READY: dict[str, list[str]] = {
    "libvirt": ["qemu:///system"],
    "kvm": ["yes"],
    "hugepages": ["8000 5000"],
    "numa": ["0 4000 3300 0-7,16-23", "1 4000 1700 8-15,24-31"],
    "bridge": ["br-mgmt", "br-ex"],
}
"""Facts of a virt host that has all that the virtual machines below ask for."""


def guest(name: str, **options: Any) -> Machine:
    """A virtual machine of 6 GiB, which needs 3184 huge pages: 6 GiB, 96 MiB and 128 MiB."""
    written = {"id": 0, "cpu": 4, "ram": 6, "address": "10.0.0.9", "roles": ["master"], **options}
    return machine(name, memory=6, vm=VirtualMachine.model_validate_json(json.dumps(written)))


NONE: dict[str, Any] = {}
HUGE: dict[str, Any] = {"hugePages": True}
PINNED: dict[str, Any] = {"numa": {"node": 0, "cpus": "0-3,16"}, "hugePages": True}


@pytest.mark.parametrize(
    ("options", "facts", "expected"),
    [
        ((NONE, NONE), {"hugepages": ["0 0"], "numa": [], "bridge": ["br-mgmt"]}, []),
        ((NONE, NONE), {"bridge": []}, ["it has no bridge br-mgmt for v1, v2"]),
        ((NONE, {"template": "own.xml"}), {"bridge": []}, ["it has no bridge br-mgmt for v1"]),
        ((HUGE, NONE), NONE, []),
        ((HUGE, HUGE), NONE, ["it has 5000 free huge pages of 2 MiB; v1, v2 need 6368"]),
        # A machine that runs has its pages, or needs them at its next start.
        ((HUGE, HUGE), {"domain": ["v1"]}, []),
        (
            (HUGE, HUGE),
            {"domain": ["v1", "v2"], "hugepages": ["6367 6367"]},
            ["it has 6367 huge pages of 2 MiB; v1, v2 need 6368"],
        ),
        ((HUGE, NONE), {"hugepages": []}, ["it has 0 huge pages of 2 MiB; v1 need 3184"]),
        ((HUGE, NONE), {"available": [str(6 * 1024**2)]}, []),
        ((HUGE, NONE), {"available": [str(5 * 1024**2)]}, ["5.0 GiB of memory are free; v2 need 6"]),
        ((PINNED, NONE), NONE, []),
        (
            (PINNED, NONE),
            {"numa": ["0 4000 3183 0-31"]},
            ["NUMA node 0 has 3183 free huge pages of 2 MiB; v1 need 3184"],
        ),
        ((PINNED, NONE), {"numa": ["0 9 9 0-31", "1 9 9"]}, ["NUMA node 0 has 9 huge pages of 2 MiB; v1 need 3184"]),
        ((PINNED, NONE), {"numa": ["x"]}, ["it has no NUMA node 0, which v1 is pinned to"]),
        (
            ({"numa": {"node": 1, "cpus": "7-9"}}, NONE),
            NONE,
            ["NUMA node 1 has the CPUs 8-15,24-31, and v1 is pinned to 7-9"],
        ),
        (
            ({"numa": {"node": 0, "cpus": "0"}}, NONE),
            {"numa": ["0 0 0"]},
            ["NUMA node 0 has the CPUs none, and v1 is pinned to 0"],
        ),
        (({"bridges": ["br-ex"]}, {"bridges": ["br-ex", "br-mgmt"]}), NONE, []),
        (
            ({"bridges": ["br-ex"]}, {"bridges": ["br-ex"]}),
            {"bridge": ["br-mgmt"]},
            ["it has no bridge br-ex for v1, v2"],
        ),
    ],
)
def test_a_virt_host_needs_what_its_machines_ask_for(
    options: tuple[dict[str, Any], dict[str, Any]], facts: dict[str, list[str]], expected: list[str]
) -> None:
    host = machine("m1", memory=32, hypervisor="kvm", vms=("v1", "v2"))
    guests = [guest(name, **each) for name, each in zip(("v1", "v2"), options, strict=True)]
    found = fleet_checks.virt_hosts(
        [node(each, "master") for each in (host, *guests)], {"m1": reading(**READY | facts)}
    )
    assert [each.problem for each in found] == expected


@pytest.mark.parametrize(
    ("shared", "numa", "problems"),
    [
        ("", READY["numa"], []),
        ("4-15,20-31", READY["numa"], []),
        (
            "4-15,20-33",
            READY["numa"],
            ["CPUs 32-33 are not online, and Nova gives them to tenants (cpu_shared_set 4-15,"],
        ),
        ("4-31", ["0 0 0 0-30"], ["CPUs 31 are not online"]),
        ("4-31", [], []),
    ],
)
def test_cpus_of_tenants_beside_pinned_machines_are_online(shared: str, numa: list[str], problems: list[str]) -> None:
    host = machine("m1", memory=32, hypervisor="kvm", vms=("v1",))
    nodes = [node(each, "master") for each in (host, guest("v1"))]
    found = fleet_checks.virt_hosts(
        nodes, {"m1": reading(**READY | {"numa": numa})}, reserves={"m1": HostReserve(4096, 0, shared)}
    )
    said = [each.problem for each in found]
    assert len(said) == len(problems)
    assert all(text.startswith(begin) for text, begin in zip(said, problems, strict=True))


def test_the_probe_reads_this_machine() -> None:
    done = subprocess.run(["sh", "-s"], input=PROBE.read_text(), capture_output=True, text=True, check=True, timeout=60)
    facts = parse(done.stdout)
    assert facts.number("cores")
    assert facts.number("memory")
    assert facts.number("clock")
    assert facts.one("hugepages")
    assert set(facts.numa) == {int(path.name[4:]) for path in Path("/sys/devices/system/node").glob("node[0-9]*")}
    assert all(cpu_numbers(each.cpus) for each in facts.numa.values())
    bridges = {path.parent.name for path in Path("/sys/class/net").glob("*/bridge")}
    assert set(facts.all("bridge")) == bridges


def test_the_probe_lists_bridges_by_name() -> None:
    """In a network namespace with a bridge, and an interface that is none."""
    made = "mount -t sysfs sysfs /sys && ip link add br-x type bridge && ip link add veth-x type veth"
    inside = ["unshare", "--net", "--mount", "sh", "-c"]
    if subprocess.run([*inside, made], capture_output=True, check=False).returncode:
        pytest.skip("needs root, and network namespaces")
    words = [*inside, f"{made} && exec sh -s"]
    done = subprocess.run(words, input=PROBE.read_text(), capture_output=True, text=True, check=True, timeout=60)
    assert parse(done.stdout).all("bridge") == ["br-x"]


@pytest.mark.parametrize(
    "line",
    [
        "mtu\teth0",
        "mtu\teth0 x",
        "address\teth0",
        "address\teth0 10.0.0",
        "disk\tdisk",
        "disk\tdisk 0 -",
        "certificate\tx",
        "hugepages\tmany",
        "numa\tnode0",
    ],
)
def test_a_malformed_line_counts_as_a_missing_fact(line: str) -> None:
    facts = parse(f"{line}\nend\tyes\n")
    assert facts.mtu("10.0.0.1") is None
    assert facts.block_devices == ()
    assert [end for end in facts.certificates.values() if end] == []
    assert facts.huge_pages == HugePages(0, 0)
    assert facts.numa == {}


def test_a_check_shows_the_most_frequent_problems_and_counts_the_others() -> None:
    names = [f"cmp{number:04}" for number in range(1, 1001)]
    own = [checks.MachineFinding("network", name, f"no interface of {name}", "set it") for name in names]
    shared = [checks.MachineFinding("network", name, "MTU 1400", "set 1500") for name in names[:2]]
    lines = str(examination.Line("network", 1000, (*own, *shared))).splitlines()
    assert lines[0] == "FAILED  network       0 of 1000 machines"
    assert lines[1] == "        cmp0001, cmp0002: MTU 1400; set 1500"
    assert lines[2] == "        cmp0001: no interface of cmp0001; set it"
    assert lines[-1].startswith("        cmp0020, cmp0021, ")
    assert lines[-1].endswith(" and 961 more: 981 more problems; correct those above, and check again")
    assert len(lines) == 22


def test_the_terminal_gets_no_control_characters_of_a_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, full_size("100"))
    finding = checks.MachineFinding("name", "m1", "its name is \x1b[2Jm2", "rename it")
    lines = [examination.Line("name", 1, (finding,))]

    def examine(_: object) -> list[examination.Line]:
        return lines

    monkeypatch.setattr(machine_check, "examine", examine)
    assert machine_check.check_machines(tmp_path, "test") == 1
    assert "its name is \\x1b[2Jm2" in capsys.readouterr().out


def test_output_that_ends_early_is_an_error() -> None:
    with pytest.raises(IncompleteError):
        parse("clock\t1\nname\tm1\n")
