"""A master renews the certificates of the real kubeadm, one master at a time. The API server is a stand-in."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.k8s_master import kubeadm
from tests.stacks import ROOT, STACKS

SCRIPT = ROOT / "components/k8s_master/renew_certificates.sh"
TRUSTED = "dHdvIGF1dGhvcml0aWVz"
"""The authorities that clients trust, of which kubeadm writes only one."""
OTHERS = ("10.20.0.22", "10.20.0.23")
KUBECTL = """\
#!/bin/sh
case "$*" in
*/readyz*)
  for word; do case $word in --server=*) host=${word#--server=https://} ;; esac; done
  [ ! -e "$ROOT/down-${host%:*}" ] ;;
*"create configmap"*) [ ! -e "$ROOT/holder" ] && uname -n >"$ROOT/holder" && echo taken >>"$ROOT/turns" ;;
*"get configmap"*) cat "$ROOT/holder" ;;
*"delete configmap"*) rm -f "$ROOT/holder" && echo given >>"$ROOT/turns" ;;
esac
"""
OPENSSL = """\
#!/bin/sh
# The API server shows the certificate that it has read at its start.
if [ "$1" = s_client ]; then
  if grep -q '^State:.[RS]' "/proc/$(cat "$ROOT/server")/status"; then exec cat "$ROOT/read.crt"; fi
  exec cat "$ROOT/etc/kubernetes/pki/apiserver.crt"
fi
exec {openssl} "$@"
"""


@dataclass
class RenewingMaster:
    """A master's directory with kubeadm's certificates, and a process that stands for its API server."""

    root: Path
    server: subprocess.Popen[bytes]

    def run(self, days: int = 400, code: int = 0, path: str = "") -> str:
        """Runs the script, which must end with `code`. `days`: certificates of a year are due with 400."""
        path = path or f"{self.root / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", str(SCRIPT), *OTHERS],
            env={"PATH": path, "ROOT": str(self.root), "DAYS": str(days)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def certificates(self) -> dict[str, str]:
        """Texts of all files with certificates that expire."""
        directory = self.root / "etc/kubernetes"
        names = ("apiserver.crt", "apiserver-kubelet-client.crt", "front-proxy-client.crt")
        confs = ("admin.conf", "controller-manager.conf", "scheduler.conf")
        paths = (*(directory / "pki" / name for name in names), *(directory / name for name in confs))
        return {path.name: path.read_text() for path in paths}

    def turns(self) -> list[str]:
        """When the master took its turn and gave it away."""
        file = self.root / "turns"
        return file.read_text().split() if file.exists() else []

    @property
    def has_restarted(self) -> bool:
        """Whether the API server was ended."""
        return self.server.poll() is not None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, binaries: Path) -> Path:
    """The directory of a master with certificates of a year, which tests copy."""
    root = tmp_path_factory.mktemp("master")
    initialise(root, binaries)
    return root


@pytest.fixture(autouse=True)
def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("kubeadm goes into another root directory")


def initialise(root: Path, binaries: Path, **more: str) -> None:
    """Makes certificates as `kubeadm init` does. `more`: of the configuration."""
    directory = root / "etc/kubernetes"
    directory.mkdir(parents=True)
    documents = [
        {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "InitConfiguration",
         "localAPIEndpoint": {"advertiseAddress": "10.20.0.21"}},
        kubeadm.cluster_configuration(plan(load_file(STACKS["dev"]))) | more,
    ]  # fmt: skip
    file = directory / "kubeadm.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    for words in (["certs", "ca"], ["certs", "apiserver"], ["certs", "apiserver-kubelet-client"],
                  ["certs", "front-proxy-ca"], ["certs", "front-proxy-client"],
                  *(["kubeconfig", name] for name in ("admin", "controller-manager", "scheduler"))):  # fmt: skip
        # It goes into the directory as its root, and keeps to its own paths there.
        inside = [f"--rootfs={root}", "--config=/etc/kubernetes/kubeadm.yaml"]
        command = [str(binaries / "kubeadm"), "init", "phase", *words, *inside]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def with_programs(root: Path, binaries: Path) -> RenewingMaster:
    """Adds the programs that the script calls, and the process."""
    server = subprocess.Popen(["sleep", "60"])
    (root / "server").write_text(str(server.pid))
    shutil.copy(root / "etc/kubernetes/pki/apiserver.crt", root / "read.crt")
    (root / "etc/kubernetes/discovery.conf").write_text(f"    certificate-authority-data: {TRUSTED}\n")
    (root / "bin").mkdir()
    programs = {
        "kubectl": KUBECTL,
        "openssl": OPENSSL.format(openssl=shutil.which("openssl")),
        "kubeadm": f'#!/bin/sh\nexec {binaries}/kubeadm "$1" "$2" "$3" --rootfs="$ROOT" "--config=${{4#*$ROOT}}"\n',
        "pidof": f'#!/bin/sh\n[ "$1" = kube-apiserver ] && echo {server.pid}\n',
    }
    for name, text in programs.items():
        (root / "bin" / name).write_text(text)
        (root / "bin" / name).chmod(0o755)
    return RenewingMaster(root, server)


@pytest.fixture
def master(made: Path, tmp_path: Path, binaries: Path) -> Generator[RenewingMaster]:
    root = tmp_path / "master"
    shutil.copytree(made, root)
    found = with_programs(root, binaries)
    yield found
    found.server.kill()
    found.server.wait()


def test_nothing_is_done_before_they_are_due(master: RenewingMaster) -> None:
    before = master.certificates()
    assert "all certificates of kubeadm are valid for 90 days more" in master.run(days=90)
    assert master.certificates() == before
    assert (master.turns(), master.has_restarted) == ([], False)


def test_all_are_renewed_and_the_api_server_reads_them(master: RenewingMaster) -> None:
    before = master.certificates()
    assert "renewed the certificates" in master.run()
    after = master.certificates()
    assert [name for name in before if before[name] == after[name]] == []
    confs = [text for name, text in after.items() if name.endswith(".conf")]
    assert [f"certificate-authority-data: {TRUSTED}\n" in text for text in confs] == [True] * 3
    assert (master.turns(), master.has_restarted) == (["taken", "given"], True)
    assert not (master.root / "etc/kubernetes/renewal").exists()


def test_another_api_server_must_answer(master: RenewingMaster) -> None:
    before = master.certificates()
    (master.root / f"down-{OTHERS[1]}").touch()
    assert f"the API server of {OTHERS[1]} does not answer" in master.run(code=1)
    assert (master.certificates(), master.turns(), master.has_restarted) == (before, [], False)


def test_another_master_has_its_turn(master: RenewingMaster) -> None:
    before = master.certificates()
    (master.root / "holder").write_text("master2")
    assert "master2 renews its certificates now" in master.run(code=1)
    assert (master.certificates(), master.turns(), master.has_restarted) == (before, [], False)
    assert "valid for 90 days more" in master.run(days=90), "it has not begun"


def test_without_openssl_nothing_is_known(master: RenewingMaster) -> None:
    before = master.certificates()
    (master.root / "bin/openssl").unlink()
    needed = ("base64", "cat", "kubectl", "kubeadm", "rm", "sed", "sh", "uname")
    for name in needed:
        if not (master.root / "bin" / name).exists():
            (master.root / "bin" / name).symlink_to(shutil.which(name) or name)
    assert "there is no openssl on this machine" in master.run(code=1, path=str(master.root / "bin"))
    assert (master.certificates(), master.turns(), master.has_restarted) == (before, [], False)


def test_an_interrupted_run_starts_again(master: RenewingMaster) -> None:
    """It had renewed the files, and the API server had not read them."""
    (master.root / "etc/kubernetes/renewal").touch()
    (master.root / "holder").write_text(os.uname().nodename)
    assert "renewed the certificates" in master.run(days=90)
    assert (master.turns(), master.has_restarted) == (["given"], True)
    assert not (master.root / "holder").exists()


@pytest.mark.parametrize("validity", ["8760h0m0s", "1s"], ids=["due", "expired"])
def test_files_that_no_program_has_read_are_due_again(tmp_path: Path, binaries: Path, validity: str) -> None:
    """The run ended after kubeadm had renewed them."""
    root = tmp_path / "master"
    initialise(root, binaries, certificateValidityPeriod=validity)
    file = root / "etc/kubernetes/kubeadm.yaml"
    file.write_text(file.read_text().replace(f"certificateValidityPeriod: {validity}\n", ""))
    found = with_programs(root, binaries)
    time.sleep(2)
    program = root / "bin/kubeadm"
    text = program.read_text()
    program.write_text(f"{text.replace('exec ', '')}exit 1\n")
    found.run(code=1)
    assert not found.has_restarted
    program.write_text(text)
    assert "renewed the certificates" in found.run(days=90)
    assert found.has_restarted
    found.server.wait()


def test_expired_ones_are_renewed_without_a_question(tmp_path: Path, binaries: Path) -> None:
    """No API server would answer this master."""
    root = tmp_path / "master"
    initialise(root, binaries, certificateValidityPeriod="1s")
    file = root / "etc/kubernetes/kubeadm.yaml"
    file.write_text(file.read_text().replace("certificateValidityPeriod: 1s\n", ""))
    found = with_programs(root, binaries)
    for each in OTHERS:
        (root / f"down-{each}").touch()
    before = found.certificates()
    time.sleep(2)
    assert "renewed the certificates" in found.run(days=90)
    assert found.has_restarted
    assert [name for name, text in found.certificates().items() if text == before[name]] == []
    assert not (root / "etc/kubernetes/renewal").exists()
    found.server.wait()
