"""Checks `quorate:secrets`, the replaced secrets: they must exist and be replaceable while the services run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.openstack.secret_names import ACCOUNTS, CACHE_KEYS, FIXED
from blueprint.problems import Problem
from blueprint.stackfile.settings import SecretVersion
from text.suggestion import did_you_mean


def problems(versions: Mapping[str, SecretVersion]) -> Iterator[Problem]:
    """Yields a problem for each entry of `quorate:secrets` whose secret is unknown or cannot be replaced."""
    known = sorted(ACCOUNTS | CACHE_KEYS)
    for name, version in versions.items():
        key = f"quorate:secrets.{name}"
        if name in FIXED:
            yield Problem(key, f"cannot be replaced while the services run: {FIXED[name]}; remove it")
        elif name not in known:
            hint = did_you_mean(name, [*known, *FIXED])
            yield Problem(key, f"is not a secret{hint}; write one of: {', '.join(known)}")
        elif name in CACHE_KEYS and version.previous == "removed":
            yield Problem(f"{key}.previous", "is only for accounts, and this is a key; remove it")
