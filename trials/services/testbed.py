"""A test bed of simulated machines on one host, each with a copy of a Debian root, a name, an address and a network.

The machines run in Linux namespaces. A bridge in a separate network namespace joins their networks, so that the network
of the host stays unchanged. When its processes end, the namespaces are gone. The test bed needs root, but no container
runtime and no systemd.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from toolchain.process_identity import children, program_name
from trials import forgetful_disk
from trials.forgetful_disk import ForgetfulDisk
from trials.services.containers import TriedContainer

NETWORK = "10.199.0"
"""The first three parts of all addresses of machines, which exist only in the test bed's network namespaces."""
DISK = 4 * 2**30
"""Bytes of a machine's disk; its file is sparse. Project figure: more than any trial writes."""
_MEMORY = Path("/sys/fs/cgroup/memory")
"""The hierarchy of cgroup v1 that limits memory."""
_WITH_US = ("setpriv", "--pdeathsig=KILL", "--")
"""Prefix of a command that kills the process when the process that started it ends for any reason."""
_NOBODY = "02:00:00:00:00:fe"
"""A link-layer address that no machine has."""
_CAPABILITIES = "the proofs with real services need root, unshare, nsenter, ip and overlay mounts"


class Unavailable(Exception):
    """This host cannot run a test bed. The message gives the reason."""


class Broken(Exception):
    """A trial found that a real service behaved wrongly. The message describes the error."""


def require(condition: bool, otherwise: str) -> None:
    """Raises Broken with the text `otherwise` if the condition is false."""
    if not condition:
        raise Broken(otherwise)


class ServiceMachine:
    """A simulated machine of the test bed: programs run in a writable copy of the Debian root, as in a container."""

    def __init__(
        self, testbed: ServiceTestbed, name: str, number: int, programs: Path | None = None, root: Path | None = None
    ) -> None:
        self.testbed, self.name, self.number, self.programs = testbed, name, number, programs
        self._lower = Path("/") if programs else root or testbed.root
        self.address = f"{NETWORK}.{number}"
        self.directory = testbed.directory / name
        self.log = self.directory / "log"
        self.program: subprocess.Popen[bytes] | None = None
        self.disk: ForgetfulDisk | None = None
        self.disk_path = ""
        self.environment: dict[str, str] = {}
        """Variables of the program, beside those of its container, from its next start on."""
        self._cgroup: Path | None = None
        self._others: list[subprocess.Popen[bytes]] = []
        self._root = self.directory / "root"
        (self.directory / "own").mkdir(parents=True)
        self._root.mkdir()
        self._holder = self._hold()
        testbed.connect(self)

    def _hold(self) -> subprocess.Popen[bytes]:
        own = self.directory / "own"
        layers = f"lowerdir={self._lower},upperdir={own}/upper,workdir={own}/work"
        # The writable layer over the host's own root must be on another file system, here in memory.
        in_memory = f"mount -t tmpfs tmpfs {own}" if self.programs else ""
        # In /dev/shm of the host, services would find files of other trials, which another account owns.
        script = f"""set -e
            {in_memory}
            mkdir {own}/upper {own}/work
            mount -t overlay overlay -o {layers} {self._root}
            mount --rbind /dev {self._root}/dev
            for each in dev/shm run; do mount -t tmpfs tmpfs {self._root}/$each; done
            mount -t proc proc {self._root}/proc
            hostname {self.name}
            ip link set lo up
            echo held
            exec sleep infinity"""
        return _hold(["unshare", "--net", "--uts", "--mount", "sh", "-c", script])

    @property
    def pid(self) -> int:
        """Id of the process that keeps the namespaces of the machine."""
        return self._holder.pid

    def write(self, path: str, text: str, owner: str = "root", mode: str = "0644") -> None:
        """Writes a file into the machine, with owner and mode; creates missing directories."""
        script = 'mkdir -p "$(dirname "$1")" && cat > "$1" && chown "$2" "$1" && chmod "$3" "$1"'
        self.run(["sh", "-c", script, "sh", path, owner, mode], text)

    def add_disk(self, path: str, size: int = DISK) -> None:
        """Mounts an empty disk of `size` bytes, which forgets what was not synced when the machine's power is cut."""
        self.run(["mkdir", "-p", path])
        self.disk_path = path
        self.disk = self.testbed.disks(self.directory / "disk", self.pid, Path(f"{self._root}{path}"))
        self.disk.make(size)

    def add_account(self, name: str) -> None:
        """Creates a user with a group and a directory below /var/lib, as Kolla's images have, if there is none."""
        script = """\
id "$1" >/dev/null 2>&1 && exit
useradd --system --user-group --no-create-home --home-dir "/var/lib/$1" "$1"
install -d -o "$1" -g "$1" "/var/lib/$1"
"""
        self.run(["sh", "-c", script, "sh", name])

    def install(self, program: Path) -> None:
        """Copies a program of the host into the machine."""
        self.place_file(program, f"/usr/local/bin/{program.name}")

    def place_file(self, source: Path, path: str) -> None:
        """Copies a file or a directory of the host into the machine, into a directory that must exist."""
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, f"/proc/{self.pid}/root{self._root}{path}")

    def show(self, directory: Path) -> None:
        """Shows a directory of the host in the machine, read-only at the same path."""
        place = f"{self._root}{directory}"
        script = f"mkdir -p {place} && mount --bind {directory} {place} && mount -o remount,bind,ro {place}"
        subprocess.run([*self._enter(chroot=False), "sh", "-ec", script], check=True, capture_output=True)

    def own(self, path: str, owner: str) -> None:
        """Creates a directory in the machine, which belongs to a user."""
        self.run(["sh", "-c", 'mkdir -p "$1" && chown -R "$2:" "$1"', "sh", path, owner])

    def run(  # noqa: PLR0913 - a command has as many parts
        self,
        command: Sequence[str],
        text: str = "",
        *,
        user: str = "root",
        check: bool = True,
        seconds: float = 60,
        read_only: str = "",
    ) -> str:
        """Runs a command in the machine and returns its output. Raises CalledProcessError if it fails.

        `read_only`: a directory that is read-only for the command, as a volume mounted read-only.
        """
        enter = self._enter()
        if read_only:
            place = f"{self._root}{read_only}"
            mounts = f"mount --bind {place} {place} && mount -o remount,bind,ro {place}"
            script = f'{mounts} && exec chroot {self._root} "$@"'
            enter = [*self._enter(chroot=False), "unshare", "--mount", "sh", "-ec", script, "sh"]
        words = [*enter, *self._as(user), *command]
        # oslo.messaging reads /proc/<process group>, whose leader need not exist if the caller's group is used.
        result = subprocess.run(
            words,
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            process_group=0,
        )
        if check and result.returncode:
            raise subprocess.CalledProcessError(result.returncode, command, result.stdout, result.stderr)
        return result.stdout

    def start(self, command: Sequence[str], user: str, environment: Mapping[str, str] | None = None) -> None:
        """Starts the machine's program in a new process namespace, so that `kill` ends all its children too."""
        assigned = [f"{name}={value}" for name, value in {**(environment or {}), **self.environment}.items()]
        # Process 1 of the namespace runs as root: a change of user would clear the setting that ends a process with
        # its parent.
        init = f"""mount -t proc proc {self._root}/proc
            "$@" & program=$!
            trap 'kill -TERM $program' TERM
            while kill -0 $program 2>/dev/null; do wait $program; done"""
        isolated = ["unshare", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c", init, "sh"]
        chroot = ["chroot", str(self._root), *self._as(user), "env", *assigned, *command]
        confined = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', f"{self._cgroup}/cgroup.procs"] if self._cgroup else []
        with self.log.open("ab") as log:
            words = [*_WITH_US, *confined, *self._enter(chroot=False), *isolated, *chroot]
            self.program = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def background(self, command: Sequence[str], user: str) -> None:
        """Starts another command in the background and discards its output. `end` kills its process."""
        words = [*self._enter(), *self._as(user), *command]
        self._others.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def end_background(self) -> None:
        """Kills the commands that `background` has started."""
        for other in self._others:
            other.kill()
            other.wait()
        self._others.clear()

    def confine(self) -> None:
        """Lets the machine's program have a memory cgroup of its own from its next start on.

        Raises Unavailable on a host without cgroup v1.
        """
        if not (_MEMORY / "cgroup.procs").exists():
            raise Unavailable("the trials of memory limits need the memory controller of cgroup v1")
        self._cgroup = _MEMORY / f"quorate-trial-{self.pid}"
        self._cgroup.mkdir(exist_ok=True)

    def memory(self) -> int:
        """Returns the bytes in the machine's cgroup, without the page cache; 0 without a cgroup."""
        if not self._cgroup:
            return 0
        used = int((self._cgroup / "memory.usage_in_bytes").read_text(encoding="ascii"))
        lines = (self._cgroup / "memory.stat").read_text(encoding="ascii").splitlines()
        return used - next(int(line.split()[1]) for line in lines if line.startswith("total_cache "))

    def limit_memory(self, size: int) -> bool:
        """Limits the machine's cgroup to `size` bytes: above, the kernel kills its largest program. -1 for no limit.

        Returns False if the programs use more already.
        """
        if not self._cgroup:
            raise Broken(f"{self.name} has no memory cgroup")
        try:
            (self._cgroup / "memory.limit_in_bytes").write_text(f"{size}\n", encoding="ascii")
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    @property
    def runs(self) -> bool:
        return self.program is not None and self.program.poll() is None

    def processes(self, program: str) -> list[int]:
        """Returns the processes of a program among those of the machine's program; parents come first."""
        found = _descendants(self.program.pid) if self.program else []
        return [pid for pid in found if program_name(pid) == program]

    def kill(self) -> None:
        """Kills the machine's program and all its children at once. The host keeps what they have written."""
        if self.program:
            self._signal(signal.SIGKILL)
            self.program.wait()

    def freeze(self) -> None:
        """Stops the machine's program and all its children, until `thaw`: they neither run nor answer."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets the machine's program and all its children go on after `freeze`."""
        self._signal_all(signal.SIGCONT)

    def mute(self) -> None:
        """Loses all packets that the machine sends to others, until `unmute`. It goes on to receive theirs."""
        others = [each.address for each in self.testbed.machines.values() if each is not self]
        self._neighbours("replace", "lladdr", _NOBODY, "nud", "permanent", addresses=others)

    def unmute(self) -> None:
        """Lets the machine send again after `mute`."""
        others = [each.address for each in self.testbed.machines.values() if each is not self]
        self._neighbours("delete", addresses=others)

    def _neighbours(self, action: str, *words: str, addresses: Sequence[str]) -> None:
        for address in addresses:
            inside = ["nsenter", f"--target={self.pid}", "--net", "ip", "neighbour", action, address]
            _run([*inside, *words, "dev", "eth0"])

    def _signal_all(self, number: signal.Signals) -> None:
        done: set[int] = set()
        while found := [pid for pid in _descendants(self.program.pid if self.program else 0) if pid not in done]:
            for pid in found:  # those that were forked meanwhile are found the next time
                done.add(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, number)

    def _signal(self, number: signal.Signals) -> None:
        """Sends a signal to process 1 of the program's namespace.

        If it is killed, the kernel kills the other processes.
        """
        for child in children(self.program.pid if self.program else 0):
            with suppress(ProcessLookupError):
                os.kill(child, number)

    def stop(self, seconds: float = 60) -> None:
        """Sends SIGTERM to the machine's program, as kubelet does, and kills the program after `seconds`."""
        if not self.program:
            return
        self._signal(signal.SIGTERM)
        try:
            self.program.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def get(self, port: int, path: str) -> tuple[int, str]:
        """Sends an HTTP GET to a program of the machine, as kubelet's probes do.

        Returns status and text; status 0 without an answer.
        """
        request = f"exec 3<>/dev/tcp/{self.address}/{port} && printf 'GET {path} HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3"
        command = ["nsenter", f"--target={self.pid}", "--net", "timeout", "5", "bash", "-c", request]
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
        head, _, body = answer.partition("\n\n")  # text mode: line ends are normalised
        words = head.split(maxsplit=2)
        return (int(words[1]), body.strip()) if len(words) > 1 else (0, "")

    def accepts(self, port: int) -> bool:
        """Whether a port of the machine accepts connections."""
        command = ["nsenter", f"--target={self.pid}", "--net", "timeout", "5", "bash", "-c"]
        opened = [*command, f"exec 3<>/dev/tcp/{self.address}/{port}"]
        return subprocess.run(opened, capture_output=True, check=False).returncode == 0

    def end(self) -> None:
        """Ends the machine and all programs in it."""
        self.kill()
        self.end_background()
        self._holder.kill()
        self._holder.wait()
        if self._cgroup:
            processes = self._cgroup / "cgroup.procs"
            until(f"no process in {self._cgroup}", lambda: not processes.read_text(encoding="ascii"), 60)
            self._cgroup.rmdir()

    def tail(self, lines: int = 25) -> str:
        """Returns the last lines of the log of the machine's program; "" without a log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""

    def _enter(self, *, chroot: bool = True) -> list[str]:
        words = ["nsenter", f"--target={self.pid}", "--net", "--uts", "--mount"]
        return [*words, "chroot", str(self._root)] if chroot else words

    @staticmethod
    def _as(user: str) -> list[str]:
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        variables = ["env", "-i", path, "LC_ALL=C.UTF-8"]
        if user == "root":
            return [*variables, "HOME=/root"]
        ids = [f"--reuid={user}", f"--regid={user}", "--init-groups", "--no-new-privs"]
        return [*variables, f"HOME=/var/lib/{user}", "setpriv", *ids]


class ServiceTestbed:
    """Simulated machines on one network, which end when the context ends.

    `root`: their Debian root. `disks`: the kind of their disks.
    """

    def __init__(self, root: Path, disks: type[ForgetfulDisk] = ForgetfulDisk) -> None:
        check()
        self.root, self.disks = root, disks
        self.directory = Path(tempfile.mkdtemp(prefix="quorate-lab-"))
        self.machines: dict[str, ServiceMachine] = {}
        self._names: dict[str, list[str]] = {}
        self._switch = _hold(["unshare", "--net", "sh", "-c", "echo held; exec sleep infinity"])
        for bridge in ("one", "other"):
            self._net("link", "add", bridge, "type", "bridge")
            self._net("link", "set", bridge, "up")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for machine in self.machines.values():
            machine.end()
        self._switch.kill()
        self._switch.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def add(self, name: str, programs: Path | None = None, root: Path | None = None) -> ServiceMachine:
        """Adds a machine to the test bed.

        `programs`: environment of an OpenStack release. A machine with these programs uses a copy of the host's root
        instead of the Debian root. `root`: another Debian root.
        """
        machine = self.machines[name] = ServiceMachine(self, name, len(self.machines) + 1, programs, root)
        machine.write("/etc/resolv.conf", "")
        self._write_names(machine)
        if programs:
            machine.run(["cp", "--archive", f"{programs}/etc/.", "/etc"])
            # The programs are in root's home directory, which the accounts of services cannot enter on the host.
            machine.run(["chmod", "o+x", *map(str, programs.parents)])
        return machine

    def connect(self, machine: ServiceMachine) -> None:
        """Connects a machine to the test bed's bridge, and sets the machine's address."""
        port = f"port{machine.number}"
        self._net("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(machine.pid))
        self._net("link", "set", port, "master", "one")
        self._net("link", "set", port, "up")
        inside = ["nsenter", f"--target={machine.pid}", "--net", "ip"]
        _run([*inside, "address", "add", f"{machine.address}/24", "dev", "eth0"])
        _run([*inside, "link", "set", "eth0", "up"])

    def name_members(self, service: str, domain: str, names: Sequence[str]) -> None:
        """Writes the names of a headless Service's members to /etc/hosts of all machines, in place of cluster DNS.

        A name without a machine gets the address of a machine that is added later.
        """
        first = len(self.machines) + 1
        numbers = {name: self.machines[name].number if name in self.machines else None for name in names}
        unused = iter(range(first, first + len(names)))
        lines: list[str] = []
        for name in names:
            address = f"{NETWORK}.{numbers[name] or next(unused)}"
            lines.append(f"{address} {name}.{service}.{domain} {name}.{service} {name} {service}.{domain}")
        self._name({service: lines})

    def name_services(self, domain: str, services: Mapping[str, ServiceMachine]) -> None:
        """Writes the names of Services, each with one machine, to /etc/hosts of all machines."""
        self._name({service: [f"{machine.address} {service}.{domain}"] for service, machine in services.items()})

    def _name(self, lines: Mapping[str, list[str]]) -> None:
        self._names |= lines
        for machine in self.machines.values():
            self._write_names(machine)

    def _write_names(self, machine: ServiceMachine) -> None:
        lines = ["127.0.0.1 localhost", *(line for lines in self._names.values() for line in lines)]
        machine.write("/etc/hosts", "\n".join(lines) + "\n")

    def hide_names(self, *names: str) -> None:
        """Takes all names out of the named machines, as while the cluster's DNS does not answer."""
        for name in names:
            self.machines[name].write("/etc/hosts", "127.0.0.1 localhost\n")

    def show_names(self, *names: str) -> None:
        """Gives the named machines all names again, after `hide_names`."""
        for name in names:
            self._write_names(self.machines[name])

    def cut_power(self, *names: str) -> None:
        """Cuts the power of the named machines at the same moment: their disks forget what was not synced.

        Their programs end, and the disks are mounted again. Only disks of `add_disk` forget.
        """
        machines = [self.machines[name] for name in names]
        disks = [machine.disk for machine in machines if machine.disk]
        # A program that ran while its disk shuts down could acknowledge a write whose sync has not reached the disk.
        for machine in machines:
            machine.freeze()
        forgetful_disk.cut(disks)
        for machine in machines:
            machine.kill()
        for disk in disks:
            disk.remount()

    def isolate(self, *names: str) -> None:
        """Cuts the named machines off from all other machines. The named machines stay connected to each other."""
        for name in names:
            self._net("link", "set", f"port{self.machines[name].number}", "master", "other")

    def heal(self) -> None:
        """Connects all machines to one network again, after `isolate`."""
        for machine in self.machines.values():
            self._net("link", "set", f"port{machine.number}", "master", "one")

    def _net(self, *words: str) -> None:
        _run(["nsenter", f"--target={self._switch.pid}", "--net", "ip", *words])


def place(machine: ServiceMachine, container: TriedContainer, owner: str = "") -> list[str]:
    """Copies a container's files into a machine, as Kolla's start script does. Returns the command to run.

    `owner`: the owner of all files, for a machine without the users of Kolla's images.
    """
    for path, file in container.files.items():
        machine.write(path, file.text, owner or file.owner, file.mode)
    for path, user in container.directories.items():
        machine.own(path, owner or user)
    if machine.disk:
        machine.disk.sync()  # Kolla's start script copies the files at each start, so that a power cut loses none
    return container.command.split()


def until(what: str, condition: Callable[[], object], seconds: float, pause: float = 0.5) -> float:
    """Waits until `condition` is true, and returns the seconds that this took.

    Raises TimeoutError with the text `what` after `seconds`.
    """
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > seconds:
            raise TimeoutError(f"after {seconds:.0f} s: {what}")
        time.sleep(pause)
    return time.monotonic() - started


def check() -> None:
    """Raises Unavailable if this host cannot run a test bed."""
    missing = [name for name in ("unshare", "nsenter", "ip", "chroot", "setpriv") if not shutil.which(name)]
    if os.geteuid() != 0 or missing:
        raise Unavailable(_CAPABILITIES + (f"; {', '.join(missing)} not found" if missing else ""))
    mount = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        raise Unavailable(f"{_CAPABILITIES}; this machine does not allow namespaces of one's own")


def _hold(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts a process that keeps new namespaces. Returns when the namespaces are ready.

    Raises Unavailable if they cannot be created.
    """
    holder = subprocess.Popen([*_WITH_US, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if not holder.stdout or holder.stdout.readline().strip() != b"held":
        _, said = holder.communicate()
        raise Unavailable(f"{_CAPABILITIES}: {said.decode(errors='replace').strip()}")
    return holder


def _descendants(pid: int) -> list[int]:
    """Returns the children of a process and theirs; parents come first."""
    return [each for child in children(pid) for each in (child, *_descendants(child))]


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)
