"""Backup and restoration do not run at once."""

from __future__ import annotations

import fcntl

import pytest

from openstack.scripts.galera_backup import backup_files
from openstack.scripts.galera_backup.backup_files import Refused


@pytest.mark.usefixtures("programs")
def test_two_do_not_run_at_once() -> None:
    with (backup_files.BACKUPS / "lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another backup or restoration runs"), backup_files.alone():
            pytest.fail("it began")
