"""`quorate credentials`: writes the administrator's settings for OpenStack's clients from a live stack's cluster.

The password is that of the Secret with which Keystone's first Job made the account. If it was changed in Keystone
afterwards, the files have the old one.
"""

from __future__ import annotations

import base64
import shlex
from pathlib import Path

from blueprint.stackfile.settings import Ingress
from cluster.api import ApiError, Unreachable
from cluster.objects import texts
from commands import stack
from commands.live import connection
from console.errors import UserError
from files import atomic
from openstack import client_settings
from openstack.config.wiring import ENVIRONMENT, wiring
from operations.live_cluster import LiveCluster

CLOUDS, OPENRC, AUTHORITY = "clouds.yaml", "openrc", "ca.crt"
"""Names of the files."""


def write(root: Path, name: str, *, shows: bool = False) -> int:
    """Writes clouds.yaml, openrc and, for a private authority, its certificate; prints their names.

    `shows`: print clouds.yaml too. Only the owner may read the files. Raises UserError if the stack is not live, or its
    cluster has no account yet.
    """
    found = stack.load(root, name)
    if found.is_rendered:
        raise UserError(
            f"{name} has the target {found.target}: it has no cluster to ask.\nIn the cluster to which you applied its "
            f"tree, Secret {client_settings.SECRET} in namespace {ENVIRONMENT} has the password of the account admin."
        )
    cluster = connection.connect(root, found)
    password = _secret(cluster, client_settings.SECRET).get(client_settings.PASSWORD)
    if not password:
        raise UserError(
            f"Secret {client_settings.SECRET} in namespace {ENVIRONMENT} has no {client_settings.PASSWORD}; "
            f"`quorate up --stack {name}` makes it."
        )
    directory = root / "build" / name / "credentials"
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)
    ingress = found.settings.ingress
    authority = _authority(cluster, ingress) if ingress else ""
    trusted = directory / AUTHORITY if authority else None
    if trusted:
        atomic.write_private(trusted, authority)
    keystone = wiring(found.plan, ENVIRONMENT).public_url("keystone", "/v3")
    account = client_settings.account(keystone, password)
    clouds = client_settings.clouds(name, found.settings.region, account, trusted)
    atomic.write_private(directory / CLOUDS, clouds)
    atomic.write_private(directory / OPENRC, client_settings.openrc(found.settings.region, account, trusted))
    for path in filter(None, (directory / CLOUDS, directory / OPENRC, trusted)):
        print(f"Written: {path.relative_to(root)}")
    if ingress is None:
        print(f"{name} has no quorate:ingress: {keystone} is reachable from inside the cluster only.")
    file = shlex.quote(str((directory / CLOUDS).relative_to(root)))
    print(f"Use it: OS_CLIENT_CONFIG_FILE={file} OS_CLOUD={shlex.quote(name)} openstack server list")
    if shows:
        print(f"\n{clouds}", end="")
    return 0


def _authority(cluster: LiveCluster, ingress: Ingress) -> str:
    """Returns the certificates that clients must trust, if the Secret of the Ingress has them, as cert-manager's do."""
    return _secret(cluster, ingress.certificate).get("ca.crt", "")


def _secret(cluster: LiveCluster, name: str) -> dict[str, str]:
    """Returns the texts of a Secret by key; {} if there is none. Raises UserError if the cluster does not show it."""
    try:
        document = cluster.api.ask("GET", f"/api/v1/namespaces/{ENVIRONMENT}/secrets/{name}")
    except ApiError as error:
        if error.status == 404:
            return {}
        raise UserError(f"The cluster of context {cluster.context} refuses to show Secret {name}: {error}") from None
    except Unreachable as error:
        raise UserError(f"The cluster of context {cluster.context} does not answer: {error}") from None
    return {key: base64.b64decode(text).decode() for key, text in texts(document, "data").items()}
