"""From what a Galera is restored: a backup in the volume of its backups, or a copy that was fetched; and why not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from console.errors import UserError
from openstack.scripts.galera_backup import content
from openstack.scripts.galera_backup.backup_files import Refused, record

KIND = "galera"
"""How names of copies of a Galera begin."""
_FORM = "%Y-%m-%dT%H-%M-%SZ"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ")
_EXAMPLE = "2026-11-28T02-17-04Z"


@dataclass(frozen=True)
class GaleraSource:
    """What `--from` names."""

    galera: str
    time: str = ""
    """The backup's name, which is when it was begun; "" for the newest."""
    is_copy: bool = False
    """Whether it is a copy in the object store, not in the volume."""

    @property
    def written(self) -> str:
        """As `--from` takes it; "" for the newest backup in the volume."""
        return "/".join(filter(None, (KIND, self.galera, self.time))) if self.is_copy else self.time

    @property
    def made(self) -> datetime | None:
        """When the backup was begun; None if it is not known which one it is."""
        return datetime.strptime(self.time, _FORM).replace(tzinfo=UTC) if self.time else None


def named(galera: str, wanted: str) -> GaleraSource:
    """Returns the source that the text of `--from` names. Raises UserError if it is none of this Galera."""
    if not wanted:
        return GaleraSource(galera)
    if _TIME.fullmatch(wanted):
        return GaleraSource(galera, wanted)
    kind, _, rest = wanted.partition("/")
    of, _, time = rest.partition("/")
    if kind != KIND or (time and not _TIME.fullmatch(time)):
        raise UserError(
            f"--from {wanted} is not a backup of {galera}: write its time, such as {_EXAMPLE}, or a copy in the object "
            f"store, such as {KIND}/{galera} for the newest or {KIND}/{galera}/{_EXAMPLE}."
        )
    if of != galera:
        raise UserError(f"--from {wanted} is a copy of {of}, which is another cluster than {galera}.")
    return GaleraSource(galera, time, is_copy=True)


def require_whole(backup: Path, members: Sequence[str]) -> int:
    """Returns the bytes of a backup that was fetched.

    members: DNS names of the cluster's members. Raises UserError if files lack or were changed, or if the backup is of
    another cluster.
    """
    try:
        said = record(backup)
        content.require_digests(backup)
    except (Refused, OSError, ValueError) as error:
        raise UserError(f"{backup} is not a complete backup: {error}.") from None
    if said.get("member", members[0]) not in members:
        raise UserError(f"{backup} is a backup of {said['member']}, which is not a member of this cluster.")
    return int(said["bytes"])
