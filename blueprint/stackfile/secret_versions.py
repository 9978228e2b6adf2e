"""Checks `quorate:secrets`, the replaced secrets: they must exist and be replaceable while the services run."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.openstack import secret_names
from blueprint.problems import Problem
from blueprint.stackfile.settings import Settings
from text.suggestion import did_you_mean


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields a problem for each entry of `quorate:secrets` whose secret is unknown or cannot be replaced."""
    keys, fixed = secret_names.cache_keys(settings.records), secret_names.fixed(settings.records)
    known = sorted(secret_names.accounts(settings.records) | keys)
    for name, version in settings.secrets.items():
        key = f"quorate:secrets.{name}"
        if name in fixed:
            yield Problem(key, f"cannot be replaced while the services run: {fixed[name]}; remove it")
        elif name not in known:
            hint = did_you_mean(name, [*known, *fixed])
            yield Problem(key, f"is not a secret{hint}; write one of: {', '.join(known)}")
        elif name in keys and version.previous == "removed":
            yield Problem(f"{key}.previous", "is only for accounts, and this is a key; remove it")
