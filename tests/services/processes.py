"""Starts the real programs of rendered containers as processes: no images and no cluster, only Linux namespaces.

All processes share a network namespace of their own, where every name of the stack is the loopback address. Each has a
mount namespace with its own root: an overlay of the machine's root, or of a Debian root, with the files that Kolla's
images bring (`etc` of the release's environment) and those that Kolla's start script copies. Needs root.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.services.rendered import Started

_NAME = re.compile(r"\b[a-z0-9][a-z0-9.-]*\.svc\b")
_ENTER = """\
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
[ -z "$BROUGHT" ] || cp -a "$BROUGHT/etc" /mnt/upper/etc
cp -a "$FILES/." /mnt/upper
mount -t overlay overlay -o "lowerdir=$BASE,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
for each in proc sys dev; do mount --rbind "/$each" "/mnt/root/$each"; done
exec chroot /mnt/root "$@"
"""


@dataclass(frozen=True)
class Base:
    """What an image would bring: a root, and the environment of an OpenStack release, if it has one."""

    root: Path
    release: Path | None = None

    @property
    def search_path(self) -> str:
        """PATH of its processes."""
        own = f"{self.release}/bin:" if self.release else ""
        return f"{own}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Loopback:
    """A network namespace, and the processes in it; they end with the `with` block.

    `stack` is every container of the stack: a name may reach a process by another's configuration, or by Keystone.
    """

    def __init__(self, directory: Path, stack: Iterable[Started]) -> None:
        self._directory = directory
        self._hosts = f"127.0.0.1 localhost {' '.join(sorted(_names(stack)))}\n"
        self._children: list[subprocess.Popen[bytes]] = []
        hold = "ip link set lo up && echo held && exec sleep infinity"
        words = ["setpriv", "--pdeathsig=KILL", "unshare", "--net", "sh", "-c", hold]
        self._holder = subprocess.Popen(words, stdout=subprocess.PIPE)
        if self._holder.stdout is None or self._holder.stdout.readline() != b"held\n":
            raise RuntimeError("a network namespace needs root and `ip`")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for child in (*reversed(self._children), self._holder):
            child.terminate()
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def run(self, container: Started, base: Base, variables: Mapping[str, str] | None = None) -> str:
        """Runs a container to its end and returns its output. Raises RuntimeError if it fails."""
        code = self._start(container, base, variables or {}).wait()
        if code:
            raise RuntimeError(f"{container.workload} exited with {code}:\n{self.log(container)[-3000:]}")
        return self.log(container)

    def start(self, container: Started, base: Base, variables: Mapping[str, str] | None = None) -> None:
        """Starts a container. `variables` override those of its own; oslo.config reads OS_<SECTION>__<OPTION>."""
        self._children.append(self._start(container, base, variables or {}))

    def log(self, container: Started) -> str:
        """What a container has written so far."""
        return self._place(container).with_suffix(".log").read_text(errors="replace")

    def ask(self, command: Sequence[str | Path], seconds: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs a command of the machine in the network namespace."""
        words = ["nsenter", "--target", str(self._holder.pid), "--net", *map(str, command)]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=seconds)

    def _place(self, container: Started) -> Path:
        return self._directory / f"{container.workload}-{container.name}"

    def _start(self, container: Started, base: Base, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        files = self._place(container)
        _write(container, files)
        (files / "etc").mkdir(parents=True, exist_ok=True)
        (files / "etc" / "hosts").write_text(self._hosts, encoding="utf-8")
        own = {name: "127.0.0.1" if value == "status.hostIP" else value for name, value in container.variables.items()}
        environment = {"PATH": base.search_path, "HOME": "/root", "LANG": "C.UTF-8", **own, **variables}
        enter = [
            "nsenter",
            "--target",
            str(self._holder.pid),
            "--net",
            "unshare",
            "--mount",
            "--propagation",
            "private",
        ]
        assigned = [f"{name}={value}" for name, value in environment.items()]
        program = ["setpriv", "--pdeathsig=KILL", "env", "-i", *assigned, *container.command.split()]
        with files.with_suffix(".log").open("wb") as log:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig=KILL", *enter, "sh", "-c", _ENTER, "sh", *program],
                env={**os.environ, "FILES": str(files), "BASE": str(base.root), "BROUGHT": str(base.release or "")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )


def _write(container: Started, files: Path) -> None:
    """Writes what goes over a container's root: its files and its directories."""
    shutil.rmtree(files, ignore_errors=True)
    for name, text in container.files.items():
        target = files / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for directory in container.directories:
        (files / directory.lstrip("/")).mkdir(parents=True, exist_ok=True)


def _names(stack: Iterable[Started]) -> set[str]:
    """Every name of a Service or a member that the stack mentions."""
    texts = (text for each in stack for text in (*each.files.values(), *each.variables.values(), each.command))
    return {found for text in texts for found in _NAME.findall(text)}
