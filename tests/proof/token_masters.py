"""Masters with a real API server and controller manager each, as processes on loopback addresses, before one etcd.

Each master has a root directory of its own with the rendered files. kubeadm writes its manifests there. A thread does
what kubelet does with them: it runs the commands, starts them again when a manifest changes, and reports them as pods.
"""

from __future__ import annotations

import contextlib
import os
import ssl
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from cluster.api import MERGE, Api, ApiError, Unreachable
from cluster.kubeconfig import read_kubeconfig
from components import machine_files
from components.k8s_master import service_account_keys
from components.k8s_master.pki import Pki
from components.kubelet import CONFIGURATION, PATCHES
from components.machine import Step, filled, variables
from components.secrets import Keyring
from proof.processes import ChildProcess, Processes
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.k8s_master.test_certificates import written
from tests.proof.etcd_machines import address, until
from tests.stacks import STACKS, parsed

LIFETIME = 1
"""Seconds for which the question takes tokens to be valid, in place of an hour, unless a pod has longer ones."""
WATCHED = 15
"""Seconds in which it watches uses of old tokens, in place of 10 minutes. API servers look at a token every 10 s."""
SPREADS = 3
"""Seconds in which it takes a changed ConfigMap to be in all pods, in place of 150."""
ANSWERS = 240
"""Seconds until an API server must answer, in place of 60: on a busy host."""
PODS = "/api/v1/namespaces/kube-system/pods"
STEPS = ("configure-api-server", "configure-controller-manager")
PROGRAMS = {
    "kube-apiserver": (6443, "/readyz"),
    "kube-controller-manager": (10257, "/healthz"),
    "kube-scheduler": (10259, "/healthz"),
}
_KUBECTL = """\
#!/bin/sh
# The machines' addresses are loopback addresses here. Without an address, the own API server is asked.
server={prefix}.{number}
for word; do
  shift
  case $word in
  --server=https://10.20.0.2?:6443) word=${{word%:*}} server={prefix}.${{word##*.2}} ;;
  --server=https://127.0.0.1:6443) ;;
  *) set -- "$@" "$word" ;;
  esac
done
exec {kubectl} --server="https://$server:6443" "$@"
"""
_KUBEADM = """\
#!/bin/sh
# With the machine's root directory as root. kubeadm's own option for it is hidden, and some of its commands lack it.
case $1 in
init) exec {kubeadm} init phase "$3" "$4" --rootfs="$ROOT" --config="${{6#"$ROOT"}}" ;;
*)
  for word; do
    shift
    case $word in --config=*) word=--config=${{word#--config="$ROOT"}} ;; esac
    set -- "$@" "$word"
  done
  exec {kubeadm} "$@" --rootfs="$ROOT"
  ;;
esac
"""


@dataclass
class TokenMaster:
    """A master's root directory, and the thread in place of its kubelet."""

    number: int
    root: Path
    kubelet: threading.Thread | None = None
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def name(self) -> str:
        return f"master{self.number}"

    @property
    def url(self) -> str:
        return f"https://{address(self.number)}:6443"

    def api(self) -> Api:
        """The API of its own server, for an administrator."""
        return Api(read_kubeconfig(self.root / "etc/kubernetes/admin.conf"), timeout=10)

    def begin(self, script: str) -> subprocess.Popen[str]:
        """Starts shell commands of a step, in a session of their own."""
        environment = {
            "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}",
            "ROOT": str(self.root),
            "HOME": str(self.root),  # for kubectl's cache
            "LIFETIME": str(LIFETIME),
            "WATCHED": str(WATCHED),
            "SPREADS": str(SPREADS),
            "ANSWERS": str(ANSWERS),
        }
        return subprocess.Popen(
            ["sh", "-euc", script], env=environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, script: str) -> tuple[int, str]:
        """Runs shell commands of a step. Returns the exit status and the output."""
        process = self.begin(script)
        output, _ = process.communicate(timeout=600)
        return process.returncode, output

    def apply(self, steps: list[Step]) -> str:
        """Runs steps as `apply` does. Returns the output of one that fails; "" if all are done."""
        for step in steps:
            if self.run(step.check)[0]:
                code, output = self.run(step.apply)
                if code:
                    return output or "no output"
                assert self.run(step.check)[0] == 0, step.name
        return ""

    def start(self) -> None:
        """Starts the thread that runs the manifests."""
        self.kubelet = threading.Thread(target=self._run_manifests)
        self.kubelet.start()

    def stop(self) -> None:
        self.over.set()
        if self.kubelet:
            self.kubelet.join()

    def _run_manifests(self) -> None:
        begun: dict[str, tuple[str, ChildProcess]] = {}
        unreported: set[str] = set()
        processes = Processes(self.root.parent)
        while not self.over.wait(0.2):
            for program in PROGRAMS:
                file = self.root / f"etc/kubernetes/manifests/{program}.yaml"
                text = file.read_text(encoding="utf-8") if file.exists() else ""
                before, process = begun.get(program, ("", None))
                # A controller manager that loses its lease ends, and kubelet starts it again.
                has_ended = process is not None and process.has_ended
                if text.endswith("\n") and (text != before or has_ended):
                    if process:
                        process.child.terminate()
                        process.child.wait()
                    command = self._command(program, yaml.safe_load(text)["spec"]["containers"][0]["command"])
                    begun[program] = (text, processes.start(f"{self.name}-{program}", command))
                    unreported.add(program)
                elif program in unreported and self._is_ready(program) and self._report(yaml.safe_load(before)):
                    unreported.remove(program)
        processes.stop()

    def _command(self, program: str, command: list[str]) -> list[str]:
        """Returns a program with the arguments of its manifest, and those that a loopback address needs."""
        own = ("--etcd-", "--bind-address", "--secure-port")
        words = [self._local(word) for word in command if not word.startswith(own)]
        words += [f"--bind-address={address(self.number)}", f"--secure-port={PROGRAMS[program][0]}"]
        if program == "kube-apiserver":
            words += ["--etcd-servers=unix://client:1", "--endpoint-reconciler-type=none"]
        return [str(self.root / "bin" / words[0]), *words[1:]]

    def _local(self, word: str) -> str:
        for path in ("/etc/kubernetes", "/var/log/kubernetes"):
            word = word.replace(f"={path}", f"={self.root}{path}")
        return word

    def _is_ready(self, program: str) -> bool:
        port, path = PROGRAMS[program]
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with contextlib.suppress(OSError):
            url = f"https://{address(self.number)}:{port}{path}"
            with urllib.request.urlopen(url, context=context, timeout=5):
                return True
        return False

    def _report(self, pod: dict[str, Any]) -> bool:
        """Writes the pod, bound to no node, since there is none. Returns whether that was possible."""
        pod["metadata"]["name"] += f"-{self.name}"
        pod["spec"].pop("priority", None)
        pod["spec"]["automountServiceAccountToken"] = False  # as no static pod has one
        path = f"{PODS}/{pod['metadata']['name']}"
        status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        try:
            if self.api().call("GET", path).status == 200:
                self.api().ask("DELETE", path, {"gracePeriodSeconds": 0})
            self.api().ask("POST", PODS, pod)
            self.api().ask("PATCH", f"{path}/status", status, content=MERGE)
        except (ApiError, Unreachable):
            return False
        return True


class TokenMasters:
    """Three masters of the stack dev."""

    def __init__(self, directory: Path, binaries: Path, kubectl: Path) -> None:
        self.all = [TokenMaster(number, directory / f"master{number}") for number in (1, 2, 3)]
        self.binaries, self.kubectl = binaries, kubectl

    def place(self, machine: TokenMaster, generations: dict[str, Any]) -> None:
        """Writes the files of a master."""
        self.write(machine, generations)

    def write(self, master: TokenMaster, keys: dict[str, Any]) -> list[Step]:
        """Writes the files of a master for these generations of keys. Returns the steps that are to follow."""
        made = planned(keys)
        node = next(each for each in made.masters if each.name == master.name)
        parts = machine_files.parts(made, node, CERTIFICATES)
        pki = Pki(Keyring("kubernetes", pulumi.Output.from_input("root")), made.settings.certificates)
        texts = filled(parts, variables(node)) | written((*pki.kubernetes_files(), *pki.encryption_file()))
        kept = (CONFIGURATION, PATCHES, "/etc/kubernetes/pki", "/etc/kubernetes/audit", service_account_keys.SCRIPT)
        for file in (master.root / PATCHES[1:]).glob("kube-*"):
            file.unlink()
        for path, text in texts.items():
            if path.startswith(kept):
                write(master.root / path[1:], text)
        return [each for name in STEPS for each in parts.steps if each.name == name]

    def deploy(self, machine: TokenMaster, generations: dict[str, Any]) -> str:
        """Gives a master other keys as `apply` does. Returns why it was refused; "" if it was not."""
        return machine.apply(self.write(machine, generations))

    def initialise(self) -> None:
        """Makes certificates, kubeconfigs and manifests, and starts all programs."""
        for master in self.all:  # before the first thread: a program that is being written cannot be run
            install(master, self.binaries, self.kubectl)
        for master in self.all:
            self.place(master, {})
            (master.root / "var/log/kubernetes").mkdir(parents=True)
            certificates = ("apiserver", "apiserver-kubelet-client", "front-proxy-client")
            kubeconfigs = ("admin", "super-admin", "controller-manager", "scheduler")
            for words in (*(f"certs {name}" for name in certificates), *(f"kubeconfig {name}" for name in kubeconfigs),
                          "control-plane all"):  # fmt: skip
                code, output = master.run(f'kubeadm init phase {words} --config "$ROOT{CONFIGURATION}"')
                assert code == 0, output
            for name in ("super-admin", "controller-manager", "scheduler"):
                file = master.root / f"etc/kubernetes/{name}.conf"
                lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
                text = "".join(_replaced(line, "server: ", master.url) for line in lines)
                file.write_text(text, encoding="utf-8")
            # Nobody binds the administrators' group to its role here.
            conf = master.root / "etc/kubernetes/super-admin.conf"
            (master.root / "etc/kubernetes/admin.conf").write_bytes(conf.read_bytes())
            master.start()

    def start_etcd(self, processes: Processes) -> None:
        processes.start("etcd", [self.binaries / "etcd", "--data-dir=data", "--unsafe-no-fsync", "--log-level=error",
                                 "--listen-client-urls=unix://client:1", "--advertise-client-urls=unix://client:1",
                                 "--listen-peer-urls=unix://peer:1", "--initial-advertise-peer-urls=unix://peer:1",
                                 "--initial-cluster=default=unix://peer:1"])  # fmt: skip


def install(machine: TokenMaster, binaries: Path, kubectl: Path) -> None:
    """Gives a machine its programs. On a node that is not a master, kubectl asks the third API server."""
    prefix = address(0).removesuffix(".0")
    scripts = {
        "kubectl": _KUBECTL.format(kubectl=kubectl, prefix=prefix, number=min(machine.number, 3)),
        "kubeadm": _KUBEADM.format(kubeadm=binaries / "kubeadm"),
    }
    for name, text in scripts.items():
        write(machine.root / "bin" / name, text)
        (machine.root / "bin" / name).chmod(0o755)
    for name in PROGRAMS:
        (machine.root / "bin" / name).symlink_to(binaries / name)


def planned(keys: dict[str, Any]) -> Plan:
    """The plan of dev with these generations of keys. Certificates of API servers have the loopback addresses."""
    found = yaml.safe_load(STACKS["dev"].read_text(encoding="utf-8"))["config"]
    config = {key.removeprefix("quorate:"): value for key, value in found.items()}
    names = [address(number) for number in (1, 2, 3)]
    certificates = {"certificates": {"serviceAccounts": keys}} if keys else {}
    return plan(parsed({**config, "apiServers": {"names": names}, **certificates}))


@contextmanager
def token_masters(directory: Path, binaries: Path, node: Path) -> Generator[TokenMasters]:
    """Yields three masters that run. `node`: directory with kubectl."""
    made = TokenMasters(directory, binaries, node / "kubectl")
    with running(made, directory):
        yield made


@contextmanager
def running(made: TokenMasters, directory: Path) -> Generator[None]:
    """Starts etcd and the programs of all masters, and ends them afterwards."""
    etcd = Processes(directory)
    try:
        made.start_etcd(etcd)
        made.initialise()
        for each in made.all:
            for program in PROGRAMS:
                until(lambda each=each, program=program: reported(each, program), 300)
        yield
    finally:
        for each in made.all:
            each.over.set()
        for each in made.all:
            each.stop()
        etcd.stop()


@contextmanager
def asking(ask: Callable[[int], object], refused: list[str]) -> Generator[None]:
    """Calls `ask` with 1, 2, 3 and so on in a thread. An exception ends it, and is added to `refused`."""
    over = threading.Event()

    def ask_all() -> None:
        number = 0
        while not over.wait(0.1):
            number += 1
            try:
                ask(number)
            except Exception as error:  # a test that stops asking has seen nothing
                refused.append(repr(error))
                return

    thread = threading.Thread(target=ask_all)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def reported(master: TokenMaster, program: str) -> bool:
    try:
        found = master.api().ask("GET", f"{PODS}/{program}-{master.name}")
    except (ApiError, Unreachable):
        return False
    return bool(found.get("status", {}).get("conditions"))


def _replaced(line: str, key: str, value: str) -> str:
    return f"{line[: line.index(key)]}{key}{value}\n" if key in line else line


def write(path: Path, text: str) -> None:
    """Replaces a file at once, if it differs, as `apply` does."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.rename(path)
