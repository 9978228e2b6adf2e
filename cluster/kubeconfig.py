"""Reads a context of a kubeconfig: the API server's address, the TLS context and the credentials.

Client certificates, tokens, passwords and credential plugins (`exec`) are supported. Several files are merged, as for
KUBECONFIG.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from blueprint.problems import quoted
from cluster.objects import Object as Document
from cluster.objects import listed, mapping, text, words
from console.errors import UserError
from files import text_file, yaml_reader
from text.quoting import single_line

FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
"""Keys of clusters and users in a kubeconfig whose values are file names, relative to the kubeconfig's directory."""


_DIRECTORY = "directory of the kubeconfig"
"""Key that is added to a credential plugin: the directory of its file, which a relative command starts from."""
_NOT_READ = {
    "cluster": ("proxy-url", "tls-server-name"),
    "user": ("as", "as-uid", "as-groups", "as-user-extra", "auth-provider"),
}
"""Keys of kubectl that change whom requests reach or as whom, and that Quorate does not support."""


@dataclass(frozen=True)
class Access:
    """The address of an API server, and the credentials for it."""

    host: str
    port: int
    prefix: str
    """Path prefix of the API, for an API server behind a gateway; otherwise empty."""
    tls: ssl.SSLContext
    headers: dict[str, str]


class _Invalid(Exception):
    """The kubeconfig is invalid. The exception's message does not contain the kubeconfig's path."""


def kubeconfigs(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Returns the kubeconfig files that kubectl would read: those in KUBECONFIG, or ~/.kube/config."""
    given = [Path(name) for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    return tuple(given) or (Path.home() / ".kube" / "config",)


def read_kubeconfig(*paths: Path, context: str = "") -> Access:
    """Reads a context, by default the current one, from kubeconfig files, which are merged as kubectl merges them.

    If several files have an entry of the same name or a current context, the first file counts. Missing files are
    ignored if there are several. Raises UserError if no file exists, or if a file is invalid.
    """
    shown = os.pathsep.join(str(path) for path in paths)
    files = [path for path in paths if path.exists()] if len(paths) > 1 else paths
    if not files:
        raise UserError(f"{shown} cannot be read: none of the files exists")
    try:
        return _access(_merged([_document(path) for path in files]), context)
    except _Invalid as error:
        what = f"the context {quoted(context)}" if context else "a current context"
        raise UserError(f"{shown} is not a kubeconfig with {what}: {error}") from None


def _document(path: Path) -> Document:
    """Returns the content of a kubeconfig file, with the paths in it resolved against the file's directory."""
    try:
        value: object = yaml_reader.load(text_file.read(path))
    except text_file.UnreadableError as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    except yaml_reader.YamlError as error:
        raise UserError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(value, dict):
        advice = "it is not a mapping; name a file that kubectl can use"
        raise UserError(f"{path} is not a kubeconfig with a current context: {advice}")
    document = cast("Document", value)
    for kind, part in (("clusters", "cluster"), ("users", "user")):
        for entry in listed(document, kind):
            content = mapping(entry, part)
            content |= {key: str(path.parent / text(content, key)) for key in FILES if content.get(key)}
            if plugin := mapping(content, "exec"):
                plugin[_DIRECTORY] = str(path.absolute().parent)
    return document


def _merged(documents: Sequence[Document]) -> Document:
    merged: Document = {
        kind: [entry for document in documents for entry in listed(document, kind)]
        for kind in ("clusters", "contexts", "users")  # of entries with one name, the first is used
    }
    current = next((found for each in documents if (found := text(each, "current-context"))), "")
    return {**merged, "current-context": current}


def _access(document: Document, context_name: str) -> Access:
    current = context_name or text(document, "current-context")
    if not current:
        raise _Invalid("current-context is missing; run 'kubectl config use-context NAME'")
    context = mapping(_named(document, "contexts", current), "context")
    cluster = mapping(_named(document, "clusters", text(context, "cluster")), "cluster")
    user = mapping(_named(document, "users", text(context, "user")), "user")
    for entry, keys in ((cluster, _NOT_READ["cluster"]), (user, _NOT_READ["user"])):
        if named := [key for key in keys if entry.get(key)]:
            raise _Invalid(f"{', '.join(named)} would be ignored; name a context without, such as one through a tunnel")
    host, port, prefix = _server(text(cluster, "server"))
    user = {**user, **_from_plugin(user)}
    return Access(host=host, port=port, prefix=prefix, tls=_tls(cluster, user), headers=_headers(user))


def _named(document: Document, kind: str, name: str) -> Document:
    for entry in listed(document, kind):
        if text(entry, "name") == name:
            return entry
    raise _Invalid(f"{kind} has no entry named {quoted(name)}; add it, or name another")


def _server(address: str) -> tuple[str, int, str]:
    """Returns host, port and path prefix of a server URL."""
    try:
        server = urlsplit(address)
        host, port = server.hostname, server.port
    except ValueError:
        raise _Invalid("server is not a valid address; write one such as https://10.20.0.11:6443") from None
    if server.scheme != "https" or not host:
        raise _Invalid(f"server is {quoted(address)}; only https:// is supported, such as https://10.20.0.11:6443")
    return host, port or 443, server.path.rstrip("/")


def _tls(cluster: Document, user: Document) -> ssl.SSLContext:
    authority = _bytes(cluster, "certificate-authority")
    try:
        context = ssl.create_default_context(cadata=authority.decode("ascii") if authority else None)
    except (ssl.SSLError, ValueError):
        raise _Invalid("certificate-authority is not a PEM certificate; copy it again") from None
    if cluster.get("insecure-skip-tls-verify"):
        print("warning: insecure-skip-tls-verify is set, so the API server is not authenticated", file=sys.stderr)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = _bytes(user, "client-certificate"), _bytes(user, "client-key")
    if certificate and key:
        # The ssl module reads certificate and key from a file only. This file is private and deleted at once.
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            try:
                context.load_cert_chain(file.name, password="")
            except (ssl.SSLError, ValueError):
                advice = "copy both again, without a passphrase on the key"
                raise _Invalid(f"client-certificate and client-key are not a PEM pair; {advice}") from None
    return context


def _headers(user: Document) -> dict[str, str]:
    token = text(user, "token")
    if not token and user.get("tokenFile"):
        token = _file(user, "tokenFile").strip()
    name, password = text(user, "username"), text(user, "password")
    if any(not (each.isascii() and each.isprintable()) for each in (token, name)):
        raise _Invalid("the token or username has a character that no HTTP header can have; copy it again")
    if token:
        return {"Authorization": f"Bearer {token}"}
    if name:
        return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}
    return {}


def _bytes(entry: Document, key: str) -> bytes | None:
    if f"{key}-data" not in entry:
        return _file(entry, key).encode() if entry.get(key) else None
    try:
        content = base64.b64decode(text(entry, f"{key}-data"), validate=True)
    except ValueError:
        content = b""
    if not content:  # with an empty certificate authority, ssl would trust the system's authorities
        raise _Invalid(f"{key}-data is not base64; copy it again")
    return content


def _file(entry: Document, key: str) -> str:
    try:
        return text_file.read(Path(text(entry, key)))
    except text_file.UnreadableError as error:
        raise _Invalid(f"the file of {key} cannot be read: {error}") from None


def _from_plugin(user: Document) -> Document:
    """Runs the user's credential plugin.

    Returns the credentials under the keys of a kubeconfig's user; {} without one.
    """
    plugin = mapping(user, "exec")
    if not plugin:
        return {}
    more = {text(pair, "name"): text(pair, "value") for pair in listed(plugin, "env")}
    asked = {"apiVersion": text(plugin, "apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = {**os.environ, **more, "KUBERNETES_EXEC_INFO": json.dumps(asked)}
    command = [text(plugin, "command"), *words(plugin, "args")]
    program = command[0]
    if os.sep in program:  # a name without a directory is looked up in PATH
        program = str(Path(text(plugin, _DIRECTORY)) / program)
    try:
        done = subprocess.run([program, *command[1:]], env=environment, capture_output=True, check=True, timeout=60)
        status = mapping(cast("Document", json.loads(done.stdout)), "status")
    except subprocess.CalledProcessError as error:
        said = single_line(error.stderr.decode(errors="replace").strip().rpartition("\n")[2], 200)
        raise _Invalid(f"credential plugin {quoted(command[0])} ended with {error.returncode}: {said}") from None
    except subprocess.TimeoutExpired:
        raise _Invalid(f"credential plugin {quoted(command[0])} gave no answer in 60 s") from None
    except OSError as error:
        raise _Invalid(
            f"credential plugin {quoted(command[0])} cannot be run: {os.strerror(error.errno or 0).lower()}"
        ) from None
    except (ValueError, RecursionError):
        raise _Invalid(f"credential plugin {quoted(command[0])} printed no ExecCredential in JSON") from None
    found: Document = {"token": status.get("token")}
    for ours, theirs in (("client-certificate", "clientCertificateData"), ("client-key", "clientKeyData")):
        if status.get(theirs):
            found[f"{ours}-data"] = base64.b64encode(text(status, theirs).encode()).decode()
    return {key: value for key, value in found.items() if value}
