"""The step that gives libvirt and QEMU a compute's certificate, with stand-ins for libvirtd and virt-admin.

tests/trials/services/test_computes_authority.py has the real ones.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.certificate_generations import CertificateGenerations, Generations
from blueprint.stackfile.loader import load_file
from components import compute_certificate
from components.k8s_master.pki import Pki
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.k8s_master.test_certificates import KEYRING, REPLACEMENT, of_nodes, written
from tests.fakes import script
from tests.stacks import STACKS

MADE = plan(load_file(STACKS["dev"]))
COMPUTES = MADE.carrying("compute")
(STEP,) = compute_certificate.parts(MADE, COMPUTES, CERTIFICATES).steps
PROGRAM = Path(compute_certificate.__file__).with_name("compute_certificate.sh")
PKI = "etc/quorate/compute/pki"
NSENTER = """\
echo "$*" >>"$ROOT/log"
[ ! -e "$ROOT/failing" ] || { echo "cannot connect" >&2; exit 1; }
cat "$ROOT/etc/quorate/compute/pki/libvirt/servercert.pem" >"$ROOT/served"
"""


class Compute:
    """A compute's root directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in (("nsenter", NSENTER), ("chown", "")):
            script(root / "bin", name, text)

    def deploy(self, generations: Generations) -> None:
        """Writes the files that `apply` does before its steps."""
        authority, *own = Pki(KEYRING, CertificateGenerations(computes=generations)).compute_files(COMPUTES)
        texts = {path: of_node[COMPUTES[0].name] for path, of_node in of_nodes(tuple(own)).items()}
        for path, text in (written((authority,)) | texts).items():
            self.write(path.lstrip("/"), text)
        self.write(compute_certificate.SCRIPT.lstrip("/"), PROGRAM.read_text(encoding="utf-8"))

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def run(self, command: Literal["check", "apply", "leave"]) -> subprocess.CompletedProcess[str]:
        """Runs a command of the step."""
        text = {"check": STEP.check, "apply": STEP.apply, "leave": STEP.leave}[command]
        path = f"{self.root}/bin:{os.environ['PATH']}"
        variables = {"PATH": path, "ROOT": str(self.root), "ANSWERS": "0"}
        return subprocess.run(
            ["sh", "-ec", text], env=variables, capture_output=True, text=True, check=False, start_new_session=True
        )

    def is_used(self) -> bool:
        return self.run("check").returncode == 0

    def start(self, process: int, pki: str = PKI, name: str = "libvirtd") -> None:
        """Starts a process whose /etc/pki has the directories of `pki`."""
        (self.root / pki / "qemu").mkdir(parents=True, exist_ok=True)
        self.write(f"proc/{process}/comm", f"{name}\n")
        (self.root / f"proc/{process}/root/etc").mkdir(parents=True)
        (self.root / f"proc/{process}/root/etc/pki").symlink_to(self.root / pki)


@pytest.fixture
def compute(tmp_path: Path) -> Compute:
    made = Compute(tmp_path)
    made.deploy(Generations())
    return made


def test_a_new_compute_has_the_files_before_libvirtd_starts(compute: Compute) -> None:
    assert not compute.is_used()
    assert compute.run("apply").returncode == 0
    assert compute.is_used()
    assert not (compute.root / "log").exists()
    files: dict[str, list[str]] = {"ca.crt": [], "tls.crt": [], "tls.key": []}
    for path in sorted((compute.root / PKI).rglob("*.pem")):
        assert path.stat().st_mode & 0o777 == 0o600
        name = "ca.crt" if "ca" in path.name else "tls.key" if "key" in path.name else "tls.crt"
        assert path.read_text(encoding="utf-8") == compute.read(f"etc/quorate/compute/{name}")
        files[name].append(str(path.relative_to(compute.root / PKI)))
    # libvirt's and QEMU's own names.
    assert files == {
        "ca.crt": ["CA/cacert.pem", "qemu/ca-cert.pem"],
        "tls.crt": ["libvirt/clientcert.pem", "libvirt/servercert.pem", "qemu/client-cert.pem", "qemu/server-cert.pem"],
        "tls.key": ["libvirt/private/clientkey.pem", "libvirt/private/serverkey.pem", "qemu/client-key.pem",
                    "qemu/server-key.pem"],
    }  # fmt: skip
    assert all((compute.root / PKI / name).stat().st_mode & 0o777 == 0o755 for name in ("CA", "libvirt", "qemu"))


def test_a_libvirtd_that_runs_reads_each_generation(compute: Compute) -> None:
    assert compute.run("apply").returncode == 0
    compute.start(41)
    for generations in REPLACEMENT:
        compute.deploy(generations)
        assert not compute.is_used()
        assert compute.run("apply").returncode == 0
        assert compute.is_used()
        assert compute.read("served") == compute.read("etc/quorate/compute/tls.crt")
    command = "virt-admin --connect=libvirtd:///system server-update-tls libvirtd"
    assert compute.read("log").splitlines() == [f"--target=41 --mount --root {command}"] * len(REPLACEMENT)


def test_the_libvirtd_of_a_virt_host_and_virtual_machines_are_left_alone(compute: Compute) -> None:
    assert compute.run("apply").returncode == 0
    compute.start(40, pki="etc/pki")
    compute.start(41)
    compute.start(42, name="qemu-system-x86")
    compute.deploy(REPLACEMENT[0])
    assert compute.run("apply").returncode == 0
    assert [line.split()[0] for line in compute.read("log").splitlines()] == ["--target=41"]


def test_a_libvirtd_that_has_not_read_the_files_stops_the_deployment(compute: Compute) -> None:
    assert compute.run("apply").returncode == 0
    compute.start(41)
    compute.deploy(REPLACEMENT[0])
    compute.write("failing", "")
    done = compute.run("apply")
    assert done.returncode == 1
    assert done.stderr == (
        "libvirtd in the pod of nova-libvirt has not read this compute's certificate again: cannot connect\n"
    )
    assert not compute.is_used(), "the next deployment tries again, although the files are in place"
    (compute.root / "failing").unlink()
    assert compute.run("apply").returncode == 0
    assert compute.is_used()


def test_an_interrupted_step_runs_again(compute: Compute) -> None:
    """Killed between the files and libvirtd's answer."""
    assert compute.run("apply").returncode == 0
    compute.start(41)
    compute.deploy(REPLACEMENT[1])
    script(compute.root / "bin", "nsenter", "kill -KILL 0")
    assert compute.run("apply").returncode == -signal.SIGKILL
    assert compute.read(f"{PKI}/libvirt/servercert.pem") == compute.read("etc/quorate/compute/tls.crt")
    assert not compute.is_used()
    script(compute.root / "bin", "nsenter", NSENTER)
    assert compute.run("apply").returncode == 0
    assert compute.is_used()


def test_qemu_s_files_belong_to_its_user(compute: Compute) -> None:
    script(compute.root / "bin", "chown", 'echo "$*" >>"$ROOT/owners"')
    assert compute.run("apply").returncode == 0
    owners = [line.split() for line in compute.read("owners").splitlines()]
    assert {user for user, _ in owners} == {"42436"}
    names = {Path(path).name.removesuffix(".quorate") for _, path in owners}
    assert names == {"ca-cert.pem", "server-cert.pem", "server-key.pem", "client-cert.pem", "client-key.pem"}


def test_a_machine_that_leaves_keeps_no_key(compute: Compute) -> None:
    assert compute.run("apply").returncode == 0
    assert compute.run("leave").returncode == 0
    assert list((compute.root / "etc/quorate/compute").rglob("*.pem")) == []
