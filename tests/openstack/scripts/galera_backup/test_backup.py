"""What is kept as a backup, and when one begins."""

from __future__ import annotations

import json

import pytest

from openstack.scripts.galera_backup import backup, backup_files
from openstack.scripts.galera_backup.backup_files import Refused
from tests.openstack.scripts.galera_backup.programs import SETTINGS, UUID, Programs, older


def there() -> list[str]:
    return [path.name for path in backup_files.complete()]


@pytest.mark.usefixtures("programs")
def test_a_backup_gets_its_name_when_it_is_complete_and_the_oldest_are_removed() -> None:
    older("2026-01-01T00-00-00Z", "2026-01-02T00-00-00Z")
    kept = backup.take(SETTINGS)
    assert there() == ["2026-01-02T00-00-00Z", kept.name]
    said = json.loads((kept / "backup.json").read_text())
    assert said["position"] == f"{UUID}:7"
    assert said["tables"] == {"keystone/user": 8, "nova/instances": 54}
    assert not (kept / "socket").exists()


def test_a_backup_at_another_position_is_not_kept_and_removes_no_other(programs: Programs) -> None:
    older("2026-01-01T00-00-00Z", "2026-01-02T00-00-00Z", "2026-01-03T00-00-00Z")
    programs.recovered = 6
    with pytest.raises(Refused, match=f"it is at {UUID}:6, the member was at {UUID}:7"):
        backup.take(SETTINGS)
    assert len(there()) == 3


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("wsrep_local_state", "2", "expected Synced"),
        ("wsrep_cluster_status", "non-Primary", "expected Synced and Primary"),
        ("wsrep_cluster_size", "2", "2 of 3 members are there"),
    ],
)
def test_only_a_synced_member_of_a_whole_cluster_is_saved(programs: Programs, name: str, value: str, said: str) -> None:
    programs.status[name] = value
    with pytest.raises(Refused, match=said):
        backup.take(SETTINGS)
    assert there() == []
