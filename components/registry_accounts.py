"""Accounts for registries, as containerd reads them and as pods' Secrets hold them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping

from blueprint.stackfile.image_settings import RegistryAccount

Accounts = Mapping[str, RegistryAccount]
"""Accounts by registry, such as registry.example:5000."""
Reveal = Callable[[str], str]
DOCKER_HUB = "docker.io"
"""The only registry that answers at another name than that of its images."""


def docker_config(accounts: Accounts, reveal: Reveal) -> str:
    """Returns the content of a Secret of type kubernetes.io/dockerconfigjson."""
    found: dict[str, dict[str, str]] = {}
    for registry, account in sorted(accounts.items()):
        password = reveal(account.password.key)
        both = base64.b64encode(f"{account.user}:{password}".encode()).decode()
        name = "https://index.docker.io/v1/" if registry == DOCKER_HUB else registry
        found[name] = {"username": account.user, "password": password, "auth": both}
    return json.dumps({"auths": found})


def containerd_tables(accounts: Accounts, reveal: Reveal) -> str:
    """Returns the tables of containerd's configuration, version 2."""
    return "".join(
        f"""\
    [plugins."io.containerd.grpc.v1.cri".registry.configs."{_host(registry)}".auth]
      username = {_toml(account.user)}
      password = {_toml(reveal(account.password.key))}
"""
        for registry, account in sorted(accounts.items())
    )


def _host(registry: str) -> str:
    return "registry-1.docker.io" if registry == DOCKER_HUB else registry


def _toml(text: str) -> str:
    """Returns a basic string of TOML: as in JSON, but that it has no pairs of surrogates and no DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
