"""Checks `quorate:ceph.external`, and the settings that a stack with an external Ceph cannot have."""

from __future__ import annotations

import base64
import binascii
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator

from blueprint.problems import Problem, quoted
from blueprint.stackfile.ceph_settings import CEPH_PROJECTS, CEPH_SERVICES, ExternalCeph
from blueprint.stackfile.settings import Settings
from contract import STORAGE_POOL

KEY = "quorate:ceph.external"
_KEY_HEADER = struct.Struct("<HIIH")
"""Type, time of creation in seconds and nanoseconds, and length of what follows (ceph, src/auth/Crypto.cc)."""
_SHORTEST_KEY = 16
"""Bytes of the shortest key, of AES."""


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields the problems of the external Ceph, and of settings for Ceph's own daemons; none without one."""
    external = settings.external_ceph
    if external is None:
        return
    yield from _monitors(external)
    yield from _pools(external)
    yield from _accounts(external)
    yield from _servers(settings)
    for name in CEPH_SERVICES:
        if name in settings.services:
            yield Problem(f"quorate:services.{name}", f"is not run with {KEY}; remove it")
    for name in CEPH_PROJECTS:
        if name in settings.projects.overrides:
            advice = f"with {KEY}, remove it; options of clients belong to glance, cinder and nova"
            yield Problem(f"quorate:projects.{name}", f"is for Ceph's daemons, which the stack does not run; {advice}")


def is_key(text: str) -> bool:
    """Whether a text is a key of Ceph's protocol cephx, as `ceph auth get-key` prints it."""
    try:
        raw = base64.b64decode(text, validate=True)
        *_, length = _KEY_HEADER.unpack_from(raw)
    except (binascii.Error, ValueError, struct.error):
        return False
    return _SHORTEST_KEY <= length == len(raw) - _KEY_HEADER.size


def _monitors(external: ExternalCeph) -> Iterator[Problem]:
    for monitor, count in Counter(external.monitors).items():
        if count > 1:
            yield Problem(f"{KEY}.monitors", f"{quoted(monitor)} is listed twice; write it once")


def _pools(external: ExternalCeph) -> Iterator[Problem]:
    uses: dict[str, list[str]] = defaultdict(list)
    for use, pool in external.pools.model_dump().items():
        uses[pool].append(use)
    for pool, names in uses.items():
        if len(names) > 1:
            yield Problem(f"{KEY}.pools", f"{quoted(pool)} is the pool of {' and '.join(names)}; write one for each")


def _accounts(external: ExternalCeph) -> Iterator[Problem]:
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for key, account in external.written_accounts.items():
        if account.name and account.name.startswith("client."):
            advice = f"write {account.name.removeprefix('client.')}, without client."
            yield Problem(f"{KEY}.accounts.{key}.name", f"{account.name} is the name in a keyring; {advice}")
        places[account.name or key][account.key.key] = key
    for name, keys in places.items():
        if len(keys) > 1:
            advice = "an account has one key; write one place of it, or another name"
            yield Problem(f"{KEY}.accounts", f"{' and '.join(keys.values())} have different keys of {name}; {advice}")


def _servers(settings: Settings) -> Iterator[Problem]:
    for index, server in enumerate(settings.servers):
        entry = f"quorate:servers[{index}] ({server.name})"
        machines = [(entry, server.roles), *((f"{entry}.vms[{each}]", vm.roles) for each, vm in enumerate(server.vms))]
        for key, roles in machines:
            if STORAGE_POOL in roles:
                advice = f"with {KEY}, remove the role, or the server if it has no other"
                yield Problem(f"{key}.roles", f"storage is for Ceph's OSDs, which the stack does not run; {advice}")
