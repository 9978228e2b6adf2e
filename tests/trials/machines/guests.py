"""A stack whose machines on virt hosts are made by `up`, and the SSH client that logs in to them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from tests.engine.conftest import Done, Project, open_project
from tests.sshd import Agent
from trials.services.testbed import until


@dataclass(frozen=True)
class Guests:
    """The machines of a stack, with their addresses by name."""

    project: Project
    addresses: Mapping[str, str]
    directory: Path
    """For files of known hosts."""
    boot: float
    """Seconds until a machine must answer by SSH."""

    def up(self, *options: str) -> Done:
        """Runs `pulumi up`, and prints how long it took."""
        started = time.monotonic()
        done = self.project.run("up", "--yes", "--skip-preview", *options)
        print(f"up {' '.join(options)}: {time.monotonic() - started:.0f} s")
        return done

    def told(self, name: str, command: str) -> str:
        """Returns the output of a command that must succeed, as soon as the machine answers."""
        until(f"{name} answers", lambda: self._ssh(name, "true").returncode == 0, self.boot, pause=1)
        done = self._ssh(name, command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _ssh(self, name: str, command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command on a machine, whose host key must be the one that the stack derives."""
        known = self.directory / f"known_hosts_{name}"
        if not known.exists():
            key = self.project.run("stack", "output", name).output.strip()
            known.write_text(f"{self.addresses[name]} {key}\n", encoding="utf-8")
        options = ("BatchMode=yes", f"UserKnownHostsFile={known}", "GlobalKnownHostsFile=none", "ConnectTimeout=60")
        words = [word for option in options for word in ("-o", option)]
        return subprocess.run(
            ["ssh", "-F", "none", *words, f"root@{self.addresses[name]}", command],
            capture_output=True,
            text=True,
            check=False,
            env=self.project.environment,
        )


def open_stack(directory: Path, program: str, variables: Mapping[str, str], agent: Agent) -> Project:
    """Opens a live lab in `directory`, whose Pulumi program is a file beside this one. It has no machines yet.

    `variables`: by which the engine is found. `agent`: has the key to log in, whose public part is written to
    `login.pub`.
    """
    (directory / "login.pub").write_text(agent.public_key, encoding="utf-8")
    config = {"profile": "lab", "architecture": "100", "target": "live", "features": ["reduced-footprint"]}
    text = yaml.safe_dump({"config": {f"quorate:{key}": value for key, value in config.items()}})
    file = directory / "first.yaml"
    file.write_text(f"# machines on virt hosts\n{text}", encoding="utf-8")
    opened = open_project(directory / "project", "guests", dict(variables), file)
    linked = opened.directory / "__main__.py"
    linked.unlink()
    linked.write_text(Path(__file__).with_name(program).read_text(encoding="utf-8"), encoding="utf-8")
    return replace(opened, environment=opened.environment | {"SSH_AUTH_SOCK": str(agent.socket)})
