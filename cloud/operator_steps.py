"""Brings the machines' Kubernetes up by their rendered `apply`, in the order in which an operator runs it.

Between two runs an operator places what `apply` waits for: certificates on the masters, and a discovery file with a
bootstrap token on every machine that joins.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address
from pathlib import Path

import yaml

from cloud import nspawn
from cloud.certificates import Authority, Pair
from cloud.lab_machines import Lab, Machine
from toolchain.progress import UserError

RENDERED = "/root/rendered"
ETCD_PKI = "/etc/etcd/pki"
PKI = "/etc/kubernetes/pki"
SHARED = ("ca.crt", "ca.key", "sa.pub", "sa.key", "front-proxy-ca.crt", "front-proxy-ca.key")
"""Files that kubeadm makes on the first master and every master needs."""
ADMIN = "/etc/kubernetes/admin.conf"
DISCOVERY = "/etc/kubernetes/discovery.conf"
AT_ONCE = 4
"""Workers that join at the same time. Project figure: a join is CPU work on the one host."""
LIMIT = 900.0
"""Timeout of one run of `apply` in seconds."""

_AWAITED_ETCD = "missing etcd's certificates"
_AWAITED_KUBERNETES = "missing certificates of Kubernetes"


def deliver(machine: Machine) -> None:
    """Copies the rendered directory and the secret files to the machine."""
    nspawn.push(machine, machine.tree, f"{RENDERED}/machines/{machine.name}")
    if machine.secrets.is_dir():
        nspawn.push(machine, machine.secrets, f"{RENDERED}/secrets/machines/{machine.name}")


def apply(machine: Machine, awaited: str = "") -> str:
    """Runs the machine's `apply` and returns its output.

    `awaited`: a message of `apply` that stops it and is expected. Raises UserError with the last lines otherwise.
    """
    try:
        done = nspawn.run_in(machine, [f"{RENDERED}/machines/{machine.name}/apply"], timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise UserError(f"apply on {machine.name} has not ended within {LIMIT:.0f} s.") from None
    output = done.stdout + done.stderr
    if done.returncode and not (awaited and awaited in output):
        lines = output.strip().splitlines()[-20:]
        raise UserError(f"apply on {machine.name} failed with exit code {done.returncode}:\n" + "\n".join(lines))
    return output


def create_masters(lab: Lab, say: Callable[[str], None]) -> None:
    """Makes all masters: etcd first, then the first API server, then the others, one at a time."""
    first, *others = lab.masters
    if not _exists(first, ADMIN):
        say("users and directories of etcd")
        _each(lab.masters, lambda master: apply(master, _AWAITED_ETCD))
        _place_etcd_certificates(lab)
        say(f"etcd on {len(lab.masters)} masters, the first API server")
        # All at once: etcd waits for a majority. Only the first goes on to `kubeadm init`.
        _each(lab.masters, lambda master: apply(master, "" if master == first else _AWAITED_KUBERNETES))
    for master in others:
        say(f"{master.name} joins")
        if not _exists(master, ADMIN):
            for name in SHARED:
                copy(first, master, f"{PKI}/{name}")
            place(master, DISCOVERY, discovery(first), mode=0o600)
        apply(master)
    apply(first)


def join_workers(lab: Lab, say: Callable[[str], None]) -> None:
    """Lets every other machine join, a few at a time."""
    first = lab.masters[0]
    missing = [worker for worker in lab.workers if not _exists(worker, "/etc/kubernetes/kubelet.conf")]
    found = discovery(first) if missing else ""
    for worker in missing:
        place(worker, DISCOVERY, found, mode=0o600)

    def join(worker: Machine) -> None:
        apply(worker)
        say(f"{worker.name} joined")

    _each(lab.workers, join, AT_ONCE)


def discovery(first: Machine) -> str:
    """Returns a kubeconfig with the first master's address, the cluster's CA and a new bootstrap token."""
    token = output(first, ["kubeadm", "token", "create", "--ttl", "1h", "--kubeconfig", ADMIN]).strip()
    config = yaml.safe_load(output(first, ["cat", ADMIN]))
    cluster = config["clusters"][0]["cluster"]
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "quorate", "cluster": {**cluster, "server": f"https://{first.address}:6443"}}],
            "users": [{"name": "bootstrap", "user": {"token": token}}],
            "contexts": [{"name": "bootstrap", "context": {"cluster": "quorate", "user": "bootstrap"}}],
            "current-context": "bootstrap",
        }
    )


def kubeconfig(lab: Lab, context: str, masters: Sequence[Machine] = ()) -> str:
    """Returns an administrator's kubeconfig whose server is the first master that runs, by default of all."""
    for master in masters or lab.masters:
        if nspawn.is_running(master) and _exists(master, ADMIN):
            config = yaml.safe_load(output(master, ["cat", ADMIN]))
            config["clusters"][0]["cluster"]["server"] = f"https://{master.address}:6443"
            config["contexts"][0]["name"] = config["current-context"] = context
            return yaml.safe_dump(config)
    raise UserError("No master of the lab runs.")


def kubectl(lab: Lab, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs kubectl as the administrator on the first master that runs, and returns its result. `timeout`: seconds."""
    for master in lab.masters:
        if nspawn.is_running(master):
            return nspawn.run_in(master, ["kubectl", "--kubeconfig", ADMIN, *words], timeout=timeout)
    return subprocess.CompletedProcess(words, 1, "", "no master runs")


def healthy_members(lab: Lab) -> list[Machine]:
    """Returns the masters whose member of etcd answers."""
    return [master for master in lab.masters if nspawn.is_running(master) and _is_healthy(master)]


def _is_healthy(master: Machine) -> bool:
    flags = [f"--cacert={ETCD_PKI}/ca.crt", f"--cert={ETCD_PKI}/server.crt", f"--key={ETCD_PKI}/server.key"]
    endpoint = f"--endpoints=https://{master.address}:2379"
    return nspawn.run_in(master, ["etcdctl", *flags, endpoint, "endpoint", "health"]).returncode == 0


def output(machine: Machine, command: Sequence[str]) -> str:
    """Returns a command's output. Raises UserError if it fails."""
    done = nspawn.run_in(machine, command)
    if done.returncode:
        raise UserError(f"{shlex.join(command)} on {machine.name} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def place(machine: Machine, path: str, content: str, *, owner: str = "root:root", mode: int = 0o644) -> None:
    """Writes a file on a running machine. The content goes through standard input, never through arguments."""
    quoted = shlex.quote(path)
    script = (
        f"umask 077; mkdir -p {shlex.quote(str(Path(path).parent))} && cat >{quoted}.new && chown {owner} {quoted}.new "
        f"&& chmod {mode:o} {quoted}.new && mv {quoted}.new {quoted}"
    )
    done = nspawn.run_in(machine, ["sh", "-c", script], stdin=content)
    if done.returncode:
        raise UserError(f"{path} could not be written on {machine.name}: {done.stderr.strip()}")


def copy(source: Machine, target: Machine, path: str) -> None:
    """Copies a file from one machine to the same path on another."""
    place(target, path, output(source, ["cat", path]), mode=0o644 if path.endswith((".crt", ".pub")) else 0o600)


def _exists(machine: Machine, path: str) -> bool:
    return nspawn.run_in(machine, ["test", "-f", path]).returncode == 0


def _place_etcd_certificates(lab: Lab) -> None:
    authority = Authority("etcd-ca")
    client = authority.client("kube-apiserver-etcd-client")
    for master in lab.masters:
        place(master, f"{ETCD_PKI}/ca.crt", authority.certificate.decode())
        nspawn.run_in(master, ["chmod", "755", "/etc/etcd", ETCD_PKI])
        for name in ("server", "peer"):
            pair = authority.member(master.name, [master.address, IPv4Address("127.0.0.1")])
            _place_pair(master, f"{ETCD_PKI}/{name}", pair, "etcd:etcd")
        _place_pair(master, f"{PKI}/apiserver-etcd-client", client, "root:root")


def _place_pair(machine: Machine, path: str, pair: Pair, owner: str) -> None:
    place(machine, f"{path}.crt", pair.certificate.decode(), owner=owner)
    place(machine, f"{path}.key", pair.key.decode(), owner=owner, mode=0o600)


def _each(machines: Iterable[Machine], work: Callable[[Machine], object], at_once: int = 8) -> None:
    """Works on several machines at the same time; raises the first error after all have ended."""
    with ThreadPoolExecutor(at_once) as pool:
        for result in [pool.submit(work, machine) for machine in machines]:
            result.result()
