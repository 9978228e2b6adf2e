"""Reads the current context of a kubeconfig: address, TLS context and credentials.

Client certificates, tokens, passwords and credential plugins (`exec`) are supported.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from files import yaml_reader
from proof.objects import Object as Document
from proof.objects import listed, mapping, text
from toolchain.progress import UserError


@dataclass(frozen=True)
class Access:
    """The address of an API server, and the credentials for it."""

    host: str
    port: int
    prefix: str
    """Path prefix of the API, for servers behind a gateway."""
    tls: ssl.SSLContext
    headers: dict[str, str]


def read_kubeconfig(path: Path) -> Access:
    """Reads the current context of a kubeconfig. Raises UserError if it is missing or invalid."""
    try:
        document = cast("Document", yaml_reader.load(path.read_text(encoding="utf-8")))
        context = _named(document, "contexts", document["current-context"])["context"]
        cluster = _named(document, "clusters", context["cluster"])["cluster"]
        user = mapping(_named(document, "users", context["user"]), "user")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except (yaml_reader.YamlError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not a kubeconfig with a current context: {error}") from None
    server = urlsplit(text(cluster, "server"))
    if server.scheme != "https":
        raise UserError(f"{path}: its server is {cluster['server']}; only https:// is supported")
    user = {**user, **_from_plugin(user, path)}
    return Access(
        host=server.hostname or "",
        port=server.port or 443,
        prefix=server.path.rstrip("/"),
        tls=_tls(cluster, user, path.parent),
        headers=_headers(user, path.parent),
    )


def _named(document: Document, kind: str, name: str) -> Document:
    for entry in listed(document, kind):
        if entry["name"] == name:
            return entry
    raise KeyError(f"{kind} has no {name}")


def _tls(cluster: Document, user: Document, base: Path) -> ssl.SSLContext:
    authority = _bytes(cluster, "certificate-authority", base)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = _bytes(user, "client-certificate", base), _bytes(user, "client-key", base)
    if certificate and key:
        # The ssl module reads them from a file only. This file is private and deleted at once.
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            context.load_cert_chain(file.name)
    return context


def _headers(user: Document, base: Path) -> dict[str, str]:
    token = user.get("token")
    if not token and user.get("tokenFile"):
        token = (base / user["tokenFile"]).read_text(encoding="utf-8").strip()
    if token:
        return {"Authorization": f"Bearer {token}"}
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}"
        return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    return {}


def _bytes(entry: Document, key: str, base: Path) -> bytes | None:
    if entry.get(f"{key}-data"):
        return base64.b64decode(entry[f"{key}-data"])
    return (base / entry[key]).read_bytes() if entry.get(key) else None


def _from_plugin(user: Document, path: Path) -> Document:
    """Runs the user's credential plugin, and returns its credentials as keys of a kubeconfig's user."""
    plugin = mapping(user, "exec")
    if not plugin:
        return {}
    more = {str(pair["name"]): str(pair["value"]) for pair in listed(plugin, "env")}
    asked = {"apiVersion": plugin["apiVersion"], "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = {**os.environ, **more, "KUBERNETES_EXEC_INFO": json.dumps(asked)}
    command = [str(plugin["command"]), *(str(word) for word in plugin.get("args") or ())]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
        status = cast("Document", json.loads(done.stdout)["status"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise UserError(f"{path}: its credential plugin {command[0]} returned no credentials: {error}") from None
    found: Document = {"token": status.get("token")}
    for ours, theirs in (("client-certificate", "clientCertificateData"), ("client-key", "clientKeyData")):
        if status.get(theirs):
            found[f"{ours}-data"] = base64.b64encode(text(status, theirs).encode()).decode()
    return {key: value for key, value in found.items() if value}
