"""The shell script that makes a recipe's layer, in the root of its parents' layers (layer.sh runs it).

In the root, /tmp has the directories `kolla` (the images' sources in Kolla's package), `own`
(trials/cloud/images/files) and `locks` (lock files of Python packages).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from toolchain import openstack_programs
from trials.cloud.images.recipe import Account, Recipe

ACCOUNTS = "base"
"""The recipe whose layer has the accounts of all services."""
_NEVER_START = r"printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d"
"""Debian's policy-rc.d: packages do not start their services."""

Users = Mapping[str, tuple[int, int, str]]
"""User number, group number and group name by account."""


def text(name: str, recipe: Recipe, users: Users) -> str:
    """Returns the script of a recipe. The first recipe, which has no parent, has none."""
    return "\n".join(("set -eu", *_lines(name, recipe, users), recipe.setup))


def _lines(name: str, recipe: Recipe, users: Users) -> Iterator[str]:
    if name == ACCOUNTS:
        yield _NEVER_START
        for user, (number, group_number, group) in sorted(users.items()):
            yield _add_user(user, number, group_number, group)
    if recipe.account:
        yield from _account(recipe.account)
    if recipe.packages:
        yield "ls /var/lib/apt/lists/*_Packages >/dev/null 2>&1 || apt-get -qq update"
        yield f"apt-get -qq -y install {' '.join(recipe.packages)}"
    for folder, files in (("kolla", recipe.scripts), ("own", recipe.files)):
        for target, source in files.items():
            yield f"install -D -m {mode(target)} /tmp/{folder}/{source} {target}"


def _add_user(user: str, number: int, group_number: int, group: str) -> str:
    created = f"--uid {number} --gid {group_number} --shell /usr/sbin/nologin --no-log-init --no-create-home {user}"
    return f"groupadd --gid {group_number} {group}; useradd {created}"


def _account(account: Account) -> Iterator[str]:
    if account.number is not None:
        yield _add_user(account.name, account.number, account.number, account.name)
    groups = ",".join(("kolla", *account.groups))
    yield f"usermod --append --home {account.home} --groups {groups} {account.name}"
    yield f"install -d -o {account.name} -g {account.name} {account.home}"


def mode(target: str) -> str:
    """Returns the mode that Kolla gives a file: those that are sourced, and sudo's, are not executable."""
    if target.startswith("/etc/sudoers"):
        return "440"
    return "644" if target.endswith("extend_start") else "755"


def locks(recipe: Recipe) -> list[Path]:
    """Returns the lock files that a recipe's commands name."""
    return [openstack_programs.LOCKS / name for name in re.findall(r"/tmp/locks/([\w.-]+)", recipe.setup)]  # noqa: S108
