"""Asks the lab's masters: kubectl as the administrator, objects, the kubeconfig, and the members of etcd."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
from collections.abc import Sequence

import yaml

from cluster.objects import Object, listed, texts
from console.errors import UserError
from trials.cloud import nspawn
from trials.cloud.lab_machines import Lab, LabMachine

ETCD_PKI = "/etc/etcd/pki"
ADMIN = "/etc/kubernetes/admin.conf"


def kubeconfig(lab: Lab, context: str, masters: Sequence[LabMachine] = ()) -> str:
    """Returns an administrator's kubeconfig whose server is the first master that runs, by default of all."""
    for master in masters or lab.masters:
        if nspawn.is_running(master) and _exists(master, ADMIN):
            config = yaml.safe_load(output(master, ["cat", ADMIN]))
            config["clusters"][0]["cluster"]["server"] = f"https://{master.address}:6443"
            config["contexts"][0]["name"] = config["current-context"] = context
            return yaml.safe_dump(config)
    raise UserError("No master of the lab runs.")


def kubectl(lab: Lab, *words: str, timeout: float = 120, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs kubectl as the administrator on the first master that runs, and returns its result. `timeout`: seconds."""
    for master in lab.masters:
        if nspawn.is_running(master):
            return nspawn.run_in(master, ["kubectl", "--kubeconfig", ADMIN, *words], timeout=timeout, stdin=stdin)
    return subprocess.CompletedProcess(words, 1, "", "no master runs")


def objects(lab: Lab, kinds: str, namespace: str) -> list[Object]:
    """Returns the objects of these kinds in a namespace. Raises UserError if no API server lists them."""
    done = kubectl(lab, "get", kinds, f"--namespace={namespace}", "--output=json")
    if done.returncode:
        raise UserError(f"The {kinds} cannot be listed: {done.stderr.strip()}")
    return listed(json.loads(done.stdout), "items")


def secret(lab: Lab, name: str, namespace: str) -> dict[str, str]:
    """Returns the decoded texts of a Secret by key. Raises UserError if it cannot be read."""
    done = kubectl(lab, "get", "secret", name, f"--namespace={namespace}", "--output=json")
    if done.returncode:
        raise UserError(f"Secret {name} in namespace {namespace} cannot be read: {done.stderr.strip()[-300:]}")
    return {key: base64.b64decode(text).decode() for key, text in texts(json.loads(done.stdout), "data").items()}


def healthy_members(lab: Lab) -> list[LabMachine]:
    """Returns the machines whose member of etcd answers."""
    return [machine for machine in lab.members if nspawn.is_running(machine) and _is_healthy(machine)]


def _is_healthy(machine: LabMachine) -> bool:
    flags = [f"--cacert={ETCD_PKI}/ca.crt", f"--cert={ETCD_PKI}/server.crt", f"--key={ETCD_PKI}/server.key"]
    endpoint = f"--endpoints=https://{machine.address}:2379"
    return nspawn.run_in(machine, ["etcdctl", *flags, endpoint, "endpoint", "health"]).returncode == 0


def output(machine: LabMachine, command: Sequence[str]) -> str:
    """Returns a command's output. Raises UserError if it fails."""
    done = nspawn.run_in(machine, command)
    if done.returncode:
        raise UserError(f"{shlex.join(command)} on {machine.name} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _exists(machine: LabMachine, path: str) -> bool:
    return nspawn.run_in(machine, ["test", "-f", path]).returncode == 0
