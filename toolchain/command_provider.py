#!/usr/bin/env python3
"""A stand-in for pulumi-command, for engines that are built from Go modules, which do not have the official provider.

It implements the two resources that Quorate uses, `command:remote:Command` and `command:remote:CopyToRemote`, with the
inputs, outputs and behaviour of the official provider 1.2.1, over the OpenSSH client. A Pulumi that can download
providers runs the official one instead.

Not implemented: passwords, passphrases of keys, `environment`, and assets that are URLs. They fail with a message. The
previous output of a command is never in its environment: the official provider sends it by the protocol, and servers
refuse such variables unless AcceptEnv lists them.
"""

# ruff: noqa: N802, ARG002 - the protocol names the methods and their arguments

from __future__ import annotations

import io
import os
import secrets
import shlex
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, Any, cast

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, plugin_pb2
from pulumi.runtime.proto import provider_pb2 as messages
from pulumi.runtime.proto import provider_pb2_grpc as service

VERSION = "1.2.1"
COMMAND, COPY = "command:remote:Command", "command:remote:CopyToRemote"
REQUIRED: Mapping[str, frozenset[str]] = {
    COMMAND: frozenset({"connection"}),
    COPY: frozenset({"connection", "source", "remotePath"}),
}
OPTIONAL: Mapping[str, frozenset[str]] = {
    COMMAND: frozenset(
        {"create", "update", "delete", "stdin", "triggers", "logging", "environment", "addPreviousOutputInEnv"}
    ),
    COPY: frozenset({"triggers"}),
}
"""Inputs of each resource, which are also outputs."""
OUTPUTS: Mapping[str, frozenset[str]] = {COMMAND: frozenset({"stdout", "stderr"}), COPY: frozenset()}
"""Outputs of each resource that are not inputs."""
REPLACING = "triggers"
"""The input of both resources whose change replaces a resource."""
UNSUPPORTED = ("password", "privateKeyPassword")
CONNECTION = frozenset(
    {
        "host",
        "user",
        "port",
        "hostKey",
        "privateKey",
        "agentSocketPath",
        "dialErrorLimit",
        "perDialTimeout",
        *UNSUPPORTED,
    }
)
"""Properties of a connection and of its proxy."""
DEFAULTS: Mapping[str, Any] = {"user": "root", "port": 22, "dialErrorLimit": 10, "perDialTimeout": 15}
"""The official provider's defaults of a connection and of its proxy."""
HOST, PROXY = "quorate-machine", "quorate-proxy"
"""Names under which the host keys are in the file of known hosts."""
SSH_FAILED = 255
LARGEST_MESSAGE = 400 * 1024 * 1024  # the engine's own limit

Inputs = dict[str, Any]


class Failed(Exception):
    """A command or a connection failed. The message is for the user."""


class Session:
    """A way to run commands on the host of a connection."""

    def __init__(self, connection: Inputs, directory: Path, children: set[subprocess.Popen[bytes]]) -> None:
        self._connection = connection
        self._directory = directory
        self._children = children

    def dial(self) -> None:
        """Connects, as often as the connection's dialErrorLimit allows. Raises Failed with the client's message."""
        limit, wait, failures = int(self._connection["dialErrorLimit"]), 0.1, 0
        while True:
            code, _, error = self.run("true", b"")
            if code != SSH_FAILED:
                return
            failures += 1
            if -1 < limit < failures:
                lines = error.decode(errors="replace").strip().splitlines() or ["no message"]
                raise Failed(f"{self._connection['host']}: after {failures} failed attempts: {lines[-1]}")
            time.sleep(wait)
            wait = min(wait * 1.5, 5.0)

    def run(self, command: str, stdin: bytes, log: EngineLog | None = None) -> tuple[int, bytes, bytes]:
        """Runs a command. Returns its exit code, standard output and standard error."""
        with subprocess.Popen(
            [*self._client(), command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as child:
            self._children.add(child)
            try:
                return _talk(child, stdin, log)
            finally:
                self._children.discard(child)

    def _client(self) -> Iterator[str]:
        yield "ssh"
        if proxy := self._connection.get("proxy"):
            words = ["ssh", *self._options(proxy, PROXY), "-W", "%h:%p", str(proxy["host"])]
            yield from ("-o", f"ProxyCommand={shlex.join(words)}")
        yield from self._options(self._connection, HOST)
        yield str(self._connection["host"])

    def _options(self, target: Inputs, alias: str) -> Iterator[str]:
        for unsupported in UNSUPPORTED:
            if unsupported in target:
                raise Failed(f"{unsupported} is not supported by this stand-in for pulumi-command; use an SSH agent")
        known = self._directory / alias
        key = target.get("hostKey")
        known.write_text(f"{alias} {key}\n" if key else "", encoding="utf-8")
        identity = "none"
        if private := target.get("privateKey"):
            file = self._directory / f"{alias}-key"
            file.touch(mode=0o600)
            file.write_text(str(private).rstrip("\n") + "\n", encoding="utf-8")
            identity = str(file)
        yield from ("-F", "none", "-T", "-p", str(int(target["port"])), "-l", str(target["user"]))
        for option in (
            "BatchMode=yes",
            f"StrictHostKeyChecking={'yes' if key else 'no'}",
            f'UserKnownHostsFile="{known}"',
            "GlobalKnownHostsFile=none",
            f"HostKeyAlias={alias}",
            "CheckHostIP=no",
            f'IdentityFile="{identity}"',
            f"ConnectTimeout={int(target['perDialTimeout'])}",
            "ServerAliveInterval=15",
            "LogLevel=ERROR",
            *([f'IdentityAgent="{target["agentSocketPath"]}"'] if "agentSocketPath" in target else []),
        ):
            yield from ("-o", option)


class EngineLog:
    """Sends lines of a command's output to the engine, which shows them beside the resource while it is changed."""

    def __init__(self, send: Callable[[engine_pb2.LogRequest], object], urn: str, kinds: str) -> None:
        self._send, self._urn, self._kinds = send, urn, kinds

    def line(self, kind: str, line: bytes) -> None:
        """Sends a line; `kind` is stdout or stderr."""
        if self._kinds in ("stdoutAndStderr", kind):
            text = line.decode(errors="replace").rstrip("\n")
            request = engine_pb2.LogRequest(severity=engine_pb2.INFO, urn=self._urn, message=text, ephemeral=True)
            self._send(request)


def _talk(child: subprocess.Popen[bytes], stdin: bytes, log: EngineLog | None) -> tuple[int, bytes, bytes]:
    found = {"stdout": bytearray(), "stderr": bytearray()}

    def write(pipe: IO[bytes]) -> None:
        try:
            with pipe:
                pipe.write(stdin)
        except BrokenPipeError:
            return  # the command has not read its standard input

    def read(kind: str, pipe: IO[bytes]) -> None:
        for line in pipe:
            found[kind] += line
            if log:
                log.line(kind, line)

    threads = [
        threading.Thread(target=write, args=(child.stdin,)),
        threading.Thread(target=read, args=("stdout", child.stdout)),
        threading.Thread(target=read, args=("stderr", child.stderr)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return child.wait(), bytes(found["stdout"]), bytes(found["stderr"])


class Provider(service.ResourceProviderServicer):
    """The calls that the engine makes to a provider. Calls that are not implemented return UNIMPLEMENTED."""

    def __init__(self, engine: str) -> None:
        stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(engine))
        self._send = cast("Callable[[engine_pb2.LogRequest], object]", stub.Log)  # pyright: ignore[reportUnknownMemberType]
        self._children: set[subprocess.Popen[bytes]] = set()

    def GetPluginInfo(self, request: Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=VERSION)

    def CheckConfig(self, request: messages.CheckRequest, context: grpc.ServicerContext) -> messages.CheckResponse:
        return messages.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: messages.DiffRequest, context: grpc.ServicerContext) -> messages.DiffResponse:
        return messages.DiffResponse(changes=messages.DiffResponse.DIFF_NONE)

    def Configure(
        self, request: messages.ConfigureRequest, context: grpc.ServicerContext
    ) -> messages.ConfigureResponse:
        """Accepts no secrets: the engine then marks outputs of the same name as a secret input as secret itself."""
        return messages.ConfigureResponse(acceptSecrets=False, supportsPreview=True)

    def Check(self, request: messages.CheckRequest, context: grpc.ServicerContext) -> messages.CheckResponse:
        """Fills in the connection's defaults. Refuses missing inputs, and inputs that the resource does not have."""
        inputs, type_ = _dict(request.news), _type(request.urn)
        for target in _connections(inputs):
            for key, value in DEFAULTS.items():
                target.setdefault(key, value)
        wrong = dict.fromkeys(REQUIRED[type_] - inputs.keys(), "missing")
        wrong |= dict.fromkeys(inputs.keys() - REQUIRED[type_] - OPTIONAL[type_], "unknown")
        failures = [messages.CheckFailure(property=key, reason=wrong[key]) for key in sorted(wrong)]
        return messages.CheckResponse(inputs=_struct(inputs), failures=failures)

    def Diff(self, request: messages.DiffRequest, context: grpc.ServicerContext) -> messages.DiffResponse:
        """Changed triggers replace a resource. Other inputs update it."""
        olds, news = _dict(request.old_inputs), _dict(request.news)
        changed = [
            key
            for key in sorted(olds.keys() | news.keys())
            if key not in request.ignoreChanges and _compared(olds.get(key)) != _compared(news.get(key))
        ]
        return messages.DiffResponse(
            changes=messages.DiffResponse.DIFF_SOME if changed else messages.DiffResponse.DIFF_NONE,
            diffs=changed,
            replaces=[key for key in changed if key == REPLACING],
        )

    def Create(self, request: messages.CreateRequest, context: grpc.ServicerContext) -> messages.CreateResponse:
        inputs = _dict(request.properties)
        if request.preview:
            return messages.CreateResponse(properties=_struct(inputs))
        outputs = self._do(request.urn, inputs, inputs.get("create"), {"stdout": "", "stderr": ""}, context)
        return messages.CreateResponse(id=secrets.token_hex(8), properties=_struct(outputs))

    def Update(self, request: messages.UpdateRequest, context: grpc.ServicerContext) -> messages.UpdateResponse:
        """Runs `update`, or else `create`. Copies again only if the source or its place has changed."""
        inputs, before = _dict(request.news), _dict(request.olds)
        kept = {key: before[key] for key in OUTPUTS[_type(request.urn)] if key in before}
        is_copied = _type(request.urn) == COPY and all(
            _compared(before.get(key)) == _compared(inputs.get(key)) for key in ("source", "remotePath")
        )
        if request.preview or is_copied:
            return messages.UpdateResponse(properties=_struct({**kept, **inputs}))
        command = inputs.get("update", inputs.get("create"))
        return messages.UpdateResponse(properties=_struct(self._do(request.urn, inputs, command, kept, context)))

    def Read(self, request: messages.ReadRequest, context: grpc.ServicerContext) -> messages.ReadResponse:
        return messages.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Delete(self, request: messages.DeleteRequest, context: grpc.ServicerContext) -> Empty:
        """Runs the command `delete`. Copied files stay, as with the official provider."""
        props = _dict(request.properties)
        if _type(request.urn) == COMMAND and "delete" in props:
            self._do(request.urn, props, props["delete"], props, context)
        return Empty()

    def Cancel(self, request: Empty, context: grpc.ServicerContext) -> Empty:
        """Ends the running clients, and with them their connections."""
        for child in list(self._children):
            child.terminate()
        return Empty()

    def _do(
        self, urn: str, inputs: Inputs, command: str | None, before: Inputs, context: grpc.ServicerContext
    ) -> Inputs:
        """Copies, or runs a command. Returns the outputs: those of `before` if there is no command."""
        try:
            if _type(urn) == COPY:
                with self._session(inputs["connection"]) as session:
                    return self._copy(session, inputs)
            if command is None:
                return {**inputs, **before}
            with self._session(inputs["connection"]) as session:
                return self._run(session, urn, inputs, command)
        except (Failed, OSError) as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))

    @contextmanager
    def _session(self, connection: Inputs) -> Generator[Session]:
        with tempfile.TemporaryDirectory(prefix="quorate-command-") as directory:
            session = Session(connection, Path(directory), self._children)
            session.dial()
            yield session

    def _run(self, session: Session, urn: str, inputs: Inputs, command: str) -> Inputs:
        if inputs.get("environment"):
            raise Failed(
                "environment is not supported by this stand-in for pulumi-command; set variables in the command"
            )
        log = EngineLog(self._send, urn, inputs.get("logging", "stdoutAndStderr"))
        code, output, error = session.run(command, str(inputs.get("stdin", "")).encode(), log)
        if code:
            text = (output + error).decode(errors="replace")
            raise Failed(f'Process exited with status {code}: running "{command}":\n{text}')
        texts = {"stdout": output, "stderr": error}
        return {**inputs, **{key: text.decode(errors="replace").removesuffix("\n") for key, text in texts.items()}}

    def _copy(self, session: Session, inputs: Inputs) -> Inputs:
        source, place = inputs["source"], str(inputs["remotePath"])
        if "text" in source:
            content, command = str(source["text"]).encode(), f"mkdir -p {_parent(place)} && cat >{shlex.quote(place)}"
        elif "path" in source:
            content, command = _packed(str(source["path"]), place)
        else:
            raise Failed("this stand-in for pulumi-command copies files, directories and texts only")
        code, output, error = session.run(command, content)
        if code:
            raise Failed(f"{place} could not be copied: {(output + error).decode(errors='replace').strip()}")
        return inputs


def _packed(source: str, place: str) -> tuple[bytes, str]:
    """Returns an archive of a file or directory, and the command that unpacks it at its place.

    As with SFTP, files do not keep their mode. A directory is copied into `place`, with a final slash its content is.
    """
    packed = io.BytesIO()
    path = Path(source)
    with tarfile.open(fileobj=packed, mode="w") as archive:
        if path.is_dir():
            archive.add(path, "." if source.endswith("/") else path.name, filter=_plain)
            return packed.getvalue(), f"mkdir -p {shlex.quote(place)} && tar -x -f - -C {shlex.quote(place)}"
    quoted = shlex.quote(place)
    inside = shlex.quote(f"{place}/{path.name}")
    command = f"if [ -d {quoted} ]; then cat >{inside}; else mkdir -p {_parent(place)} && cat >{quoted}; fi"
    return path.read_bytes(), command


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mode = 0o755 if entry.isdir() else 0o644
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _parent(place: str) -> str:
    return shlex.quote(str(Path(place).parent))


def _type(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def _connections(inputs: Inputs) -> Iterator[Inputs]:
    """Yields the connection and its proxy. Before a deployment, either may be unknown, which is a text."""
    for found in (connection := inputs.get("connection"), _get(connection, "proxy")):
        if isinstance(found, dict):
            yield cast("Inputs", found)


def _get(value: object, key: str) -> object:
    return cast("Inputs", value).get(key) if isinstance(value, dict) else None


def _compared(value: object) -> object:
    """Returns what a comparison of inputs reads: the digest of a file or directory, else the value."""
    return _get(value, "hash") or value


def _dict(struct: Struct) -> Inputs:
    return MessageToDict(struct)


def _struct(values: Mapping[str, Any]) -> Struct:
    return ParseDict(dict(values), Struct())


def main(arguments: Sequence[str]) -> int:
    """Serves the provider until the engine ends it. The engine gives its own address as the last argument."""
    if not arguments:
        print("The engine starts this program, with its own address as the last argument.", file=sys.stderr)
        return 2
    limits = [
        ("grpc.max_receive_message_length", LARGEST_MESSAGE),
        ("grpc.max_send_message_length", LARGEST_MESSAGE),
    ]
    # Each call of the engine that runs a command occupies a thread until the command ends.
    server = grpc.server(ThreadPoolExecutor(max_workers=256), options=limits)
    service.add_ResourceProviderServicer_to_server(Provider(arguments[-1]), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)  # the engine reads the port from the first line
    gone = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        gone.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    gone.wait()
    server.stop(grace=None)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
