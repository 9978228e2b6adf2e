"""prepare.sh below a temporary root, with fake programs that only take notes."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from components import preparation
from components.machine import filled, variables
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.preparation.certificate import certificate
from tests.stacks import ROOT, full_size, parsed

SCRIPT = ROOT / "components" / "preparation" / "prepare.sh"
NODE_PROGRAMS = (
    *("update-ca-certificates", "chronyd", "ip", "modprobe", "openssl", "conntrack", "ethtool", "iptables"),
    *("nft", "runc", "containerd", "curl", "sysctl"),
)
SITE = "https://site.example"


@dataclass
class BareMachine:
    """A root with the files of a prepared master, and the programs that it has."""

    directory: Path

    def __post_init__(self) -> None:
        self.root = self.directory / "root"
        self.programs = self.directory / "bin"
        self.programs.mkdir()
        for path in ("etc/apt/sources.list.d", "usr/bin", "var/tmp", "proc", "etc/chrony"):
            (self.root / path).mkdir(parents=True)
        (self.root / "proc/swaps").write_text("Filename Type Size Used Priority\n")
        self.release("debian", "12")
        self.has("apt-get", 'echo "apt-get $*" >>"$NOTES"')
        self.has("apt-mark", 'echo "apt-mark $*" >>"$NOTES"')
        self.has("systemctl", 'echo "systemctl $*" >>"$NOTES"')
        self.has(
            "curl", 'echo "curl $*" >>"$NOTES"; while [ "$1" != --output ]; do shift; done; cp "$SITE/${3##*/}" "$2"'
        )

    def release(self, name: str, version: str) -> None:
        (self.root / "etc/os-release").write_text(f'ID={name}\nVERSION_ID="{version}"\nPRETTY_NAME="{name}"\n')

    def has(self, name: str, text: str = "") -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def prepared_by(self, **prepare: object) -> None:
        """Writes the files of the stack."""
        made = plan(parsed(full_size("100", prepare=prepare)))
        node = made.masters[0]
        for path, text in filled(preparation.parts(made, node, CERTIFICATES.keyring), variables(node)).items():
            target = self.root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        # prepare.sh puts the system's directories first: a copy without this line sees the fake programs only.
        text = SCRIPT.read_text().replace(
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin${PATH:+:$PATH}", ""
        )
        tools = self.directory / "tools"
        if not tools.exists():
            tools.mkdir()
            for name in ("awk", "cat", "cmp", "cp", "cut", "find", "grep", "head", "install", "mkdir", "mktemp", "mv"):
                (tools / name).symlink_to(f"/usr/bin/{name}")
            for name in ("rm", "sed", "sha256sum", "tar", "tr", "uname", "wc", "gzip", "sh"):
                (tools / name).symlink_to(f"/usr/bin/{name}")
        environment = {
            "ROOT": str(self.root),
            "PATH": f"{self.root}/usr/bin:{self.programs}:{tools}",
            "NOTES": str(self.directory / "notes"),
            "SITE": str(self.directory / "site"),
        }
        return subprocess.run(
            ["/bin/sh", "-s", command], input=text, env=environment, capture_output=True, text=True, check=False
        )

    @property
    def notes(self) -> list[str]:
        path = self.directory / "notes"
        return path.read_text().splitlines() if path.exists() else []


def archives(machine: BareMachine, version: str = "1.37.2") -> dict[str, dict[str, str]]:
    """Fills the site with programs that tell this version, and returns their settings."""
    site = machine.directory / "site"
    site.mkdir(exist_ok=True)
    says = {"kubelet": "Kubernetes v", "kubeadm": "v", "kubectl": "Client Version: v"}
    for name, words in says.items():
        (site / name).write_text(f"#!/bin/sh\necho '{words}{version}'\n")
    for name in ("etcd", "etcdctl", "etcdutl"):
        (site / name).write_text("#!/bin/sh\necho 'etcd Version: 3.6.5'\n")
    with tarfile.open(site / "etcd.tar.gz", "w:gz") as made:
        for name in ("etcd", "etcdctl", "etcdutl"):
            made.add(site / name, f"etcd-v3.6.5-linux-amd64/{name}")
    files = {name: name for name in says} | {"etcd": "etcd.tar.gz"}
    return {
        name: {"url": f"{SITE}/{file}", "sha256": hashlib.sha256((site / file).read_bytes()).hexdigest()}
        for name, file in files.items()
    }


def members(machine: BareMachine) -> None:
    """The script of etcd's members, as far as preparation asks it."""
    path = machine.root / "usr/local/lib/quorate/members"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('[ "$(etcd --version)" = "etcd Version: 3.6.5" ]\n')


@pytest.fixture
def machine(tmp_path: Path) -> BareMachine:
    return BareMachine(tmp_path)


def test_missing_packages_are_installed_and_programs_that_are_there_kept(machine: BareMachine) -> None:
    machine.prepared_by(programs="packages")
    for name in NODE_PROGRAMS:
        if name not in ("conntrack", "chronyd", "curl"):
            machine.has(name)
    assert machine.run("has-packages").returncode != 0
    done = machine.run("set-packages")
    assert done.returncode == 0, done.stderr
    assert [note.partition("600 ")[2] for note in machine.notes] == [
        "update",
        "install --yes --no-install-recommends chrony conntrack",
    ]
    for name in NODE_PROGRAMS:
        machine.has(name)
    assert machine.run("has-packages").returncode == 0


def test_another_distribution_is_named(machine: BareMachine) -> None:
    machine.prepared_by(programs="packages")
    machine.release("fedora", "43")
    done = machine.run("set-packages")
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "this machine has fedora-43; quorate:prepare knows debian-12 debian-13 ubuntu-24.04 only: prepare it by hand, "
        "and write prepare: none"
    )
    assert machine.notes == []


def test_archives_are_installed_once(machine: BareMachine) -> None:
    machine.prepared_by(programs="archives", archives=archives(machine))
    members(machine)
    assert machine.run("has-programs").returncode != 0
    done = machine.run("set-programs")
    assert done.returncode == 0, done.stderr
    found = {path.name: path.stat().st_mode & 0o777 for path in (machine.root / "usr/bin").iterdir()}
    assert found == dict.fromkeys(("etcd", "etcdctl", "etcdutl", "kubeadm", "kubectl", "kubelet"), 0o755)
    assert machine.notes[-1] == "systemctl enable --quiet kubelet.service"
    assert machine.run("has-programs").returncode == 0
    assert list((machine.root / "var/tmp").iterdir()) == []


def test_an_archive_with_another_digest_is_not_installed(machine: BareMachine) -> None:
    settings = archives(machine)
    settings["kubelet"]["sha256"] = "0" * 64
    machine.prepared_by(programs="archives", archives=settings)
    members(machine)
    done = machine.run("set-programs")
    assert done.returncode == 1
    assert f"{SITE}/kubelet has the SHA-256 digest" in done.stderr
    assert not (machine.root / "usr/bin/kubelet").exists()
    assert list((machine.root / "var/tmp").iterdir()) == []


def test_a_running_cluster_keeps_its_programs(machine: BareMachine) -> None:
    settings = archives(machine, "1.36.1")
    machine.prepared_by(programs="archives", archives=settings)
    members(machine)
    assert machine.run("set-programs").returncode == 0
    assert machine.run("has-programs").returncode != 0, "they are of another version than the stack's"
    (machine.root / "etc/kubernetes").mkdir()
    (machine.root / "etc/kubernetes/kubelet.conf").touch()
    assert machine.run("has-programs").returncode == 0

    (machine.root / "usr/bin/etcd").write_text("#!/bin/sh\necho 'etcd Version: 3.5.9'\n")
    assert machine.run("has-programs").returncode != 0
    (machine.root / "var/lib/etcd/member").mkdir(parents=True)
    assert machine.run("has-programs").returncode == 0, "a member with data decides by its own steps"


def test_packages_of_kubernetes_are_pinned_and_held(machine: BareMachine) -> None:
    machine.prepared_by(programs="packages", archives={"etcd": archives(machine)["etcd"]})
    members(machine)
    (machine.directory / "site/Release.key").write_text("key")
    assert machine.run("set-programs").returncode == 0
    source = (machine.root / "etc/apt/sources.list.d/quorate-kubernetes.list").read_text()
    assert source.endswith("] https://pkgs.k8s.io/core:/stable:/v1.37/deb/ /\n")
    installed = next(note for note in machine.notes if " install " in note)
    assert installed.endswith("kubelet=1.37.2-* kubeadm=1.37.2-* kubectl=1.37.2-*")
    assert "apt-mark hold kubelet kubeadm kubectl" in machine.notes


def test_downloads_go_through_the_proxy(machine: BareMachine) -> None:
    machine.prepared_by(programs="archives", archives=archives(machine), proxy="http://proxy.example:3128")
    members(machine)
    assert machine.run("set-programs").returncode == 0
    assert all("--proxy http://proxy.example:3128" in note for note in machine.notes if note.startswith("curl"))


UPDATE = """\
echo "update-ca-certificates" >>"$NOTES"
mkdir -p "$ROOT/etc/ssl/certs"
cat "$ROOT"/usr/local/share/ca-certificates/*.crt >"$ROOT/etc/ssl/certs/ca-certificates.crt" 2>/dev/null || :
"""


def test_the_sites_authorities_are_trusted(
    machine: BareMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [certificate("first"), certificate("second")]
    (tmp_path / "ca.pem").write_text("".join(texts))
    machine.has("update-ca-certificates", UPDATE)
    machine.prepared_by(programs="packages", authorities=["ca.pem"])
    assert machine.run("has-authorities").returncode == 1
    assert machine.run("set-authorities").returncode == 0
    bundle = machine.root / "etc/ssl/certs/ca-certificates.crt"
    assert all(text in bundle.read_text() for text in texts)
    assert machine.run("has-authorities").returncode == 0
    assert "systemctl restart containerd.service" in machine.notes

    bundle.write_text(texts[0])
    assert machine.run("has-authorities").returncode == 1, "the list of the system was written anew without one"

    for path in (machine.root / "etc/quorate/authorities").iterdir():
        if path.read_text() == texts[1]:
            path.unlink()
    assert machine.run("has-authorities").returncode == 1, "one is trusted that the stack no longer has"
    assert machine.run("set-authorities").returncode == 0
    assert texts[1] not in bundle.read_text()
    assert machine.run("has-authorities").returncode == 0


def test_the_distributions_mirror_may_have_a_certificate_of_the_site(
    machine: BareMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca.pem").write_text(certificate("first"))
    machine.has("update-ca-certificates", UPDATE)
    machine.prepared_by(programs="packages", authorities=["ca.pem"])
    assert machine.run("set-packages").returncode == 0
    words = [note.split()[0] for note in machine.notes]
    assert words.index("update-ca-certificates") < words.index("apt-get")


def test_swap_is_off_now_and_later(machine: BareMachine) -> None:
    machine.prepared_by(programs="packages")
    fstab = machine.root / "etc/fstab"
    fstab.write_text("/dev/vda1 / ext4 defaults 0 1\n/swapfile none swap sw 0 0\n# /old none swap sw 0 0\n")
    swaps = machine.root / "proc/swaps"
    swaps.write_text("Filename Type Size\n/swapfile file 100\n")
    machine.has("swapoff", 'echo "Filename Type Size" >"$ROOT/proc/swaps"')
    assert machine.run("has-swap").returncode != 0
    assert machine.run("set-swap").returncode == 0
    assert fstab.read_text() == (
        "/dev/vda1 / ext4 defaults 0 1\n# quorate: /swapfile none swap sw 0 0\n# /old none swap sw 0 0\n"
    )
    assert machine.run("has-swap").returncode == 0


def test_a_larger_kernel_setting_is_kept(machine: BareMachine) -> None:
    machine.prepared_by(programs="packages")
    for module in ("br_netfilter", "nf_conntrack", "overlay"):
        (machine.root / "sys/module" / module).mkdir(parents=True)
    machine.has("sysctl", "echo 9999999")
    assert machine.run("has-kernel").returncode == 0
    machine.has("sysctl", "echo 128")
    assert machine.run("has-kernel").returncode != 0
    machine.has("sysctl", "exit 255")
    assert machine.run("has-kernel").returncode != 0


def test_a_kernel_without_a_module_says_so(machine: BareMachine) -> None:
    machine.prepared_by(programs="packages")
    machine.has("modprobe", "exit 1")
    done = machine.run("set-kernel")
    assert done.returncode == 1
    assert "this kernel has no module br_netfilter: install the kernel's package of modules" in done.stderr


def test_the_clock_follows_the_stacks_servers(machine: BareMachine) -> None:
    machine.prepared_by(programs="packages", timeServers=["ntp1.example.org", "10.20.0.1"])
    file = machine.root / "etc/chrony/chrony.conf"
    file.write_text("pool 2.debian.pool.ntp.org iburst\n")
    assert machine.run("has-clock").returncode != 0
    assert machine.run("set-clock").returncode == 0
    assert file.read_text().startswith("server ntp1.example.org iburst\nserver 10.20.0.1 iburst\ndriftfile")
    assert machine.run("has-clock").returncode == 0
    machine.prepared_by(programs="packages")
    file.write_text("pool 2.debian.pool.ntp.org iburst\n")
    assert machine.run("set-clock").returncode == 0
    assert file.read_text() == "pool 2.debian.pool.ntp.org iburst\n", "the distribution's own servers are kept"


def test_a_wrong_command_is_refused(machine: BareMachine) -> None:
    machine.prepared_by(programs="packages")
    assert machine.run("remove-everything").returncode == 2
    assert list((machine.root / "usr/bin").iterdir()) == []
