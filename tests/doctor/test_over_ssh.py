"""`quorate doctor` with the real OpenSSH client and server, on simulated machines with addresses of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests import sshd
from tests.sshd import Agent, host_key
from tests.stacks import ROOT, server, write
from trials.services.testbed import ServiceMachine

RUN = "import pathlib, commands.live.machine_check as c; raise SystemExit(c.check_machines(pathlib.Path.cwd(), 'test'))"
"""Checks the stack "test" of the working directory."""
MACHINES = ("master1", "other", "cmp2", "cmp3", "jump")
"""Hostnames of the simulated machines, whose addresses are those of master1 and cmp1 to cmp4 in the stack file."""
USER = "engineer"
"""A user of all machines, who may use sudo on master1 only."""


@pytest.fixture(scope="module")
def machines(agent: Agent) -> Generator[dict[str, ServiceMachine]]:
    """Machines with sshd. cmp3 does not accept the agent's key."""
    with sshd.machines() as around:
        for name in MACHINES:
            machine = around.add(name)
            machine.run(["useradd", "--create-home", "--password", "*", "--shell", "/bin/sh", USER])
            for user, home in (("root", "/root"), (USER, f"/home/{USER}")):
                key = "" if name == "cmp3" else agent.public_key
                machine.write(f"{home}/.ssh/authorized_keys", key, owner=user, mode="0600")
            if name == "master1":
                machine.write(f"/etc/sudoers.d/{USER}", f"{USER} ALL=(ALL) NOPASSWD: ALL\n", mode="0440")
            sshd.start(machine)
        yield around.machines


def stack(machines: dict[str, ServiceMachine], **ssh: Any) -> dict[str, Any]:
    """A stack with the machines. It is wrong about cmp2's host key, and about the size of master1."""
    keys = {name: host_key(machine) for name, machine in machines.items()}
    first, second = (machines[name].address for name in ("master1", "other"))
    computes = server("cmp[1-5]", ["compute"], second, cpu=2, memory=8)
    given = ("other", "jump", "cmp3", "jump", "jump")
    computes["hostKey"] = {f"cmp{number}": keys[name] for number, name in enumerate(given, start=1)}
    roles = ["master", "controller", "storage"]
    master = server("master1", roles, first, cpu=1000, memory=512, hostKey=keys["master1"])
    return {"profile": "lab", "architecture": "100", "servers": [master, computes], "ssh": ssh}


def doctor(directory: Path, machines: dict[str, ServiceMachine], socket: Path) -> tuple[int, list[str]]:
    """Runs the check in the network of the machine "jump". Returns the exit code and the lines of the output."""
    inside = ["nsenter", f"--target={machines['jump'].pid}", "--net", sys.executable, "-c", RUN]
    environment = os.environ | {"SSH_AUTH_SOCK": str(socket), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        inside, cwd=directory, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, [*done.stdout.splitlines(), *done.stderr.splitlines()]


def test_each_problem_is_named_with_its_remedy(
    tmp_path: Path, machines: dict[str, ServiceMachine], agent: Agent
) -> None:
    write(tmp_path, stack(machines))
    code, lines = doctor(tmp_path, machines, agent.socket)
    found = "\n".join(lines)
    assert code == 1
    assert lines[0] == "FAILED  SSH           3 of 6 machines"
    assert "cmp2: it has another host key than the stack file; compare hostKey with" in found
    assert "cmp3: it refuses the login of root; add a key of your SSH agent (ssh-add -L)" in found
    assert f"cmp5: it does not answer at {machines['jump'].address[:-1]}6; start it, and check its address" in found
    assert "ok      root          3 of 3 machines" in lines
    assert "FAILED  name          1 of 3 machines" in lines
    assert "cmp1: its name is other; run `hostnamectl set-hostname cmp1`" in found
    assert "FAILED  size          2 of 3 machines" in lines
    assert f"master1: it has {os.cpu_count()} cores, not 1000; correct cpu in servers" in found
    assert "master1, cmp1, cmp4: systemd does not run" in found
    assert "master1: missing programs: kubeadm, kubectl, kubelet, etcd, etcdctl, etcdutl; install them" in found
    # Debian's containerd as installed, 1.6.20.
    assert "master1, cmp1, cmp4: containerd makes cgroups without systemd (SystemdCgroup is not true)" in found
    assert (
        "containerd looks for network plugins in /usr/lib/cni, not in /opt/cni/bin; run `containerd config dump"
        in found
    )
    assert "ok      network       3 of 3 machines" in lines
    assert lines[-1] == "6 of 6 machines are not ready for `up`."


def test_machines_send_whole_packets_in_networks_beside_management(
    tmp_path: Path, machines: dict[str, ServiceMachine], agent: Agent
) -> None:
    """cmp4 has no overlay address. The interfaces have an MTU of 1500."""
    given = stack(machines)
    for entry, first in zip(given["servers"], ("10.88.0.1", "10.88.0.2"), strict=True):
        entry["addresses"] = {"overlay": first}
    for name, address in (("master1", "10.88.0.1"), ("other", "10.88.0.2")):
        machines[name].run(["ip", "address", "replace", f"{address}/24", "dev", "eth0"])
    write(tmp_path, given | {"networks": {"overlay": {"cidr": "10.88.0.0/24"}}})
    _, lines = doctor(tmp_path, machines, agent.socket)
    index = lines.index("FAILED  overlay       2 of 3 machines")
    assert lines[index + 1].startswith("        cmp4: no interface has the overlay address 10.88.0.5; set it there")
    write(tmp_path, given | {"networks": {"overlay": {"cidr": "10.88.0.0/24", "mtu": 1550}}})
    _, lines = doctor(tmp_path, machines, agent.socket)
    found = "\n".join(lines)
    assert "FAILED  overlay       0 of 3 machines" in lines
    assert "master1, cmp1: its interface in the overlay network has an MTU of 1500, not 1550; set it there" in found
    assert "master1: packets of 1550 bytes do not pass in the overlay network to cmp1 and back; set this MTU" in found


def test_through_a_jump_host_and_with_sudo(tmp_path: Path, machines: dict[str, ServiceMachine], agent: Agent) -> None:
    jump = machines["jump"]
    through = {"host": jump.address, "hostKey": host_key(jump)}
    write(tmp_path, stack(machines, user=USER, jumpHost=through))
    _, lines = doctor(tmp_path, machines, agent.socket)
    assert lines[0] == "FAILED  SSH           3 of 6 machines"
    index = lines.index("FAILED  root          1 of 3 machines")
    assert (
        lines[index + 1]
        == "        cmp1, cmp4: the user cannot become root; allow `sudo -n` for the user in /etc/sudoers.d"
    )


def test_a_jump_host_with_another_key_is_not_used(
    tmp_path: Path, machines: dict[str, ServiceMachine], agent: Agent
) -> None:
    through = {"host": machines["jump"].address, "hostKey": host_key(machines["other"])}
    write(tmp_path, stack(machines, jumpHost=through))
    code, lines = doctor(tmp_path, machines, agent.socket)
    assert code == 1
    assert lines[0] == "FAILED  SSH           0 of 6 machines"
    assert "the jump host has another host key than the stack file; compare jumpHost.hostKey" in lines[1]
