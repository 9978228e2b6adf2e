"""What `--from` names for a Galera, and which fetched copies are refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from console.errors import UserError
from operations.restoration import galera_source
from operations.restoration.galera_source import GaleraSource
from tests.openstack.scripts.test_galera_receive import made

MEMBERS = tuple(f"mysqld-{number}.mysqld-members.openstack.svc" for number in range(3))
TIME = "2026-11-28T02-17-04Z"


@pytest.mark.parametrize(
    ("wanted", "source"),
    [
        ("", GaleraSource("mysqld")),
        (TIME, GaleraSource("mysqld", TIME)),
        ("galera/mysqld", GaleraSource("mysqld", is_copy=True)),
        (f"galera/mysqld/{TIME}", GaleraSource("mysqld", TIME, is_copy=True)),
    ],
)
def test_a_source_is_read_and_written(wanted: str, source: GaleraSource) -> None:
    assert galera_source.named("mysqld", wanted) == source
    assert source.written == wanted
    assert source.made == (datetime(2026, 11, 28, 2, 17, 4, tzinfo=UTC) if source.time else None)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("yesterday", "--from yesterday is not a backup of mysqld: write its time"),
        ("galera/mysqld/yesterday", "is not a backup of mysqld"),
        (f"galera/mysqld/{TIME}/data", "is not a backup of mysqld"),
        (f"etcd/master1/{TIME}", "is not a backup of mysqld"),
        (f"galera/neutron-mysqld/{TIME}", "is a copy of neutron-mysqld, which is another cluster than mysqld"),
    ],
)
def test_what_is_no_backup_of_the_cluster_is_refused(wanted: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        galera_source.named("mysqld", wanted)


def test_a_fetched_backup_is_whole_and_of_the_cluster(tmp_path: Path) -> None:
    backup = made(tmp_path)
    record = backup / "backup.json"
    assert galera_source.require_whole(backup, MEMBERS) == 512000, "an earlier version has not recorded the member"
    record.write_text(json.dumps({"bytes": 7, "member": MEMBERS[2]}))
    assert galera_source.require_whole(backup, MEMBERS) == 7
    record.write_text(json.dumps({"bytes": 7, "member": "neutron-mysqld-2.neutron-mysqld-members.openstack.svc"}))
    with pytest.raises(UserError, match=r"is a backup of neutron-mysqld-2.*, which is not a member of this cluster"):
        galera_source.require_whole(backup, MEMBERS)


def test_a_fetched_backup_that_lacks_something_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is not a complete backup: .*No such file"):
        galera_source.require_whole(tmp_path / TIME, MEMBERS)
    backup = made(tmp_path)
    (backup / "data/bank/empty").unlink()
    with pytest.raises(UserError, match="other content than when it was made in data/bank/empty"):
        galera_source.require_whole(backup, MEMBERS)
    (backup / "backup.json").write_text("{")
    with pytest.raises(UserError, match="is not a complete backup"):
        galera_source.require_whole(backup, MEMBERS)
