"""Runs on an emulated host: one machine of the lab, whose kubelet starts a pod with limits. Prints facts as JSON.

The kubelet has no API server: a control plane needs more processors than an emulated host has. Its configuration is the
rendered one with the lab's patch, and what kubeadm adds by itself for a static pod.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import yaml

from blueprint.plan.nodes import Capacity
from trials.cloud import bring_up, cgroups, host, network, node_files, nspawn, power
from trials.cloud.lab_machines import DIRECTORY, Lab, LabMachine

MACHINE_ROOT, TRIAL = Path("/machine"), Path("/trial")
PATCH = "etc/kubernetes/patches/kubeletconfiguration1+merge.yaml"
PAUSE = "registry.k8s.io/pause:lab"
MEMORY, CPU = 64 * 2**20, "25000 100000"
"""The pod's limits as its cgroup has them: 64 MiB, and a quarter of a core."""
LIMIT = 600.0
"""Seconds for each thing that is waited for."""
WITHOUT_API = {
    "staticPodPath": "/etc/kubernetes/manifests",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "runtimeRequestTimeout": "10m",
}
"""As the emulated runtime is slow, kubelet waits longer for it."""
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "limited"},
    "spec": {
        "hostNetwork": True,
        "containers": [
            {
                "name": "pause",
                "image": PAUSE,
                "imagePullPolicy": "Never",
                "resources": {
                    "requests": {"memory": "32Mi", "cpu": "100m"},
                    "limits": {"memory": "64Mi", "cpu": "250m"},
                },
            }
        ],
    },
}


def main() -> None:
    """Prints the host's check, what the pod's cgroups have, and whether the pod runs again after a power cut."""
    machine = LabMachine(
        name="node1",
        server="node1",
        address=IPv4Address("10.77.2.11"),
        pods=IPv4Network("10.78.0.0/24"),
        capacity=Capacity(4, 8),
        cores=4,
        is_node=True,
        is_master=False,
        has_member=False,
        has_disk=False,
        directory=DIRECTORY / "machines" / "node1",
        tree=Path(),
        secrets=Path(),
    )
    own, services = IPv4Network("10.77.2.0/24"), IPv4Network("10.79.0.0/24")
    lab = Lab("cgroups", (machine,), own, IPv4Address("10.77.2.1"), services, IPv4Network("10.78.0.0/16"))
    tell("host", host.check(lab))
    tell("changes are fast", cgroups.make_changes_fast())
    with host.alone():
        install(lab, machine)
        started = time.monotonic()
        power.switch_on(lab.machines, print)
        tell("seconds of boot", round(time.monotonic() - started))
        watch(machine)
        power.cut(lab, [machine.server])
        tell("runs after the cut", nspawn.is_running(machine))
        started = time.monotonic()
        power.restore(lab, [machine.server], print)
        await_pod(machine)
        tell("pod runs again after seconds", round(time.monotonic() - started))
        bring_up.take_down()
    tell("left", [path.name for path in cgroups.ROOT.glob(f"{cgroups.PREFIX}*")])


def install(lab: Lab, machine: LabMachine) -> None:
    """Makes the machine's network, disk and files, as `make cloud` does, and kubelet's configuration."""
    programs: dict[str, Path] = dict.fromkeys(("control", "node", "store"), TRIAL / "programs")
    network.create(lab)
    power.remember(MACHINE_ROOT, programs)
    nspawn.prepare(machine)
    node_files.write(lab, machine, PAUSE)
    upper = machine.directory / "upper"
    rendered = yaml.safe_load((TRIAL / "kubelet.yaml").read_text(encoding="utf-8"))
    patch = yaml.safe_load((upper / PATCH).read_text(encoding="utf-8"))
    tell("patched", sorted(patch))
    configuration = {**rendered, **patch, **WITHOUT_API}
    (machine.directory / "kubelet/config.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    (upper / "etc/kubernetes/manifests").mkdir(parents=True)
    own = upper / node_files.UNITS / "kubelet.service.d/without-api.conf"
    own.parent.mkdir()
    own.write_text('[Service]\nEnvironment="KUBELET_KUBECONFIG_ARGS="\n', encoding="utf-8")


def watch(machine: LabMachine) -> None:
    """Waits until kubelet is healthy and the pod runs, and prints the driver and the pod's limits."""
    tell("imported", said(machine, f"ctr --namespace k8s.io images import {node_files.PROGRAMS}/store/pause.tar"))
    started = time.monotonic()
    until(lambda: said(machine, "curl -s http://127.0.0.1:10248/healthz") == "ok", machine)
    tell("kubelet is healthy after seconds", round(time.monotonic() - started))
    drivers = "grep cgroupDriver /var/lib/kubelet/config.yaml; grep Systemd /etc/containerd/config.toml"
    tell("driver", said(machine, drivers))
    nspawn.run_in(
        machine, ["sh", "-c", "cat >/etc/kubernetes/manifests/limited.yaml"], stdin=yaml.safe_dump(POD), timeout=LIMIT
    )
    scope = await_pod(machine)
    tell("pod runs after seconds", round(time.monotonic() - started))
    pods = payload(machine) / "kubepods.slice"
    for name, group in (("container", scope), ("pod", scope.parent), ("all pods", pods)):
        tell(name, {file: read(group / file) for file in ("memory.max", "cpu.max", "cpu.weight")})
    tell("path", str(scope.relative_to(payload(machine))))


def payload(machine: LabMachine) -> Path:
    """Returns the cgroup that systemd-nspawn makes for the machine's init, and that is the root which it sees."""
    return cgroups.ROOT / f"{cgroups.PREFIX}{machine.name}" / "payload"


def await_pod(machine: LabMachine) -> Path:
    """Waits until the pod's container runs, and returns its cgroup."""
    scopes: list[Path] = []

    def runs() -> bool:
        # The sandbox's container has no limits of its own.
        found = payload(machine).glob("kubepods.slice/kubepods-burstable.slice/*.slice/cri-containerd-*.scope")
        scopes[:] = [each for each in found if read(each / "memory.max") == str(MEMORY) and read(each / "cgroup.procs")]
        return bool(scopes)

    until(runs, machine)
    return scopes[0]


def said(machine: LabMachine, script: str) -> str:
    """Returns the output of a shell script in the machine."""
    done = nspawn.run_in(machine, ["sh", "-c", script], timeout=LIMIT)
    return (done.stdout + done.stderr).strip()


def until(condition: Callable[[], bool], machine: LabMachine) -> None:
    """Waits for a condition. Raises TimeoutError with the last lines of kubelet's log."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            log = said(machine, "journalctl -n 40 --no-pager -o cat -u kubelet -u containerd")
            raise TimeoutError(f"not after {LIMIT:.0f} s:\n{log}")
        time.sleep(2)


def read(path: Path) -> str:
    """Returns the content of a cgroup's file; "" if there is none."""
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def tell(name: str, value: object) -> None:
    """Prints a fact."""
    print(json.dumps({name: value}), flush=True)


if __name__ == "__main__":
    main()
