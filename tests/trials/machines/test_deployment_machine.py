"""`quorate handover` to a machine of its own and back, with the largest example: real ssh, rsync, `make setup`, Pulumi.

One test, because each step starts from what the one before has left. The other machine's engine comes from this host's
cache: to build it takes 10 to 15 minutes.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from files import handover_record
from files.handover_record import COPYING, GIVEN, IN_CHARGE, INCOMING, LOCKED, HandoverRecord
from tests.fakes import script
from tests.local_sshd import LocalSshd, local_sshd
from tests.stacks import ROOT, STACKS
from tests.trials.machines import deployment_machine
from tests.trials.machines.deployment_machine import HOME, NAME, PLACE, USER, DeploymentMachine
from tests.trials.machines.report_plugin import PROOF
from toolchain import debian_root, go_build
from toolchain.engine import installed
from trials.services.testbed import until
from trials.trial_report import without_writes

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

STACK = "ra1000"
STATES = Path("build/.state/.pulumi")
CLONE = HOME / "cloud"
"""The clone on the other machine."""
TO = f"{NAME}:{CLONE}"
UNCHANGED = "No changes: all"
LIMIT = 1800
"""Seconds after which a command counts as hanging."""
FAST, SLOW = "8192", "1024"
"""KiB/s of the link while a pass is killed."""
FIRST, SECOND = 7200, 10800
"""Seconds that Keystone's tokens are valid, as the stack is changed twice."""
_CHANGE = f'  quorate:projects: {{keystone: {{options: {{"keystone.conf": {{token: {{expiration: {FIRST}}}}}}}}}}}'
_SECRET = f"""\
. .venv/bin/activate
pulumi stack init {STACK}
printf %s {secrets.token_hex(32)} | pulumi config set --secret quorate:rootSecret --stack {STACK}
"""
"""What docs/pulumi.md says about a stack of one's own."""
_SSH = """\
{ssh} -F {config} "$@"
code=$?
case "$*" in *"&& make setup") while [ -e {hold} ]; do sleep 1; done ;; esac
exit $code
"""
"""An ssh that knows the other machine. `make setup` takes as long there as the test wants, as where Pulumi is built."""
_RSYNC = """\
case " $* " in *" --dry-run "*) ;; *) [ ! -e {limit} ] || set -- --bwlimit="$(cat {limit})" "$@" ;; esac
exec {rsync} "$@"
"""
"""An rsync by a link as slow as the test wants."""


_ENGINE = f"""\
mkdir -p {{cache}}
cp --archive /opt/quorate/engine {{cache}}/{{name}}
chown -R {USER}: {HOME}/.cache
[ ! -e /opt/quorate/go ] || ln -s /opt/quorate/go/bin/go /usr/local/bin/go
"""
"""Gives the other machine this host's Pulumi, in the cache {{cache}}, and Go, whose version is in the cache's names."""


@dataclass(frozen=True)
class DeploymentClone:
    """The clone on this host, how it reaches the other machine, and the clock of the trial."""

    root: Path
    programs: Path
    passphrase: Path
    machine: DeploymentMachine
    note: Callable[[str, object], None]

    @property
    def hold(self) -> Path:
        """While this file exists, `make setup` on the other machine does not end."""
        return self.programs / "hold"

    @property
    def limit(self) -> Path:
        """The file with KiB/s of the link; without it, there is no limit."""
        return self.programs / "limit"

    @property
    def variables(self) -> dict[str, str]:
        """What an operator's shell has: nothing of the test's own environment."""
        own = ROOT / ".venv"
        places = [each for each in os.get_exec_path() if not each.startswith((str(own), str(own.resolve())))]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "VIRTUAL_ENV"))}
        path = ":".join([str(self.programs), *places])
        return kept | {"PATH": path, "PULUMI_CONFIG_PASSPHRASE_FILE": str(self.passphrase)}

    @property
    def record(self) -> HandoverRecord | None:
        return handover_record.read(self.root)

    @property
    def phases(self) -> tuple[str, str]:
        """What both clones are, of their records."""
        there = self.machine.told("sh", "-c", f"cat {CLONE / handover_record.FILE} 2>/dev/null || true")
        return self.record.phase if self.record else "", handover_record.parse(there).phase if there else ""

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Starts a command of the clone here, in a session of its own."""
        return subprocess.Popen(
            command,
            cwd=self.root,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str, code: int = 0) -> str:
        """Runs a command of the clone here, and returns its output."""
        with self.start(*command) as process:
            output, _ = process.communicate(timeout=LIMIT)
        assert process.returncode == code, output
        return output

    def quorate(self, *words: str, code: int = 0) -> str:
        return self.run(".venv/bin/quorate", *words, code=code)

    def there(self, command: str, code: int = 0) -> str:
        """Runs a command in the clone on the other machine, as its user does who has logged in by ssh."""
        line = f"cd {CLONE} && export PULUMI_CONFIG_PASSPHRASE_FILE={self.passphrase} && {command} 2>&1"
        done = subprocess.run(
            [self.programs / "ssh", NAME, line],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def timed(self, what: str) -> Generator[None]:
        """Prints and records what a step took."""
        started = time.monotonic()
        yield
        seconds = time.monotonic() - started
        print(f"{seconds:6.0f} s  {what}", flush=True)
        self.note(PROOF, without_writes(f"Deployment machine: {what}", round(seconds, 1)))


def test_a_handover_and_back(
    tmp_path: Path, record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    root, programs = _found()
    (tmp_path / "keys").mkdir(mode=0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "keys/login"], check=True)
    key = (tmp_path / "keys/login.pub").read_text(encoding="utf-8")
    with (
        capsys.disabled(),
        deployment_machine.running(root, programs, key) as machine,
        local_sshd(tmp_path / "keys", PLACE.deployer) as server,
    ):
        clone = _clone(tmp_path, machine, record_property)
        _introduce(clone, server, tmp_path / "keys")
        deployed(clone)
        what_is_missing_is_said(clone)
        killed_in_the_first_pass(clone)
        killed_in_the_last_pass(clone)
        in_charge(clone)
        way = handed_over(clone)
        back(clone, way)


def _found() -> tuple[Path, dict[str, Path]]:
    """Returns the machine's root, and what it has of this host: the engine, and the Go by which it is known."""
    engine = installed(ROOT)
    if engine.source == "path":
        pytest.skip("Pulumi is on this host's PATH; the other machine would have to download or build one")
    try:
        root = debian_root.ensure(Reporter(), debian_root.DEPLOYMENT)
    except UserError as reason:
        pytest.skip(str(reason))
    found = {"engine": engine.directory}
    if go := go_build.find_go((1,)):
        found["go"] = Path(subprocess.check_output([go.command, "env", "GOROOT"], text=True).strip())
    return root, found


def _clone(directory: Path, machine: DeploymentMachine, note: Callable[[str, object], None]) -> DeploymentClone:
    root, programs, passphrase = (
        directory / "clone",
        directory / "programs",
        deployment_machine.DIRECTORY / "site/passphrase",
    )
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, root], check=True)
    passphrase.parent.mkdir()
    passphrase.write_text(secrets.token_hex(16) + "\n", encoding="utf-8")
    clone = DeploymentClone(root, programs, passphrase, machine, note)
    config = programs / "ssh_config"
    script(programs, "ssh", _SSH.format(ssh=shutil.which("ssh"), config=config, hold=clone.hold))
    script(programs, "rsync", _RSYNC.format(rsync=shutil.which("rsync"), limit=clone.limit))
    return clone


def _introduce(clone: DeploymentClone, server: LocalSshd, keys: Path) -> None:
    """Gives both users what logs them in to the other machine, and the other one this host's Pulumi."""
    (keys / "known_machine").write_text(f"{PLACE.address} {clone.machine.host_key}\n", encoding="utf-8")
    (clone.programs / "ssh_config").write_text(
        f"Host {NAME}\n  HostName {PLACE.address}\n  User {USER}\n  IdentityFile {keys}/login\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {keys}/known_machine\n",
        encoding="utf-8",
    )
    clone.machine.write(HOME / ".ssh/id_ed25519", (keys / "user").read_text(encoding="utf-8"))
    clone.machine.write(HOME / ".ssh/known_hosts", (keys / "known_hosts").read_text(encoding="utf-8"))
    config = f"Host {socket.gethostname()}\n  HostName {PLACE.deployer}\n  Port {server.port}\n"
    clone.machine.write(HOME / ".ssh/config", config)
    engine = installed(ROOT)
    cache = f"{HOME}/.cache/quorate"
    clone.machine.told("sh", "-ec", _ENGINE.format(cache=cache, name=engine.directory.name), seconds=LIMIT)


def deployed(clone: DeploymentClone) -> None:
    """A site's own clone: its environment, its stack file with an encrypted secret, in git, and a state."""
    with clone.timed("`make setup` here"):
        clone.run("make", "setup")
    shutil.copy(STACKS[STACK], clone.root / f"Pulumi.{STACK}.yaml")
    clone.run("sh", "-ec", _SECRET)
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    clone.run("git", "add", f"Pulumi.{STACK}.yaml")
    clone.run("git", *author, "commit", "--quiet", "--message=Deploy it")
    with clone.timed(f"`up` of {STACK} here"):
        clone.quorate("up", "--stack", STACK)
    state = clone.root / STATES / f"stacks/quorate/{STACK}.json"
    print(f"          the state has {state.stat().st_size / 2**20:.1f} MiB", flush=True)


def what_is_missing_is_said(clone: DeploymentClone) -> None:
    """The passphrase's directory does not exist there, and the login cannot make it."""
    said = clone.quorate("handover", TO, "--plan", code=3)
    assert f"{clone.passphrase} cannot be written on {NAME} by this login" in said
    directory = str(clone.passphrase.parent)
    clone.machine.told("sh", "-ec", f"mkdir -p {directory}; chown {USER}: {directory}")
    with clone.timed("the plan"):
        said = clone.quorate("handover", TO, "--plan")
    print("          " + next(line for line in said.splitlines() if line.endswith("states:")), flush=True)
    assert clone.phases == ("", "")


def killed_in_the_first_pass(clone: DeploymentClone) -> None:
    clone.limit.write_text(FAST, encoding="utf-8")
    with clone.start(".venv/bin/quorate", "handover", TO) as running:
        size = f"du -sm {CLONE} 2>/dev/null | cut -f 1"
        until("8 MiB are copied", lambda: int(clone.machine.told("sh", "-c", size) or 0) >= 8, LIMIT)
        _kill(running)
    clone.limit.unlink()
    assert clone.phases == (COPYING, INCOMING)


def killed_in_the_last_pass(clone: DeploymentClone) -> None:
    """An `up` here changes the state while `make setup` runs there; then the pass that copies this is killed."""
    clone.hold.touch()
    with clone.start(".venv/bin/quorate", "handover", TO) as running:
        with clone.timed("the first pass, after one that was killed"):
            _read_until(running, "2. run `make setup`")
        with clone.timed("`up` with a change here, while `make setup` runs there"):
            clone.run("sed", "-i", f"s/^config:$/&\\n{_CHANGE}/", f"Pulumi.{STACK}.yaml")
            assert " 1 updated" in (said := clone.quorate("up", "--stack", STACK)), said
        clone.hold.unlink()
        clone.limit.write_text(SLOW, encoding="utf-8")
        said = _read_until(running, "4. copy what has changed")
        assert "Set up in " in said
        print("          " + next(line for line in said.splitlines() if line.startswith("Set up in ")), flush=True)
        parts = f"find {CLONE / STATES} -name '.{STACK}*'"
        until("a part of a state is there", lambda: bool(clone.machine.told("sh", "-c", parts)), LIMIT)
        _kill(running)
    clone.limit.unlink()
    assert clone.phases == (LOCKED, INCOMING)


def in_charge(clone: DeploymentClone) -> None:
    """The clone here previews and does not change anything; the copy on the other machine refuses as well."""
    with clone.timed("`preview` here, with locked states"):
        assert UNCHANGED in clone.quorate("preview", "--stack", STACK)
    assert f"is being handed over to {TO}" in clone.quorate("up", "--stack", STACK, code=1)
    said = clone.there(f".venv/bin/quorate up --stack {STACK}", code=1)
    assert "which is in charge until its handover has ended" in said


def handed_over(clone: DeploymentClone) -> str:
    """Returns the command of the way back, as the handover prints it."""
    with clone.timed("the handover, after two that were killed"):
        said = clone.quorate("handover", TO)
    print("".join(f"          {line}\n" for line in said.splitlines() if re.match(r"\d\. |   ", line)), flush=True)
    assert re.search(rf"^   {STACK}: \d+ resources$", said, re.MULTILINE), said
    assert clone.phases == (GIVEN, IN_CHARGE)
    kept = clone.machine.told("stat", "--format=%a %U", str(clone.passphrase))
    assert kept == f"600 {USER}"
    assert clone.passphrase.read_text(encoding="utf-8").strip() not in said
    assert clone.there("hostname").strip() == NAME
    with clone.timed("`up` on the other machine"):
        assert UNCHANGED in clone.there(f".venv/bin/quorate up --stack {STACK}")
    assert f"was handed over to {TO}" in clone.quorate("up", "--stack", STACK, code=1)
    return said.rpartition(": ")[2].strip()


def back(clone: DeploymentClone, way: str) -> None:
    """A change that the other machine has made comes back with the clone."""
    clone.there(f"sed -i 's/expiration: {FIRST}/expiration: {SECOND}/' Pulumi.{STACK}.yaml")
    with clone.timed("`up` with a change on the other machine"):
        assert " 1 updated" in (said := clone.there(f".venv/bin/quorate up --stack {STACK}")), said
    assert way.startswith("quorate handover ")
    with clone.timed("the way back"):
        clone.there(f".venv/bin/{way}")
    assert clone.phases == (IN_CHARGE, GIVEN)
    assert f"expiration: {SECOND}" in (clone.root / f"Pulumi.{STACK}.yaml").read_text(encoding="utf-8")
    with clone.timed("`up` here, after the way back"):
        assert UNCHANGED in clone.quorate("up", "--stack", STACK)
    assert "was handed over to" in clone.there(f".venv/bin/quorate up --stack {STACK}", code=1)


def _read_until(running: subprocess.Popen[str], begin: str) -> str:
    """Reads the output of a running command until a line begins with a text, and returns it."""
    assert running.stdout
    lines: list[str] = []
    for line in running.stdout:
        lines.append(line)
        if line.startswith(begin):
            return "".join(lines)
    raise AssertionError("".join(lines))


def _kill(running: subprocess.Popen[str]) -> None:
    """Kills a command with all its programs, as a machine that stops does."""
    os.killpg(running.pid, signal.SIGKILL)
    assert running.wait(20) == -signal.SIGKILL
