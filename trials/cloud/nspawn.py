"""Starts, enters and stops machines: systemd-nspawn containers with an init of their own."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from console.errors import UserError
from toolchain.process_identity import children, identify, program_name, read_identity
from trials import forgetful_disk
from trials.cloud import cgroups, network
from trials.cloud.lab_machines import LabMachine
from trials.forgetful_disk import ForgetfulDisk

START = Path(__file__).parent / "start_machine.sh"
BOOT = 300.0
"""Seconds that a machine may take until its init is systemd, and then until that has started its units. After a power
cut of all servers the pods of other machines start meanwhile: on two cores, all of 15 machines had booted after 156."""
ANSWER = 20.0
"""Seconds for an answer of a machine's systemd, before it is asked again."""
TIMED_OUT = 124
"""Exit code of a command that takes too long, as timeout(1) has it."""
ENDING = 60.0
"""Seconds until a killed machine must be gone."""
SUPERVISOR = "supervisor.json"
"""The file in a machine's directory that identifies its systemd-nspawn."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MEMBERS_DISK = 16 * 2**30
"""Bytes of the disk with the data of a machine's members; its file is sparse. Project figure."""
_PARTS = ("upper", "work", "root", "containerd", "kubelet", "logs", "members")


def prepare(machine: LabMachine) -> None:
    """Creates the directories of a machine, and the disk that start_machine.sh mounts below /var/lib."""
    for part in _PARTS:
        (machine.directory / part).mkdir(parents=True, exist_ok=True)
    forgetful_disk.create(machine.directory / "disk", MEMBERS_DISK)


def members_disk(machine: LabMachine) -> ForgetfulDisk | None:
    """Returns the disk with the data of a machine's members: etcd, and the volumes of pods. None if it does not run.

    Raises UserError if the machine was made without one.
    """
    supervisor = _supervisor(machine.directory)
    if supervisor is None or leader(machine) is None:
        return None
    file = machine.directory / "disk"
    if not file.exists():
        raise UserError(
            f"{machine.name} has no disk that forgets: its lab is from an older version. Run `make cloud-down`, and "
            "then `make cloud` again."
        )
    return ForgetfulDisk(file, supervisor, machine.directory / "members")


def start(machine: LabMachine, root: Path, programs: Mapping[str, Path]) -> None:
    """Starts a machine on the Debian root `root`, with directories of programs by their name below /opt/quorate."""
    if is_running(machine):
        return
    # A power cut leaves cgroups of pods. Kubelet would take each for a container, and wait seconds for its runtime.
    cgroups.remove(machine.name)
    groups = cgroups.create(machine.name)
    cgroups.weigh(machine.name, machine.cores, has_control_plane=machine.is_master or machine.has_member)
    launch(machine, root, programs, network.namespace(machine), groups)


def launch(
    machine: LabMachine, root: Path, programs: Mapping[str, Path], namespace: str, groups: Iterable[Path]
) -> None:
    """Starts a machine that does not run in a network namespace and in cgroups, which may be those of no lab."""
    binds = [f"{name}={directory}" for name, directory in programs.items()]
    words = [machine.name, machine.directory, root, namespace, *binds, "--", *groups]
    with (machine.directory / "console.log").open("ab") as console:
        child = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", START, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
        )
    record_supervisor(machine.directory, child.pid)


def await_init(machine: LabMachine) -> None:
    """Waits until a machine's init is systemd. Raises UserError if the machine ends or takes too long."""

    def is_systemd() -> bool:
        pid = leader(machine)
        return pid is not None and program_name(pid) == "systemd"

    _wait(machine, is_systemd)


def await_boot(machine: LabMachine) -> None:
    """Waits until systemd has started the machine's units. Raises UserError if it ends or takes too long."""

    def has_booted() -> bool:
        done = _enter(machine, ["systemctl", "is-system-running"], {}, ANSWER, None)
        return done.stdout.strip() in ("running", "degraded")

    _wait(machine, lambda: is_running(machine) and has_booted())


def _wait(machine: LabMachine, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + BOOT
    while time.monotonic() < end:
        if condition():
            return
        if not is_running(machine) and _supervisor(machine.directory) is None:
            raise UserError(f"{machine.name} did not start: {console(machine)}")
        time.sleep(0.5)
    raise UserError(f"{machine.name} has not started within {BOOT:.0f} s: {console(machine)}")


def console(machine: LabMachine) -> str:
    """Returns the last lines of a machine's console."""
    path = machine.directory / "console.log"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    return " | ".join(lines[-5:]) or "its console is empty"


def is_running(machine: LabMachine) -> bool:
    """Whether the machine's init runs."""
    return leader(machine) is not None


def leader(machine: LabMachine) -> int | None:
    """Returns the process ID of a machine's init on the host; None if it does not run."""
    return _leader(machine.directory)


def _leader(directory: Path) -> int | None:
    supervisor = _supervisor(directory)
    below = [] if supervisor is None else [supervisor]
    while below:
        pid = below.pop()
        if _is_init(pid):
            return pid
        below += children(pid)
    return None


def run_in(
    machine: LabMachine,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    timeout: float = 120,
    stdin: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a machine and returns its result, with exit code `TIMED_OUT` after `timeout` seconds.

    Raises UserError if the machine does not run.
    """
    return _enter(machine, command, environment or {}, timeout, stdin)


def push(machine: LabMachine, source: Path, target: str) -> None:
    """Replaces a directory of a running machine by a copy of a directory of the host."""
    pid = leader(machine)
    if pid is None:
        raise UserError(f"{machine.name} does not run.")
    script = 'rm -rf "$1" && mkdir -p "$1" && tar -x --no-same-owner -C "$1"'
    with subprocess.Popen(["tar", "-C", source, "-c", "."], stdout=subprocess.PIPE) as archive:
        done = subprocess.run(
            [*_entry(pid), "--", "env", "-i", f"PATH={PATH}", "sh", "-c", script, "sh", target],
            stdin=archive.stdout,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    if done.returncode or archive.returncode:
        raise UserError(f"{source} could not be copied to {machine.name}: {done.stderr.strip()}")


def cut_power(directory: Path) -> None:
    """Kills a machine's init; the kernel kills every process of the machine with it. `directory`: the machine's."""
    for pid in (_leader(directory), _supervisor(directory)):
        if pid is not None:
            _kill(pid)
    end = time.monotonic() + ENDING
    while _supervisor(directory) is not None:
        if time.monotonic() > end:
            raise UserError(f"{directory.name} has not ended within {ENDING:.0f} s.")
        time.sleep(0.1)


def _kill(pid: int) -> None:
    """Kills a process, if it still exists."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _enter(
    machine: LabMachine, command: Sequence[str], environment: Mapping[str, str], timeout: float, stdin: str | None
) -> subprocess.CompletedProcess[str]:
    pid = leader(machine)
    if pid is None:
        raise UserError(f"{machine.name} does not run.")
    variables = {"PATH": PATH, "HOME": "/root", "TERM": "dumb", **environment}
    words = [f"{name}={value}" for name, value in variables.items()]
    try:
        return subprocess.run(
            [*_entry(pid), "--", "env", "-i", *words, *command],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        reason = f"{shlex.join(command)} did not end within {timeout:g} s"
        return subprocess.CompletedProcess(command, TIMED_OUT, "", reason)


def _entry(pid: int) -> list[str]:
    return ["nsenter", "-t", str(pid), "-m", "-u", "-i", "-n", "-p", "-C", "--root", "--wd"]


def record_supervisor(directory: Path, pid: int) -> None:
    """Writes down which process is the machine's systemd-nspawn, or becomes it.

    A command line would not identify it: that is empty while the process executes its next program.
    """
    (directory / SUPERVISOR).write_text(identify(pid).to_json(), encoding="utf-8")


def _supervisor(directory: Path) -> int | None:
    """Returns the process ID of the machine's systemd-nspawn; None if it has ended."""
    found = read_identity(directory / SUPERVISOR)
    return found.pid if found and found.is_running else None


def _is_init(pid: int) -> bool:
    """Whether a process is the first of a PID namespace just below that of the host."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return any(line.startswith("NSpid:") and line.split()[2:] == ["1"] for line in lines)
