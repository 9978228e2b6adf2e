"""Reads etcd's member name and member list from a machine's environment files, systemd units, manifests and YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from policy.shell.syntax import UNKNOWN

_SETTING = r"^[ \t\"'-]*(?:export\s+)?(?:ETCD_{env}[ \t]*=|(?:.*?--)?{flag}(?:=|[ \t]+|:[ \t]*))[\"']?([^\s\"'\\]+)"
_FLAGGED = r"--{flag}(?:=|[ \t]+)[\"']?([^\s\"'\\]+)"
_END = r"""(["'\s]|$)"""
_RUNS = re.compile(
    rf"^\s*ExecStart=[-+!@:|]*(\S*/)?etcd{_END}"  # etcd is the program
    rf"|^\s*ExecStart=.*(bin/|\benv\s|\bexec\s)etcd{_END}"  # or what env or a shell runs
    rf"|^\s*ExecStart=.*\b(docker|podman|nerdctl)\s(.*\s)?(\S*/)?etcd([:@]\S*)?{_END}"  # or a container does
    r"""|image:\s*["']?\S*/?etcd[:@"'\s]""",
    re.M,
)
"""The word alone, as in `systemctl restart etcd`, runs no member."""
_UNIT = re.compile(r".*/(systemd/system|systemd/system/etcd\.service\.d)/[^/]+\.(service|conf)|.*/manifests/[^/]+")


@dataclass(frozen=True)
class EtcdConfiguration:
    """The configuration of one etcd member."""

    name: str
    """The member's name; empty if it is not set."""
    members: Mapping[str, str]
    """The host name or address in each member's peer URL, by member name."""


def etcd_configuration(files: Mapping[str, str]) -> EtcdConfiguration | None:
    """Reads etcd's configuration from the files of a machine (text by path); None if no file has a member list."""
    for path in files:
        if "etcd" not in path.lower():
            continue
        text = files[path]
        if cluster := _setting(text, "INITIAL_CLUSTER", "initial-cluster"):
            members = {
                name: _host(url) for member in cluster.split(",") if member for name, _, url in [member.partition("=")]
            }
            return EtcdConfiguration(_setting(text, "NAME", "name"), members)
    return None


def runs_etcd(files: Mapping[str, str]) -> bool:
    """Whether a systemd unit or a static pod among a machine's files runs etcd, or a kubeadm configuration creates it.

    `files`: text by path.
    """
    return any(
        (_UNIT.fullmatch(path) and _RUNS.search(files[path]))
        or (path.endswith((".yaml", ".yml")) and re.search(r"^etcd:\s*\n\s+local:", files[path], re.M))
        for path in files
    )


def _setting(text: str, env: str, flag: str) -> str:
    flagged = re.search(_FLAGGED.format(flag=flag), text, re.M)  # in a manifest, `name:` is the pod's
    found = flagged or re.search(_SETTING.format(env=env, flag=flag), text, re.M)
    return found[1] if found else ""


def _host(url: str) -> str:
    if UNKNOWN in url:
        return UNKNOWN
    return re.sub(r"^\w+://|:\d+$", "", url).strip("[]")
