"""The built language host as the engine meets it: a process that answers over gRPC, and goes when the engine does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import analyzer_pb2, plugin_pb2
from pulumi.runtime.proto import language_pb2 as messages

from tests.fakes import BUILT_PULUMI, ROOT, script
from toolchain.engine import MANIFEST, Engine
from toolchain.go_build import LANGUAGE_HOST

SERVICE = "/pulumirpc.LanguageRuntime"
BY_HAND = "The engine starts this program, with its own address as the last argument.\n"

# Stands for the SDK's executor: writes down what it got, and ends as it is told.
EXECUTOR = """\
import json, os, pathlib, sys, time
keys = ("PULUMI_CONFIG", "PULUMI_CONFIG_SECRET_KEYS")
facts = {"arguments": sys.argv[1:], "python": sys.executable, **{key: json.loads(os.environ[key]) for key in keys}}
pathlib.Path("facts.json").write_text(json.dumps(facts))
if sys.argv[-1] == "sleep":
    print(os.getpid(), flush=True)
    time.sleep(600)
print("the program speaks", flush=True)
os.kill(os.getpid(), 9) if sys.argv[-1] == "die" else sys.exit(int(sys.argv[-1]))
"""

# A policy pack that answers every call with UNIMPLEMENTED, prints its port and what follows.
PACK = """\
import concurrent.futures, grpc, json, os, sys, threading, time
class Called(threading.Event, grpc.GenericRpcHandler):
    def service(self, details):
        self.set()
called = Called()
server = grpc.server(concurrent.futures.ThreadPoolExecutor(), [called])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
"""
# Ends only after its configuration, which the host sends, or without a proxy the test.
PRINT = """\
print(os.environ["GIVEN"], flush=True)
called.wait()
server.stop(grace=60).wait()
print("note", file=sys.stderr)
os._exit(4)
"""
STACK = ("PULUMI_ORGANIZATION", "PULUMI_PROJECT", "PULUMI_STACK", "PULUMI_DRY_RUN", "PULUMI_CONFIG")


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
        self.about = channel.unary_unary(
            f"{SERVICE}/About", messages.AboutRequest.SerializeToString, messages.AboutResponse.FromString
        )
        self.run = channel.unary_unary(
            f"{SERVICE}/Run", messages.RunRequest.SerializeToString, messages.RunResponse.FromString
        )
        self.cancel = channel.unary_unary(f"{SERVICE}/Cancel", Empty.SerializeToString, Empty.FromString)
        self.run_plugin = channel.unary_stream(
            f"{SERVICE}/RunPlugin", messages.RunPluginRequest.SerializeToString, messages.RunPluginResponse.FromString
        )


class Call(Protocol):
    """A call that has not ended."""

    def cancel(self) -> bool: ...
    def result(self, timeout: float) -> messages.RunResponse: ...


class Pack:
    """A policy pack that the host runs, as the engine sees it."""

    def __init__(self, call: Iterator[messages.RunPluginResponse]) -> None:
        self.call = call
        self.output = b""

    def line(self) -> str:
        """Returns the next line of its output."""
        while b"\n" not in self.output:
            self.output += next(self.call).stdout
        line, _, self.output = self.output.partition(b"\n")
        return line.decode()


@dataclass(frozen=True)
class Host:
    """A running language host, and a client of it."""

    process: subprocess.Popen[bytes]
    client: Client
    program: Path

    def request(self, then: str, **options: str | bool) -> messages.RunRequest:
        return messages.RunRequest(
            project="quorate",
            stack="dev",
            organization="organization",
            pwd=str(self.program),
            monitor_address="127.0.0.1:1",
            config={"quorate:profile": "lab"},
            configSecretKeys=["quorate:rootSecret"],
            dryRun=True,
            parallel=16,
            info=self.info(**options),
            args=[then],
        )

    def run(self, then: str, **options: str | bool) -> messages.RunResponse:
        return self.client.run(self.request(then, **options), timeout=120)

    def info(self, **options: str | bool) -> messages.ProgramInfo:
        """Returns what the engine knows of the program; `options` are those of `runtime` in Pulumi.yaml."""
        where, given = str(self.program), Struct()
        given.update(options)
        return messages.ProgramInfo(root_directory=where, program_directory=where, entry_point=".", options=given)

    def facts(self) -> dict[str, object]:
        return json.loads((self.program / "facts.json").read_text(encoding="utf-8"))

    def line(self) -> str:
        """Returns the next line of the host's output, where a program prints."""
        assert self.process.stdout
        return self.process.stdout.readline().decode().rstrip("\n")

    def sleeping(self) -> tuple[Call, int]:
        """A program that runs until it is ended, and its process."""
        return self.client.run.future(self.request("sleep")), int(self.line())

    def pack(self, source: str) -> Pack:
        """Starts a policy pack with this Python source, and configures it if the engine talks to a proxy."""
        (self.program / "__main__.py").write_text(source, encoding="utf-8")
        environment = [f"{name}={value}" for name, value in os.environ.items()]
        request = messages.RunPluginRequest(
            kind="analyzer", info=self.info(), args=["127.0.0.1:2"], env=[*environment, "GIVEN=a=b"]
        )
        pack = Pack(self.client.run_plugin(request, timeout=120))
        port = int(pack.line())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            configure = channel.unary_unary(
                "/pulumirpc.Analyzer/ConfigureStack",
                analyzer_pb2.AnalyzerStackConfigureRequest.SerializeToString,
                analyzer_pb2.AnalyzerStackConfigureResponse.FromString,
            )
            stack = analyzer_pb2.AnalyzerStackConfigureRequest(
                organization="organization",
                project="quorate",
                stack="dev",
                dry_run=True,
                config={"quorate:profile": "lab"},
            )
            with suppress(grpc.RpcError):  # without a proxy, the pack itself answers: UNIMPLEMENTED
                configure(stack, timeout=60)
        return pack

    def serving(self) -> tuple[Pack, int]:
        """A policy pack that serves until it is ended, and its process."""
        pack = self.pack(PACK + "print(os.getpid(), flush=True); time.sleep(600)")
        return pack, int(pack.line())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the built language host, and with another executor than the SDK's."""
    built = Engine.load(ROOT / ".venv" / MANIFEST)
    if built is None or built.source != "build":
        pytest.skip("the engine was not built here: `make setup` builds it if QUORATE_ENGINE is `build`")
    directory = tmp_path_factory.mktemp("engine")
    shutil.copy(Path(built.binaries) / LANGUAGE_HOST, directory)
    (directory / f"{LANGUAGE_HOST}-exec").write_text(EXECUTOR, encoding="utf-8")
    return directory


@contextmanager
def started(engine: Path, program: Path, **variables: str) -> Generator[Host]:
    """A language host, started as the engine does."""
    with subprocess.Popen(
        [engine / LANGUAGE_HOST, "127.0.0.1:3"],
        cwd=program,
        env={**os.environ, "PULUMI_PYTHON_CMD": sys.executable, "QUORATE_POLICY_PROXY": "", **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Host(process, Client(channel), program)
        process.kill()


@pytest.fixture
def host(engine: Path, tmp_path: Path) -> Generator[Host]:
    with started(engine, tmp_path) as running:
        yield running


@pytest.fixture(params=["the official host's", "none"])
def with_or_without_proxy(engine: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Generator[Host]:
    with started(engine, tmp_path, QUORATE_POLICY_PROXY=request.param) as running:
        yield running


def test_it_is_of_the_engine_s_version(host: Host) -> None:
    assert host.client.info(Empty()).version == f"v{BUILT_PULUMI}"


def test_it_asks_for_no_provider_beforehand(host: Host) -> None:
    response = host.client.packages(messages.GetRequiredPackagesRequest(info=host.info()))
    assert response == messages.GetRequiredPackagesResponse()


def test_it_runs_a_program_as_the_executor_wants_it(host: Host) -> None:
    response = host.run("0")
    assert (response.error, response.bail) == ("", False)
    assert host.facts() == {
        "arguments": [
            *("--monitor", "127.0.0.1:1", "--engine", "127.0.0.1:3", "--project", "quorate"),
            *("--root_directory", str(host.program), "--stack", "dev", "--pwd", str(host.program)),
            *("--dry_run", "true", "--parallel", "16", "--organization", "organization", ".", "0"),
        ],
        "python": sys.executable,
        "PULUMI_CONFIG": {"quorate:profile": "lab"},
        "PULUMI_CONFIG_SECRET_KEYS": ["quorate:rootSecret"],
    }
    assert host.line() == "the program speaks"  # the engine shows what the program prints


def test_a_stack_without_configuration_has_an_empty_one(host: Host) -> None:
    request = messages.RunRequest(info=host.info(), args=["0"])
    assert host.client.run(request, timeout=120) == messages.RunResponse()
    facts = host.facts()
    assert (facts["PULUMI_CONFIG"], facts["PULUMI_CONFIG_SECRET_KEYS"]) == ({}, [])


def test_a_named_virtual_environment_runs_the_program(host: Host) -> None:
    with pytest.raises(grpc.RpcError, match="doesn't exist"):
        host.run("0", virtualenv=".venv")
    script(host.program / ".venv" / "bin", "python", f'echo "from $VIRTUAL_ENV"; exec {sys.executable} "$@"')
    assert host.run("0", virtualenv=".venv") == messages.RunResponse()
    assert host.line() == f"from {host.program}/.venv"


def test_about_names_the_interpreter(host: Host) -> None:
    found = host.client.about(messages.AboutRequest(info=host.info()), timeout=120)
    assert (found.executable, found.version) == (sys.executable, ".".join(map(str, sys.version_info[:3])))


def test_an_option_that_it_does_not_know_is_refused(host: Host) -> None:
    with pytest.raises(grpc.RpcError, match="remove typechecker"):
        host.run("0", typechecker="mypy")


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
    call, child = host.sleeping()
    call.cancel()
    _gone(child)


def test_an_interrupt_of_the_engine_ends_the_program(host: Host) -> None:
    call, child = host.sleeping()
    host.client.cancel(Empty())
    assert call.result(timeout=60).error
    _gone(child)


def test_it_streams_a_policy_packs_output_and_end(with_or_without_proxy: Host) -> None:
    pack = with_or_without_proxy.pack(PACK + PRINT)
    assert pack.line() == "a=b"
    responses = list(pack.call)
    assert b"".join(each.stderr for each in responses) == b"note\n"
    assert responses[-1].WhichOneof("output") == "exitcode"
    assert responses[-1].exitcode == 4


@pytest.mark.parametrize(
    ("mode", "given"),
    [
        ("", ["organization", "quorate", "dev", "true", '{"quorate:profile":"lab"}']),
        ("none", [None, None, None, None, None]),
    ],
)
def test_a_pack_behind_the_proxy_finds_the_stack_in_its_environment(
    engine: Path, tmp_path: Path, mode: str, given: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in STACK:
        monkeypatch.delenv(name, raising=False)
    source = PACK + f"print(json.dumps([os.environ.get(name) for name in {STACK}]), flush=True); time.sleep(600)"
    with started(engine, tmp_path, QUORATE_POLICY_PROXY=mode) as host:
        assert json.loads(host.pack(source).line()) == given


def test_a_pack_that_crashes_ends_the_call(host: Host) -> None:
    pack = host.pack('import sys; sys.exit("no such rule")')
    with pytest.raises(grpc.RpcError, match="could not read policy pack port"):
        pack.line()


def test_a_pack_ends_with_its_call(with_or_without_proxy: Host) -> None:
    pack, child = with_or_without_proxy.serving()
    assert isinstance(pack.call, grpc.Call)
    pack.call.cancel()
    _gone(child)


def test_other_plugins_are_refused_in_a_sentence(host: Host) -> None:
    with pytest.raises(grpc.RpcError, match='cannot run a plugin of kind "resource"'):
        list(host.client.run_plugin(messages.RunPluginRequest(kind="resource", info=host.info())))


RUNNING: tuple[Callable[[Host], tuple[object, int]], ...] = (Host.sleeping, Host.serving)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("run", RUNNING)
def test_it_goes_quietly_when_told_to_and_takes_its_children_along(
    host: Host, number: signal.Signals, run: Callable[[Host], tuple[object, int]]
) -> None:
    _, child = run(host)
    host.process.send_signal(number)
    _, complaint = host.process.communicate(timeout=60)
    assert host.process.returncode == 0
    assert complaint == b"" or run is Host.sleeping  # Python itself prints where a program was interrupted
    _gone(child)


@pytest.mark.parametrize("run", RUNNING)
def test_it_goes_when_the_engine_is_no_more(host: Host, run: Callable[[Host], tuple[object, int]]) -> None:
    _, child = run(host)
    assert host.process.stdin
    host.process.stdin.close()
    assert host.process.wait(timeout=60) == 0
    _gone(child)


def test_started_by_hand_it_says_who_starts_it(engine: Path) -> None:
    result = subprocess.run([engine / LANGUAGE_HOST], capture_output=True, text=True, check=False, timeout=120)
    assert (result.returncode, result.stderr) == (2, BY_HAND)


def _gone(pid: int, patience: float = 30.0) -> None:
    deadline = time.monotonic() + patience
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.05)
