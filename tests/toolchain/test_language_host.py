"""The language host as the engine meets it: a process that answers over gRPC, and goes when the engine does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2 as messages
from pulumi.runtime.proto import plugin_pb2

from tests.fakes import ROOT, locked, script
from toolchain.environment import connect
from toolchain.go_build import LAUNCHER

SERVICE = "/pulumirpc.LanguageRuntime"
HOST = ROOT / "toolchain" / "language_host.py"

# Stands for the SDK's executor: writes down what it got, and ends as it is told.
EXECUTOR = """\
import json, os, pathlib, sys, time
keys = ("PULUMI_CONFIG", "PULUMI_CONFIG_SECRET_KEYS")
facts = {"arguments": sys.argv[1:], "directory": os.getcwd(), **{key: json.loads(os.environ[key]) for key in keys}}
pathlib.Path("facts.json").write_text(json.dumps(facts))
if sys.argv[-1] == "sleep":
    print(os.getpid(), flush=True)
    time.sleep(600)
print("the program speaks", flush=True)
os.kill(os.getpid(), 9) if sys.argv[-1] == "die" else sys.exit(int(sys.argv[-1]))
"""


class Client:
    """The calls that the tests make. The SDK has a stub for them, but one that type checkers cannot follow."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.info = channel.unary_unary(
            f"{SERVICE}/GetPluginInfo", Empty.SerializeToString, plugin_pb2.PluginInfo.FromString
        )
        self.packages = channel.unary_unary(
            f"{SERVICE}/GetRequiredPackages",
            messages.GetRequiredPackagesRequest.SerializeToString,
            messages.GetRequiredPackagesResponse.FromString,
        )
        self.run = channel.unary_unary(
            f"{SERVICE}/Run", messages.RunRequest.SerializeToString, messages.RunResponse.FromString
        )
        self.run_plugin = channel.unary_stream(
            f"{SERVICE}/RunPlugin", messages.RunPluginRequest.SerializeToString, messages.RunPluginResponse.FromString
        )


@dataclass(frozen=True)
class Host:
    """A running language host, and a client of it."""

    process: subprocess.Popen[bytes]
    client: Client
    program: Path

    def run(self, then: str) -> messages.RunResponse:
        request = messages.RunRequest(
            project="quorate",
            stack="dev",
            organization="organization",
            pwd=str(self.program),
            monitor_address="127.0.0.1:1",
            config={"quorate:profile": "lab"},
            configSecretKeys=["quorate:rootSecret"],
            dryRun=True,
            parallel=16,
            info=self.info,
            args=[then],
        )
        return self.client.run(request, timeout=120)

    @property
    def info(self) -> messages.ProgramInfo:
        where = str(self.program)
        return messages.ProgramInfo(root_directory=where, program_directory=where, entry_point=".")

    def pack(self, source: str) -> messages.RunPluginRequest:
        """Returns a request to run a policy pack with this Python source."""
        (self.program / "__main__.py").write_text(source, encoding="utf-8")
        environment = [f"{name}={value}" for name, value in os.environ.items()]
        return messages.RunPluginRequest(
            kind="analyzer", info=self.info, args=["127.0.0.1:2"], env=[*environment, "GIVEN=a=b"]
        )


@pytest.fixture
def host(tmp_path: Path) -> Generator[Host]:
    """A language host, started as the engine does: by the launcher beside the executor, in a clone's environment."""
    engine, program, venv = tmp_path / "engine", tmp_path / "program", tmp_path / "venv"
    program.mkdir()
    activate = script(venv / "bin", "activate", "")
    launcher = script(engine, "pulumi-language-python", "")
    launcher.write_text(LAUNCHER, encoding="utf-8")
    (engine / "pulumi-language-python-exec").write_text(EXECUTOR, encoding="utf-8")
    connect(venv, engine / "pulumi", HOST.parent, {})
    with subprocess.Popen(
        [launcher, "--tracing", "none", "127.0.0.1:3"],
        env={**os.environ, "PATH": f"{activate.parent}:{os.defpath}", "PULUMI_PYTHON_CMD": sys.executable},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Host(process, Client(channel), program)
        process.kill()


def test_it_is_of_the_sdks_version(host: Host) -> None:
    assert host.client.info(Empty()).version == locked("pulumi")


def test_it_asks_for_no_provider_beforehand(host: Host) -> None:
    response = host.client.packages(messages.GetRequiredPackagesRequest(info=host.info))
    assert response == messages.GetRequiredPackagesResponse()


def test_it_runs_a_program_as_the_executor_wants_it(host: Host) -> None:
    response = host.run("0")
    assert (response.error, response.bail) == ("", False)
    facts = (host.program / "facts.json").read_text(encoding="utf-8")
    for expected in (
        '"--monitor", "127.0.0.1:1", "--engine", "127.0.0.1:3", "--project", "quorate", "--stack", "dev"',
        f'"--root_directory", "{host.program}", "--pwd", "{host.program}", "--dry_run", "true", "--parallel", "16"',
        f'"{host.program}", "0"]',
        f'"directory": "{host.program}"',
        '"PULUMI_CONFIG": {"quorate:profile": "lab"}',
        '"PULUMI_CONFIG_SECRET_KEYS": ["quorate:rootSecret"]',
    ):
        assert expected in facts
    assert host.process.stdout
    assert host.process.stdout.readline() == b"the program speaks\n"  # the engine shows what the program prints


@pytest.mark.parametrize(
    ("then", "error", "bail"),
    [
        ("32", "", True),
        ("3", "the program exited with code 3", False),
        ("die", "the program was ended by signal 9", False),
    ],
)
def test_it_tells_how_a_program_failed(host: Host, then: str, error: str, bail: bool) -> None:
    response = host.run(then)
    assert (response.error, response.bail) == (error, bail)


def test_a_dropped_run_ends_the_program(host: Host) -> None:
    request = messages.RunRequest(info=host.info, args=["sleep"], pwd=str(host.program))
    call = host.client.run.future(request)
    assert host.process.stdout
    child = int(host.process.stdout.readline())
    call.cancel()
    _gone(child)


def test_it_streams_a_policy_packs_output_and_end(host: Host) -> None:
    source = 'import os, sys; print("port"); print(os.environ["GIVEN"]); print("note", file=sys.stderr); sys.exit(4)'
    responses = list(host.client.run_plugin(host.pack(source), timeout=120))
    assert b"".join(each.stdout for each in responses) == b"port\na=b\n"
    assert b"".join(each.stderr for each in responses) == b"note\n"
    assert responses[-1].WhichOneof("output") == "exitcode"
    assert responses[-1].exitcode == 4


def test_a_pack_ends_with_its_call(host: Host) -> None:
    call, child = _serving(host)
    call.cancel()
    _gone(child)


def test_other_plugins_are_refused_in_a_sentence(host: Host) -> None:
    with pytest.raises(grpc.RpcError, match="cannot run a resource plugin"):
        list(host.client.run_plugin(messages.RunPluginRequest(kind="resource", info=host.info)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_goes_quietly_when_told_to_and_takes_its_children_along(host: Host, number: signal.Signals) -> None:
    _, child = _serving(host)
    host.process.send_signal(number)
    _, complaint = host.process.communicate(timeout=60)
    assert (host.process.returncode, complaint) == (0, b"")
    _gone(child)


def test_it_goes_when_the_engine_is_no_more(host: Host) -> None:
    host.client.info(Empty())
    assert host.process.stdin
    host.process.stdin.close()
    assert host.process.wait(timeout=60) == 0


def test_started_by_hand_it_says_who_starts_it() -> None:
    result = subprocess.run([sys.executable, HOST], capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 2
    assert result.stderr == "The engine starts this program, with its own address as the last argument.\n"


def _serving(host: Host) -> tuple[grpc.Call, int]:
    """A policy pack that serves until it is ended, and its process."""
    source = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    call = host.client.run_plugin(host.pack(source))
    return call, int(next(iter(call)).stdout)


def _gone(pid: int, patience: float = 30.0) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.05)
