"""Converts secrets of the stack to the forms that Ceph requires: keys of its protocol cephx, and the cluster's id.

A key is the base64 text of its type (1: AES), its time of creation, its length and 16 bytes, little-endian (ceph,
src/auth/Crypto.cc, CryptoKey::encode). The time is 0, so that the same secret always gives the same key.
"""

from __future__ import annotations

import base64
import struct
import uuid
from collections.abc import Sequence

from openstack.config.layers import Secret, TextFile

CINDER = "client.cinder"
_AES, _BYTES = 1, 16


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
    return Secret(f"ceph/{entity}", f"[{entity}]\n    key = {{}}\n{rights}", encode=key)


def keyring(entity: str) -> TextFile:
    """Returns the keyring file of the Ceph account `entity`, in which a client looks for its key."""
    return TextFile(f"ceph.{entity}.keyring", (entry(entity),))


def block_devices(*pools: str, reads: Sequence[str] = ()) -> dict[str, str]:
    """Returns the rights of a Ceph account that keeps block devices in `pools` and clones those of `reads`.

    https://docs.ceph.com/en/tentacle/rbd/rbd-openstack/#setup-ceph-client-authentication
    """
    own = [f"profile rbd pool={pool}" for pool in pools]
    others = (f"profile rbd-read-only pool={each}" for each in reads)
    return {"mon": "profile rbd", "osd": ", ".join([*own, *others]), "mgr": ", ".join(own)}


def libvirt_secret(entity: str) -> str:
    """Returns the UUID by which libvirt identifies the key of a Ceph account.

    It is the same on every node, and no secret.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"quorate/{entity}"))


def libvirt_files(entity: str) -> tuple[TextFile, TextFile]:
    """Returns libvirt's two files for the key of a Ceph account: definition and value (libvirt, formatsecret.html)."""
    definition = (
        "<secret ephemeral='no' private='no'>\n"
        f"  <uuid>{libvirt_secret(entity)}</uuid>\n"
        f"  <usage type='ceph'><name>{entity} secret</name></usage>\n"
        "</secret>\n"
    )
    return (
        TextFile(f"{entity}.xml", (definition,)),
        TextFile(f"{entity}.base64", (Secret(f"ceph/{entity}", encode=key),)),
    )
