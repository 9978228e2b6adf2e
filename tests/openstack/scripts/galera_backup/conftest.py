"""Programs that are stood in for, with directories of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from openstack.scripts.galera_backup import backup, backup_files, content, restore, scratch
from tests.openstack.scripts.galera_backup.programs import Programs


def no_pause(_seconds: float) -> None:
    """Stands in for time.sleep."""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    found = Programs()
    for directory in ("data", "backups"):
        (tmp_path / directory).mkdir()
    for module in (backup, content, restore, scratch):
        monkeypatch.setattr(module, "run", found)
    for module in (backup, restore, scratch, backup_files):
        monkeypatch.setattr(module, "DATA", tmp_path / "data", raising=False)
        monkeypatch.setattr(module, "BACKUPS", tmp_path / "backups", raising=False)
    monkeypatch.setattr(backup, "PATIENCE", 0)
    monkeypatch.setattr(backup.time, "sleep", no_pause)
    return found
