"""Encrypted copies of etcd's backups in an object store, made by a unit that systemd starts after each backup.

A unit of its own, so that a copy that fails is not a backup that fails: each is named by its own age.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pulumi

from blueprint.stackfile.backup_settings import BackupCopies
from components.k8s_master import etcd
from components.machine import File, Parts
from components.secrets import Keyring
from files.yaml_writer import literal
from openstack import backup_store, scripts
from openstack.backup_store import ACCOUNT, RECIPIENT, URL
from openstack.config.wiring import ENVIRONMENT

NAME = "etcd-backup-copy"
PROGRAM, OF_ETCD = (f"/usr/local/lib/quorate/{name}" for name in ("backup-store", "etcd-copies"))
"""What encrypts and sends a copy, and what knows which copies of etcd are missing."""
DIRECTORY = "/etc/quorate/backup-store"

_CREDENTIALS = "".join(f"LoadCredential={name}:{DIRECTORY}/{name}\n" for name in (ACCOUNT, URL, RECIPIENT))
UNIT = f"""\
[Unit]
Description=Encrypted copies of etcd's new backups in an object store
After=network-online.target
Wants=network-online.target

[Service]
{etcd.IN_BACKUPS}PrivateTmp=yes
Environment=TMPDIR=/var/tmp
EnvironmentFile=/etc/etcd/member.env
{_CREDENTIALS}Nice=10
ExecStart={OF_ETCD}
"""
"""The user etcd reads the account as a credential of the unit; its file is root's. /tmp may be memory."""

AFTER_BACKUP = f"""\
[Unit]
OnSuccess={NAME}.service
"""


def parts(copies: BackupCopies | None, keyring: Keyring) -> Parts:
    """Returns the files of a machine with a member; none without an object store."""
    if copies is None:
        return Parts()
    found = _of_environment(keyring).written(lambda reveal: backup_store.texts(copies, reveal))
    return Parts(
        (
            File(PROGRAM, literal(scripts.text("backup_store.sh")), mode=0o755),
            File(OF_ETCD, literal(_script()), mode=0o755),
            File(f"{DIRECTORY}/{URL}", literal(f"{copies.url}\n")),
            *(File(f"{DIRECTORY}/{name}", _at(found, name), mode=0o600, secret=True) for name in (ACCOUNT, RECIPIENT)),
            File(f"{etcd.UNITS}/{NAME}.service", literal(UNIT)),
            File(f"{etcd.UNITS}/etcd-backup.service.d/copy.conf", literal(AFTER_BACKUP)),
        )
    )


def opened(copies: BackupCopies, keyring: Keyring) -> pulumi.Output[str]:
    """Returns the texts of all files of the program by name, as JSON: what reads copies too."""
    return _of_environment(keyring).written(lambda reveal: json.dumps(backup_store.texts(copies, reveal)))


def _of_environment(keyring: Keyring) -> Keyring:
    """Returns the keyring of pods, which encrypt for the same key."""
    return replace(keyring, environment=ENVIRONMENT)


def _at(found: pulumi.Output[dict[str, str]], name: str) -> pulumi.Output[str]:
    return found.apply(lambda each: each[name])


@cache
def _script() -> str:
    return Path(__file__).with_name("etcd_copies.sh").read_text(encoding="utf-8")
