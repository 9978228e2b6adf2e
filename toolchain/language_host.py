#!/usr/bin/env python3
"""Pulumi's language host for Python: the engine starts it to run a Python program or policy pack.

The official host is a Go program that the Go module proxy does not have, so an engine built from modules lacks it. This
host implements the part of its gRPC protocol that this project needs: it runs programs and policy packs with the
interpreter that runs this file. It does not install packages (`make setup` does) and generates no code.

All clones of a user share an engine, so the engine contains only a launcher. The launcher starts the active
environment's `quorate-language-host`, a link to this file, and passes the directory of the SDK's executor in
QUORATE_ENGINE_BIN.
"""

# ruff: noqa: N802, ARG002 - the protocol names the methods and their arguments

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import IO

try:
    import grpc
    from google.protobuf.empty_pb2 import Empty
    from pulumi.runtime.proto import language_pb2 as messages
    from pulumi.runtime.proto import language_pb2_grpc as service
    from pulumi.runtime.proto import plugin_pb2
except ImportError as missing:
    sys.exit(
        f"{sys.executable} has no Pulumi SDK ({missing}).\n"
        "Activate the project's environment (`. .venv/bin/activate`) or use `make`, then try again."
    )

EXECUTOR = Path(os.environ.get("QUORATE_ENGINE_BIN", "")) / "pulumi-language-python-exec"
ALREADY_EXPLAINED = 32  # the executor's exit code when the engine has shown the program's error itself
LARGEST_MESSAGE = 400 * 1024 * 1024  # the engine's own limit


class Children:
    """The running child processes of this host.

    The host stops them when it is terminated, because a remaining child would keep the engine's pipes open.
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def start(
        self,
        command: Sequence[str],
        directory: str,
        environment: dict[str, str],
        output: int | None,
    ) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            command,
            cwd=directory or None,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        with self._lock:
            self._running.add(child)
        return child

    def end(self, child: subprocess.Popen[bytes], patience: float = 2.0) -> None:
        """Terminates a child if it is still running, and kills it after `patience` seconds."""
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(patience)
            except subprocess.TimeoutExpired:
                child.kill()
        child.wait()
        with self._lock:
            self._running.discard(child)

    def end_all(self) -> None:
        with self._lock:
            running = list(self._running)
        for child in running:
            self.end(child)


def executor_command(request: messages.RunRequest, engine: str) -> list[str]:
    """Returns the command line that runs a stack's program with the SDK's executor. `engine`: the engine's address."""
    program = Path(request.info.program_directory) / request.info.entry_point
    return [
        sys.executable,
        "-u",
        str(EXECUTOR),
        *("--monitor", request.monitor_address),
        *("--engine", engine),
        *("--project", request.project),
        *("--stack", request.stack),
        *("--organization", request.organization),
        *("--root_directory", request.info.root_directory),
        *("--pwd", request.pwd or request.info.program_directory),
        *("--dry_run", "true" if request.dryRun else "false"),
        *("--parallel", str(request.parallel)),
        str(program),
        *request.args,
    ]


def policy_command(request: messages.RunPluginRequest) -> list[str]:
    """Returns the command line that serves the policy pack in a directory."""
    return [
        sys.executable,
        "-u",
        "-m",
        "pulumi.policy",
        *request.args,
        request.info.program_directory,
    ]


def plugin_environment(request: messages.RunPluginRequest) -> dict[str, str]:
    """Returns the environment of a plugin: that of the request, or that of this process if the request has none."""
    pairs = (item.partition("=") for item in request.env)
    return {name: value for name, _, value in pairs} or dict(os.environ)


def run_result(code: int) -> messages.RunResponse:
    """Returns the response for a program's exit code: success, a failure already reported, or a failure."""
    if code == 0:
        return messages.RunResponse()
    if code == ALREADY_EXPLAINED:
        return messages.RunResponse(bail=True)
    if code < 0:
        return messages.RunResponse(error=f"the program was ended by signal {-code}")
    return messages.RunResponse(error=f"the program exited with code {code}")


def stream(child: subprocess.Popen[bytes]) -> Iterator[messages.RunPluginResponse]:
    """Yields a child's output line by line, until both of its streams are closed."""
    lines: queue.SimpleQueue[messages.RunPluginResponse | None] = queue.SimpleQueue()

    def read(pipe: IO[bytes], wrap: Callable[[bytes], messages.RunPluginResponse]) -> None:
        for line in pipe:
            lines.put(wrap(line))
        lines.put(None)

    def output(line: bytes) -> messages.RunPluginResponse:
        return messages.RunPluginResponse(stdout=line)

    def complaint(line: bytes) -> messages.RunPluginResponse:
        return messages.RunPluginResponse(stderr=line)

    still_open = 0
    for pipe, wrap in ((child.stdout, output), (child.stderr, complaint)):
        if pipe:
            threading.Thread(target=read, args=(pipe, wrap), daemon=True).start()
            still_open += 1
    while still_open:
        line = lines.get()
        if line is None:
            still_open -= 1
        else:
            yield line


class LanguageHost(service.LanguageRuntimeServicer):
    """The calls that the engine makes to a language host. Calls that are not implemented return UNIMPLEMENTED."""

    def __init__(self, engine: str, children: Children) -> None:
        self._engine = engine
        self._children = children

    def Handshake(
        self, request: messages.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> messages.LanguageHandshakeResponse:
        """Stores the engine's address if the request contains it. Otherwise the address of the command line is kept."""
        self._engine = request.engine_address or self._engine
        return messages.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=metadata.version("pulumi"))

    def GetRequiredPackages(
        self, request: messages.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> messages.GetRequiredPackagesResponse:
        """Returns no packages: the engine looks up each provider when a resource first requires it.

        The official host returns every installed SDK. The engine would then require all their providers in advance,
        for example libvirt's for a stack that only renders.
        """
        return messages.GetRequiredPackagesResponse()

    def Run(self, request: messages.RunRequest, context: grpc.ServicerContext) -> messages.RunResponse:
        """Runs the stack's program until it exits.

        The program writes to this process's streams, which the engine reads.
        """
        environment = {
            **os.environ,
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        }
        command = executor_command(request, self._engine)
        child = self._children.start(command, request.info.program_directory, environment, output=None)
        context.add_callback(lambda: self._children.end(child))
        code = child.wait()
        return run_result(code)

    def RunPlugin(
        self, request: messages.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[messages.RunPluginResponse]:
        """Serves a policy pack for as long as the engine keeps the call open."""
        if request.kind != "analyzer":
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                f"this language host runs policy packs; it cannot run a {request.kind or 'nameless'} plugin",
            )
        child = self._children.start(
            policy_command(request), request.info.program_directory, plugin_environment(request), subprocess.PIPE
        )
        # The engine ends a policy pack by cancelling the call; without output, only this callback notices that.
        context.add_callback(lambda: self._children.end(child))
        yield from stream(child)
        yield messages.RunPluginResponse(exitcode=child.wait())

    def About(self, request: messages.AboutRequest, context: grpc.ServicerContext) -> messages.AboutResponse:
        return messages.AboutResponse(executable=sys.executable, version=sys.version.split()[0])

    def GetProgramDependencies(
        self, request: messages.GetProgramDependenciesRequest, context: grpc.ServicerContext
    ) -> messages.GetProgramDependenciesResponse:
        """Returns every installed distribution, direct and transitive, for `pulumi about`."""
        found = {each.name: each.version for each in metadata.distributions()}
        return messages.GetProgramDependenciesResponse(
            dependencies=[messages.DependencyInfo(name=name, version=found[name]) for name in sorted(found)]
        )

    def InstallDependencies(
        self, request: messages.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[messages.InstallDependenciesResponse]:
        """Installs nothing. Prints for the user of `pulumi install` that `make setup` installs the environment."""
        yield messages.InstallDependenciesResponse(stdout=b"Run `make setup`: it installs the Python environment.\n")


def wait_for_end(gone: threading.Event) -> None:
    """Waits for SIGINT, SIGTERM, or the end of the engine.

    The engine keeps this process's standard input open while it runs, so end of file means that the engine has ended,
    even if it was killed.
    """

    def watch_engine() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        gone.set()

    def told_to(_number: int, _frame: FrameType | None) -> None:
        gone.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, told_to)
    threading.Thread(target=watch_engine, daemon=True).start()
    gone.wait()


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print("The engine starts this program, with its own address as the last argument.", file=sys.stderr)
        return 2
    children = Children()
    limits = [
        ("grpc.max_receive_message_length", LARGEST_MESSAGE),
        ("grpc.max_send_message_length", LARGEST_MESSAGE),
    ]
    # A running program and each policy pack occupy a thread until they end; other calls are short.
    server = grpc.server(ThreadPoolExecutor(max_workers=32), options=limits)
    service.add_LanguageRuntimeServicer_to_server(LanguageHost(arguments[-1], children), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)  # the engine reads the port from the first line
    try:
        wait_for_end(threading.Event())
    finally:
        children.end_all()
        server.stop(grace=None)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    # Exits at once: a thread of a call may still wait for a child's output, which is no longer needed.
    sys.stdout.flush()
    os._exit(code)
