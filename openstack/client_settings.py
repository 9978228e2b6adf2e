"""Settings of OpenStack's clients for the administrator's account: clouds.yaml, and variables for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import yaml

SECRET, PASSWORD = "keystone-bootstrap-secrets", "OS_BOOTSTRAP_PASSWORD"
"""The Secret with which Keystone's first Job makes the account, and its key with the password."""


def account(keystone: str, password: str) -> dict[str, str]:
    """Returns the administrator's account, as clouds.yaml has it. `keystone`: its public URL with the version."""
    return {
        "auth_url": keystone,
        "username": "admin",
        "password": password,
        "project_name": "admin",
        "user_domain_id": "default",
        "project_domain_id": "default",
    }


def clouds(name: str, region: str, given: Mapping[str, str], trusted: Path | None) -> str:
    """Returns clouds.yaml with one cloud. `trusted`: the file with the certificates that clients must trust."""
    cloud: dict[str, object] = {"auth": dict(given), "region_name": region, "identity_api_version": 3}
    if trusted:
        cloud["cacert"] = str(trusted)
    return yaml.safe_dump({"clouds": {name: cloud}}, sort_keys=False)


def openrc(region: str, given: Mapping[str, str], trusted: Path | None) -> str:
    """Returns the account as variables for a shell, with every value quoted. `trusted`: as for `clouds`."""
    variables = {f"OS_{key.upper()}": value for key, value in given.items()}
    variables |= {"OS_REGION_NAME": region, "OS_IDENTITY_API_VERSION": "3"}
    if trusted:
        variables["OS_CACERT"] = str(trusted)
    return "".join(f"export {key}={shlex.quote(value)}\n" for key, value in variables.items())
