"""Converts secrets of the stack to the forms that Ceph requires: keys of its protocol cephx, and the cluster's id.

A key is the base64 text of its type (1: AES), its time of creation, its length and 16 bytes, little-endian (ceph,
src/auth/Crypto.cc, CryptoKey::encode). The time is 0, so that the same secret always gives the same key.
"""

from __future__ import annotations

import base64
import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from openstack.config.layers import Secret, TextFile

CINDER = "client.cinder"
_AES, _BYTES = 1, 16


@dataclass(frozen=True)
class CephClient:
    """The account of Ceph with which a program connects."""

    program: str
    """The program for which the account is, as in the names of files: client.glance, client.cinder, …"""
    entity: str
    """Name of the account in the cluster: the program's, but in an external cluster any other of client.<name>."""
    key: Secret

    @property
    def name(self) -> str:
        """The account's name without `client.`, as programs want it."""
        return self.entity.removeprefix("client.")


def key(secret: str) -> str:
    """Returns a secret as a cephx key. The placeholder of a preview (`<name>`) is returned unchanged."""
    if secret.startswith("<"):
        return secret
    header = struct.pack("<HIIH", _AES, 0, 0, _BYTES)
    return base64.b64encode(header + base64.urlsafe_b64decode(secret)[:_BYTES]).decode()


def fsid(secret: str) -> str:
    """Returns a secret as the UUID of the Ceph cluster, which differs between stacks. A placeholder stays unchanged."""
    return secret if secret.startswith("<") else str(uuid.UUID(bytes=base64.urlsafe_b64decode(secret)[:16], version=4))


def entry(entity: str, **caps: str) -> Secret:
    """Returns the keyring entry of a Ceph account such as client.glance. `caps`: its rights by kind of daemon."""
    rights = "".join(f'    caps {daemon} = "{allowed}"\n' for daemon, allowed in caps.items())
    return Secret(f"ceph/{entity}", f"{_entry(entity)}{rights}", encode=key)


def _entry(entity: str) -> str:
    return f"[{entity}]\n    key = {{}}\n"


def own_client(program: str) -> CephClient:
    """Returns the account of a program in the stack's own cluster, with a derived key."""
    return CephClient(program, program, Secret(f"ceph/{program}", encode=key))


def keyring(client: CephClient) -> TextFile:
    """Returns the keyring file of an account, in which a client looks for its key."""
    return TextFile(f"ceph.{client.program}.keyring", (replace(client.key, text=_entry(client.entity)),))


def block_devices(*pools: str, reads: Sequence[str] = ()) -> dict[str, str]:
    """Returns the rights of a Ceph account that keeps block devices in `pools` and clones those of `reads`.

    https://docs.ceph.com/en/tentacle/rbd/rbd-openstack/#setup-ceph-client-authentication
    """
    own = [f"profile rbd pool={pool}" for pool in pools]
    others = (f"profile rbd-read-only pool={each}" for each in reads)
    return {"mon": "profile rbd", "osd": ", ".join([*own, *others]), "mgr": ", ".join(own)}


def libvirt_secret(program: str) -> str:
    """Returns the UUID by which libvirt identifies the key of a program's Ceph account.

    It is the same on every node, and no secret.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"quorate/{program}"))


def libvirt_files(client: CephClient) -> tuple[TextFile, TextFile]:
    """Returns libvirt's two files for the key of a Ceph account: definition and value (libvirt, formatsecret.html)."""
    definition = (
        "<secret ephemeral='no' private='no'>\n"
        f"  <uuid>{libvirt_secret(client.program)}</uuid>\n"
        f"  <usage type='ceph'><name>{client.program} secret</name></usage>\n"
        "</secret>\n"
    )
    return (TextFile(f"{client.program}.xml", (definition,)), TextFile(f"{client.program}.base64", (client.key,)))
