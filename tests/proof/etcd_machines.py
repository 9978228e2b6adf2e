"""Masters with real members of etcd as processes on loopback addresses, and the script that changes their membership.

Each master has a root directory of its own with the rendered files, and a `systemctl` that starts and stops etcd.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path

from blueprint.plan.nodes import Node
from blueprint.plan.planner import plan
from blueprint.stackfile.certificate_generations import Generations
from blueprint.stackfile.loader import load_file
from components import templates
from components.k8s_master import etcd
from formats.certificates import Authority
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.stacks import STACKS

LIMIT = 240.0
"""Seconds until a condition must hold. Project figure."""

_SYSTEMCTL = """\
#!/bin/sh
# Starts and stops this root's etcd, restarts it when it ends, and answers what etcd_members.sh asks systemd.
case $1 in
enable) exit 0 ;;
is-enabled) exit 0 ;;
is-active) [ -e "$ROOT/started" ] && echo activating && exit 0; echo inactive; exit 3 ;;
start)
  [ ! -e "$ROOT/started" ] || exit 0
  touch "$ROOT/started"
  setsid "$0" run </dev/null >>"$ROOT/etcd.log" 2>&1 &
  ;;
run)
  echo $$ >"$ROOT/group"
  while [ -e "$ROOT/started" ]; do
    (
      mkdir -p "$ROOT/run/etcd" && cp "$ROOT"/etc/etcd/pki/* "$ROOT/run/etcd" # as the unit does
      set -a
      . "$ROOT/etc/etcd/etcd.env"
      . "$ROOT/etc/etcd/member.env"
      [ ! -e "$ROOT/etc/etcd/start.env" ] || . "$ROOT/etc/etcd/start.env"
      exec etcd
    ) & echo $! >"$ROOT/pid"
    wait $! || :
    sleep 1
  done
  ;;
stop | disable)
  rm -f "$ROOT/started"
  # The loop that restarts etcd ends too: a later start would find it, and two of them run two members.
  [ ! -e "$ROOT/group" ] || kill -s KILL -- "-$(cat "$ROOT/group")" 2>/dev/null || :
  rm -f "$ROOT/group"
  ;;
esac
"""
_KUBECTL = """\
#!/bin/sh
# `kubectl get --raw=/metrics` of a member; notes everything else.
for word; do
  case $word in
  --server=*) server=${word#--server=} ;;
  --raw=*) exec curl -sf --max-time 2 "$server${word#--raw=}" ;;
  esac
done
echo "kubectl $*" >>"$ROOT/log"
"""


@dataclass(frozen=True)
class Master:
    """A master's root directory."""

    node: Node
    root: Path

    @property
    def name(self) -> str:
        """The master's name."""
        return self.node.name

    def run(self, *words: str, code: int | None = 0, text: str = "") -> str:
        """Runs the script, which must end with `code` (None: any); its output contains `text`."""
        done = subprocess.run(
            self._command(*words), env=self.environment(), capture_output=True, text=True, check=False
        )
        output = done.stdout + done.stderr
        assert code is None or done.returncode == code, f"{words} on {self.name}: {done.returncode}\n{output}"
        assert text in output, output
        return output

    def succeeds(self, *words: str) -> bool:
        """Runs the script. Returns whether it succeeds."""
        command = self._command(*words)
        return subprocess.run(command, env=self.environment(), capture_output=True, check=False).returncode == 0

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """Starts the script in a process group of its own."""
        return subprocess.Popen(self._command(*words), env=self.environment(), start_new_session=True)

    def etcdctl(self, *words: str) -> str:
        """Runs etcdctl on this master's member and returns its output."""
        flags = [f"--{flag}={self.root}/etc/etcd/pki/{name}" for flag, name in
                 (("cacert", "ca.crt"), ("cert", "server.crt"), ("key", "server.key"))]  # fmt: skip
        command = ["etcdctl", *flags, f"--endpoints=https://{self.node.address}:{etcd.CLIENT_PORT}", *words]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True, check=True)
        return done.stdout

    def etcdutl(self, *words: str) -> None:
        """Runs etcdutl on this master's files."""
        subprocess.run(["etcdutl", *words], env=self.environment(), capture_output=True, check=True)

    def kill(self) -> None:
        """Cuts the master's power: etcd ends, and is not started again."""
        self.systemctl("stop")

    def lose_disk(self) -> None:
        """Cuts the power, and replaces the disk by an empty one."""
        self.kill()
        shutil.rmtree(self.root / "var/lib/etcd/member", ignore_errors=True)

    def systemctl(self, word: str) -> None:
        """Runs the master's systemctl on etcd's unit."""
        subprocess.run([self.root / "bin/systemctl", word], env=self.environment(), check=True)

    def pid(self) -> str:
        """The process ID of the running member."""
        return (self.root / "pid").read_text()

    def _command(self, *words: str) -> list[str]:
        return ["sh", f"{self.root}{etcd.MEMBERS}", *words]

    def environment(self) -> dict[str, str]:
        """The variables with which programs of the master run."""
        return {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "ROOT": str(self.root), "GOMAXPROCS": "2"}


class Masters:
    """Masters by name, of which the stack has some."""

    def __init__(self, directory: Path, programs: Sequence[Path]) -> None:
        self._directory = directory
        self._programs = programs
        self._all: dict[str, Master] = {}

    def render(self, *numbers: int) -> list[Master]:
        """Writes the files of masters for a stack that consists of exactly these. Returns them."""
        nodes = [_node(number) for number in numbers]
        for node in nodes:
            master = self._all.setdefault(node.name, Master(node, self._directory / node.name))
            self._write(master, nodes)
        return [self._all[node.name] for node in nodes]

    def end(self) -> None:
        """Ends all members."""
        for master in self._all.values():
            master.kill()

    def _write(self, master: Master, nodes: Sequence[Node]) -> None:
        parts = etcd.parts(master.node, nodes, CERTIFICATES)
        for path, text in templates.fill(parts.plain_files, {}).items():
            _write(master.root / path[1:], _local(text, master) if path.endswith(".env") else text)
        certify(master, Generations())
        (master.root / "var/lib/etcd").mkdir(parents=True, exist_ok=True)
        (master.root / "var/lib/etcd").chmod(0o700)
        for name, text in (("systemctl", _SYSTEMCTL), ("kubectl", _KUBECTL), ("chown", "#!/bin/sh\n")):
            _write(master.root / "bin" / name, text)
            (master.root / "bin" / name).chmod(0o755)
        # The user etcd need not exist on this host.
        _write(master.root / "bin/install", '#!/bin/sh\nfor last; do :; done\nexec mkdir -p "$last"\n')
        (master.root / "bin/install").chmod(0o755)
        for program in self._programs:
            link = master.root / "bin" / program.name
            if not link.is_symlink():
                link.symlink_to(program)


@contextmanager
def masters(directory: Path, programs: Sequence[Path]) -> Generator[Masters]:
    """Yields masters whose members end afterwards. `programs`: etcd, etcdctl and etcdutl."""
    made = Masters(directory, programs)
    try:
        yield made
    finally:
        made.end()


def certify(master: Master, generations: Generations) -> None:
    """Writes the certificates of a master's member, which reads them when it starts."""
    authorities = {each: Authority("etcd-ca", f"secret {each}", each) for each in range(1, 3)}
    files = {"ca.crt": "".join(authorities[each].pair.public for each in generations.trusts)}
    for purpose in ("server", "peer"):
        secret = f"{purpose}/{master.name} {generations.uses}"
        pair = authorities[generations.uses].member(master.name, [IPv4Address(master.node.address)], secret)
        files |= {f"{purpose}.crt": pair.public, f"{purpose}.key": pair.private}
    for name, text in files.items():
        _write(master.root / "etc/etcd/pki" / name, text)


def until(condition: Callable[[], bool], limit: float = LIMIT) -> float:
    """Waits until a condition holds. Returns the seconds."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < limit
        time.sleep(0.2)
    return time.monotonic() - started


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Kills a process group at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def address(number: int) -> str:
    """The address of a master's machine, in a network of this process: several processes run tests of this kind."""
    return f"127.{100 + os.getpid() // 256 % 100}.{os.getpid() % 256}.{number}"


def _node(number: int) -> Node:
    node = plan(load_file(STACKS["dev"])).masters[0]
    return replace(node, machine=replace(node.machine, name=f"master{number}", address=address(number)))


def _local(text: str, master: Master) -> str:
    """Returns a file with paths below the master's root, and listeners that the masters of one host do not share."""
    return (
        text.replace(f",https://127.0.0.1:{etcd.CLIENT_PORT}", "")
        .replace("=/var/lib/etcd", f"={master.root}/var/lib/etcd")
        .replace(f"={etcd.RUNTIME}/", f"={master.root}{etcd.RUNTIME}/")
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
