"""A node's script for another authority of Kubernetes, and the question before, with openssl and a stub of kubectl."""

from __future__ import annotations

import base64
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pulumi
import pytest
import yaml

from blueprint.plan.planner import plan
from blueprint.stackfile.certificate_generations import CertificateGenerations, Generations
from blueprint.stackfile.loader import load_file
from components import machine_files
from components.k8s_master import kubernetes_authority
from components.k8s_master.pki import Pki
from components.secrets import Keyring
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.k8s_master.test_certificates import REPLACEMENT, written
from tests.fakes import script
from tests.stacks import STACKS

MASTERS = plan(load_file(STACKS["dev"])).masters
SCRIPTS = Path(kubernetes_authority.__file__).parent
FIRST, (BOTH, NEXT, ALONE) = Generations(), REPLACEMENT
KUBECTL = """\
echo "$*" >>"$ROOT/log"
case "$*" in
*"auth whoami"*) [ ! -e "$ROOT/refused" ] || { echo "certificate signed by unknown authority" >&2; exit 1; } ;;
*" create "*)
  sed -n 's/.*"request":"\\([^"]*\\)".*/\\1/p' | base64 -d >"$ROOT/request"
  echo csr ;;
*"get certificatesigningrequest csr"*)
  openssl x509 -req -in "$ROOT/request" -CA "$ROOT/signer.crt" -CAkey "$ROOT/signer.key" -days 1 2>/dev/null |
    base64 -w 0 ;;
*" annotate "*) echo "${*##*=}" >"$ROOT/annotation" ;;
*"get node "*) cat "$ROOT/annotation" ;;
*"get nodes"*) cat "$ROOT/nodes" ;;
*"get pods --namespace=kube-system"*) cat "$ROOT/programs" ;;
*"get configmaps"*) cat "$ROOT/maps" ;;
*"get pods --all-namespaces"*) cat "$ROOT/pods" ;;
esac
"""


@dataclass
class Machine:
    """A machine's root, and the directories with what `apply` would write."""

    root: Path

    def files(self, generations: Generations, where: str = "") -> None:
        """Writes what masters and nodes are given."""
        pki = Pki(
            Keyring("kubernetes", pulumi.Output.from_input("root")), CertificateGenerations(kubernetes=generations)
        )
        texts = written((*pki.kubernetes_files(), *pki.discovery_file(MASTERS[0])))
        if not where:  # a node without the keys, which the controller manager has
            self.write(
                "signer.crt", texts.get("/etc/kubernetes/pki/signing-ca.crt", texts["/etc/kubernetes/pki/ca.crt"])
            )
            self.write("signer.key", texts["/etc/kubernetes/pki/ca.key"])
            texts = {path: text for path, text in texts.items() if path.endswith("discovery.conf")}
        for path, text in texts.items():
            self.write(f"{where}{path}"[not where :], text)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, name: str, *words: str) -> tuple[int, str]:
        """Runs a script. Returns the exit status and what it said."""
        return self._run("sh", str(SCRIPTS / f"{name}.sh"), *words)

    def step(self, check: str) -> tuple[int, str]:
        """Runs the check of a step, which calls the script where machines have it."""
        file = self.root / kubernetes_authority.SCRIPT[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((SCRIPTS / "kubernetes_authority.sh").read_bytes())
        return self._run("sh", "-euc", check)

    def _run(self, *command: str) -> tuple[int, str]:
        environment = {
            "PATH": f"{self.root}/bin{os.pathsep}{os.environ['PATH']}",
            "ROOT": str(self.root),
            "SECRETS": str(self.root / "secrets"),
            "ANSWERS": "0",
        }
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def node(self, word: str, generations: Generations) -> tuple[int, str]:
        return self.run("kubernetes_authority", word, kubernetes_authority.generations(generations))

    def ask(self, generations: Generations) -> str:
        """Asks whether a master may have these generations. Returns what is in the way; "" for nothing."""
        self.files(generations, "secrets")
        code, said = self.run("authority_question", kubernetes_authority.generations(generations), "10.20.0.21")
        assert bool(code) == bool(said)
        return said

    @property
    def log(self) -> str:
        file = self.root / "log"
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        file.unlink(missing_ok=True)
        return text


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A node that has joined with the first authority."""
    made = Machine(tmp_path)
    for name in ("bin", "run"):
        (tmp_path / name).mkdir()
    script(tmp_path / "bin", "kubectl", KUBECTL)
    script(tmp_path / "bin", "systemctl", 'echo "systemctl $*" >>"$ROOT/log"')
    made.write("etc/quorate/node.yaml", 'name: "cmp1"\n')
    made.write("annotation", "")
    made.files(FIRST)
    conf = (tmp_path / "etc/kubernetes/discovery.conf").read_text(encoding="utf-8")
    made.write("etc/kubernetes/kubelet.conf", conf)
    made.write("etc/kubernetes/pki/ca.crt", (tmp_path / "signer.crt").read_text(encoding="utf-8"))
    request = f"{tmp_path}/request"
    key = ["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{tmp_path}/key", "-subj", "/CN=x"]
    subprocess.run([*key, "-out", request], check=True, capture_output=True)
    sign = ["openssl", "x509", "-req", "-in", request, "-CA", f"{tmp_path}/signer.crt"]
    sign += ["-CAkey", f"{tmp_path}/signer.key", "-days", "1"]
    signed = subprocess.run(sign, check=True, capture_output=True, text=True)
    made.write("var/lib/kubelet/pki/kubelet-client-current.pem", signed.stdout)
    return made


def test_a_machine_that_never_had_another_authority_asks_nobody(tmp_path: Path) -> None:
    """The steps of all machines of the first authority, without any program that they could run."""
    made = plan(load_file(STACKS["dev"]))
    checks = [
        (step.name, step.check)
        for node in made.nodes
        if node.is_kubernetes_node
        for step in machine_files.parts(made, node, CERTIFICATES).steps
        if step.name in (kubernetes_authority.USE, "publish-authority", "forget-authority")
    ]
    assert len({name for name, _ in checks}) == 3
    environment = {"PATH": str(tmp_path), "ROOT": str(tmp_path)}
    for name, check in checks:
        done = subprocess.run(["/bin/sh", "-euc", check], env=environment, check=False, capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), name


def test_the_first_deployment_can_be_taken_back(machine: Machine) -> None:
    (use,) = kubernetes_authority.node_parts(plan(load_file(STACKS["dev"])), "join").steps
    machine.files(BOTH)
    assert machine.node("use", BOTH) == (0, "")
    machine.files(FIRST)
    assert machine.step(use.check) == (1, "")
    assert machine.node("use", FIRST) == (0, "")
    assert (machine.root / "annotation").read_text(encoding="utf-8") == "g1-of-g1\n"
    assert trusted(machine, "kubelet.conf") == trusted(machine, "discovery.conf")
    assert len(trusted(machine, "kubelet.conf")) == 2, "one, and what is after it"
    assert machine.step(use.check) == (0, "")


def trusted(machine: Machine, name: str) -> set[str]:
    """The authorities in a kubeconfig; their order means nothing."""
    conf = yaml.safe_load((machine.root / "etc/kubernetes" / name).read_text(encoding="utf-8"))
    text = base64.b64decode(conf["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    return {each.strip() for each in text.split("-----END CERTIFICATE-----")}


def test_a_node_follows_all_three_deployments(machine: Machine) -> None:
    pem = machine.root / "var/lib/kubelet/pki/kubelet-client-current.pem"
    old = pem.read_bytes()
    for generations, value in ((BOTH, "g1-of-g1-g2"), (NEXT, "g2-of-g1-g2"), (ALONE, "g2-of-g2")):
        machine.files(generations)
        assert machine.node("used", generations)[0] == 1
        assert machine.node("use", generations) == (0, "")
        assert (machine.root / "annotation").read_text(encoding="utf-8") == f"{value}\n"
        said = machine.log
        assert said.count("systemctl restart kubelet.service") == 1
        assert (" create " in said) == (generations == NEXT), "it gets another certificate once"
        assert machine.node("used", generations) == (0, "")
        assert trusted(machine, "kubelet.conf") == trusted(machine, "discovery.conf")
    assert pem.read_bytes() != old
    assert pem.is_symlink()
    assert oct(pem.stat().st_mode)[-3:] == "600"


def test_a_certificate_of_the_other_authority_is_not_taken(machine: Machine) -> None:
    """A master has not changed yet, and its controller manager signs."""
    signer = [(machine.root / f"signer.{end}").read_text(encoding="utf-8") for end in ("crt", "key")]
    machine.files(NEXT)
    for end, text in zip(("crt", "key"), signer, strict=True):
        machine.write(f"signer.{end}", text)
    code, said = machine.node("use", NEXT)
    assert (code, "Finish apply on all masters" in said) == (1, True)
    assert "restart" not in machine.log
    assert not (machine.root / "var/lib/kubelet/pki/kubelet-client-current.pem").is_symlink()
    assert machine.node("used", NEXT)[0] == 1, "it has begun"
    machine.files(NEXT)
    assert machine.node("use", NEXT) == (0, "")


def test_nothing_changes_while_api_servers_refuse_the_authority(machine: Machine) -> None:
    before = (machine.root / "etc/kubernetes/kubelet.conf").read_bytes()
    machine.files(NEXT)
    machine.write("refused", "")
    code, said = machine.node("use", NEXT)
    assert (code, "signed by unknown authority. Finish apply on all masters" in said) == (1, True)
    assert (machine.root / "etc/kubernetes/kubelet.conf").read_bytes() == before


@pytest.fixture
def master(machine: Machine) -> Machine:
    """A master of a cluster after the first deployment."""
    machine.files(BOTH, "installed")
    for name in ("ca.crt", "ca.key"):
        machine.write(f"etc/kubernetes/pki/{name}", (machine.root / f"installed/etc/kubernetes/pki/{name}").read_text())
    for name, kind in (("nodes", "Node"), ("programs", "Pod")):
        machine.write(name, "".join(f"{kind} {kind.lower()}{each} [g1-of-g1-g2]\n" for each in (1, 2)))
    both = (machine.root / "installed/etc/kubernetes/pki/trusted-ca.crt").read_text(encoding="utf-8")
    machine.write("maps", f"namespace kube-system 2026-11-30T10:00:00Z 2026-11-30T09:00:00Z\n{both}\n")
    machine.write("pods", POD.format("kube-root-ca.crt", "2026-11-30T10:02:30Z"))
    return machine


POD = "kube-system DaemonSet/kube-proxy kube-proxy-x [{}] {}\n"


def test_the_next_deployment_may_begin(master: Machine) -> None:
    assert master.ask(BOTH) == ""
    assert master.log == "", "nothing changes, nothing is asked"
    assert master.ask(NEXT) == ""


@pytest.mark.parametrize(
    ("annotation", "generations", "said"),
    [
        ("", NEXT, "Node cmp7 does not trust g2 yet."),
        ("", BOTH, ""),
        ("g1-of-g1-g2", ALONE, "Node cmp7 still uses g1."),
        ("g2-of-g1-g2", ALONE, ""),
        ("g10-of-g10", NEXT, "Node cmp7 does not trust g2 yet."),
    ],
)
def test_a_node_that_could_not_go_on_is_named(
    master: Machine, annotation: str, generations: Generations, said: str
) -> None:
    master.write("nodes", f"Node cmp7 [{annotation}]\n")
    master.write("programs", "Pod kube-scheduler-master1 [g2-of-g1-g2]\n")
    found = master.ask(generations)
    assert (said in found) if said else (found == "")


def test_a_program_of_a_master_is_asked_too(master: Machine) -> None:
    assert "Pod pod1 still uses g1, Pod pod2 still uses g1." in master.ask(ALONE).replace("Node node", "Pod pod")


def test_an_api_server_that_refuses_is_named(master: Machine) -> None:
    master.write("refused", "")
    found = master.ask(NEXT)
    assert "the API server of 10.20.0.21 does not accept the authority that would be used here" in found


@pytest.mark.parametrize(
    ("pods", "named"),
    [
        (POD.format("kube-root-ca.crt", "2026-11-30T10:02:29Z"), "kube-system:DaemonSet/kube-proxy"),
        (
            POD.format("kube-root-ca.crt", "2026-11-30T10:05:00Z 2026-11-30T09:00:00Z"),
            "kube-system:DaemonSet/kube-proxy",
        ),
        (POD.format("a kube-root-ca.crt b", "2026-11-30T10:02:30Z"), ""),
        (POD.format("kube-root-ca.crt", ""), ""),
        (POD.format("other", "2026-11-30T09:00:00Z"), ""),
        ("default / single [kube-root-ca.crt] 2026-11-30T12:00:00Z\n", "default:Pod/single"),
    ],
    ids=["just too early", "one container too early", "late enough", "does not run", "without it", "not published"],
)
def test_pods_that_have_not_read_the_new_authority_are_named(master: Machine, pods: str, named: str) -> None:
    master.write("pods", pods)
    found = master.ask(NEXT)
    assert (f"after: {named}. Restart them" in found) if named else (found == "")


def test_a_machine_that_has_not_joined_asks_nobody(master: Machine) -> None:
    (master.root / "etc/kubernetes/kubelet.conf").unlink()
    master.write("refused", "")
    assert master.ask(NEXT) == ""
    assert master.log == ""
