"""Reads a context of a kubeconfig: the API server's address, the TLS context and the credentials.

Client certificates, tokens, passwords and credential plugins (`exec`) are supported, proxies, another name in the API
server's certificate, and requests as another user. Several files are merged, as for KUBECONFIG (ADR 42).
"""

from __future__ import annotations

import base64
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import quote, unquote, urlsplit

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
_NOT_READ = ("auth-provider",)
"""Keys of a user that change as whom requests are made, and that Quorate does not support."""
_PROXY_PORTS = {"http": 80, "socks5": 1080}
"""The kinds of proxies, each with the port of an address without one (client-go)."""
_TOKEN = "!#$&'*+-.^_`|~"  # noqa: S105 - the signs of a token in RFC 9110, without %
_HOST = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?")


@dataclass(frozen=True)
class ServerProxy:
    """A proxy through which an API server is reached."""

    scheme: str
    """`http` or `socks5`."""
    host: str
    port: int
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Headers for an HTTP proxy alone, with its credentials."""


@dataclass(frozen=True)
class Access:
    """The address of an API server, and the credentials for it."""

    host: str
    port: int
    prefix: str
    """Path prefix of the API, for an API server behind a gateway; otherwise empty."""
    tls: ssl.SSLContext
    headers: dict[str, str]
    server_name: str = ""
    """The name in the API server's certificate, if that is not the host."""
    proxy: ServerProxy | None = None
    impersonation: tuple[tuple[str, str], ...] = ()
    """Headers of each request that is made as another user; a name may repeat."""

    @property
    def shown(self) -> str:
        """The address for messages: that of the API server, and that of its proxy."""
        through = f" through {self.proxy.scheme}://{self.proxy.host}:{self.proxy.port}" if self.proxy else ""
        return f"{self.host}:{self.port}{through}"


class _Invalid(Exception):
    """The kubeconfig is invalid. The exception's message does not contain the kubeconfig's path."""


class _PluginError(Exception):
    """A credential plugin gave no credentials. The exception's message names the plugin, not the kubeconfig's path."""


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
    except _PluginError as error:
        raise UserError(f"{shown}: {error}") from None


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
    if named := [key for key in _NOT_READ if user.get(key)]:
        raise _Invalid(f"{', '.join(named)} would be ignored; name a user with a certificate, a token or exec")
    host, port, prefix = _server(text(cluster, "server"))
    server_name, proxy, impersonation = _server_name(cluster), _proxy(cluster), _impersonation(user)
    user = {**user, **_from_plugin(user)}
    return Access(host, port, prefix, _tls(cluster, user), _headers(user), server_name, proxy, impersonation)


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
        (host or "").encode("idna")
    except ValueError:
        raise _Invalid("server is not a valid address; write one such as https://10.20.0.11:6443") from None
    if server.scheme != "https" or not host:
        raise _Invalid(f"server is {quoted(address)}; only https:// is supported, such as https://10.20.0.11:6443")
    return host, port or 443, server.path.rstrip("/")


def _server_name(cluster: Document) -> str:
    """Returns the name that the API server's certificate must have; "" if it is that of its address."""
    name = text(cluster, "tls-server-name")
    if name and not _HOST.fullmatch(name):
        raise _Invalid(f"tls-server-name is {quoted(name)}; write a host name or an address")
    return name


def _proxy(cluster: Document) -> ServerProxy | None:
    written = text(cluster, "proxy-url")
    if not written:
        return None
    advice = "write one such as http://proxy.example.org:3128 or socks5://127.0.0.1:1080"
    try:
        url = urlsplit(written)
        host, port = url.hostname, url.port
        (host or "").encode("idna")
    except ValueError:
        raise _Invalid(f"proxy-url is not a valid address; {advice}") from None
    if url.scheme not in _PROXY_PORTS or not host or url.path.rstrip("/"):
        raise _Invalid(f"proxy-url is {quoted(written)}, which is not supported; {advice}")
    if url.username is None:
        return ServerProxy(url.scheme, host, port or _PROXY_PORTS[url.scheme])
    if url.scheme != "http":
        raise _Invalid("proxy-url has a login, which is supported for http:// alone; write it without")
    login = f"{unquote(url.username)}:{unquote(url.password or '')}".encode()
    headers = {"Proxy-Authorization": "Basic " + base64.b64encode(login).decode()}
    return ServerProxy(url.scheme, host, port or _PROXY_PORTS[url.scheme], headers)


def _impersonation(user: Document) -> tuple[tuple[str, str], ...]:
    """Returns the headers by which the API server takes requests as those of another user, as client-go sends them."""
    name = text(user, "as")
    more = [("Impersonate-Uid", text(user, "as-uid"))] if user.get("as-uid") else []
    more += [("Impersonate-Group", group) for group in words(user, "as-groups")]
    for key, extra in mapping(user, "as-user-extra").items():
        header = f"Impersonate-Extra-{quote(key.lower(), safe=_TOKEN)}"
        more += [(header, value) for value in words({key: extra}, key)]
    if more and not name:
        raise _Invalid("as-uid, as-groups and as-user-extra need as, the name of the user; add it")
    found = (("Impersonate-User", name), *more) if name else ()
    if any(not (value.isascii() and value.isprintable()) for _, value in found):
        raise _Invalid("as or a key beside it has a character that no HTTP header can have; write it again")
    return found


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

    Returns the credentials under the keys of a kubeconfig's user; {} without one. Raises _PluginError.
    """
    plugin = mapping(user, "exec")
    if not plugin:
        return {}
    more = {text(pair, "name"): text(pair, "value") for pair in listed(plugin, "env")}
    asked = {"apiVersion": text(plugin, "apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = {**os.environ, **more, "KUBERNETES_EXEC_INFO": json.dumps(asked)}
    command = [text(plugin, "command"), *words(plugin, "args")]
    name, program = f"credential plugin {quoted(command[0])}", command[0]
    if os.sep in program:  # a name without a directory is looked up in PATH
        program = str(Path(text(plugin, _DIRECTORY)) / program)
    try:
        done = subprocess.run([program, *command[1:]], env=environment, capture_output=True, check=True, timeout=60)
        status = mapping(cast("Document", json.loads(done.stdout)), "status")
    except subprocess.CalledProcessError as error:
        said = single_line(error.stderr.decode(errors="replace").strip().rpartition("\n")[2], 200)
        raise _PluginError(f"{name} ended with {error.returncode}: {said}") from None
    except subprocess.TimeoutExpired:
        raise _PluginError(f"{name} gave no answer in 60 s") from None
    except OSError as error:
        # kubectl also prints the hint only if there is no such program (client-go, plugin/pkg/client/auth/exec).
        hint = (
            single_line(" ".join(text(plugin, "installHint").split()), 200)
            if isinstance(error, FileNotFoundError)
            else ""
        )
        said = os.strerror(error.errno or 0).lower()
        raise _PluginError(f"{name} cannot be run: {said}{f'; its kubeconfig says: {hint}' if hint else ''}") from None
    except (ValueError, RecursionError):
        raise _PluginError(f"{name} printed no ExecCredential in JSON") from None
    found: Document = {"token": status.get("token")}
    for ours, theirs in (("client-certificate", "clientCertificateData"), ("client-key", "clientKeyData")):
        if status.get(theirs):
            found[f"{ours}-data"] = base64.b64encode(text(status, theirs).encode()).decode()
    return {key: value for key, value in found.items() if value}
