"""Encrypted copies of etcd's backups: which machines have the unit, what it gets, and what is copied when."""

from __future__ import annotations

import subprocess
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.planner import plan
from components.k8s_master import backup_copies, etcd
from components.k8s_master.backup_copies import DIRECTORY
from components.machine_metrics import OF_MASTER
from tests.components.k8s_master.test_external_etcd import PHYSICAL, files, physical, secret_files
from tests.components.machine.test_directory import shellcheck
from tests.fakes import script
from tests.stacks import full_size, parsed

PLACES = {"accessKey": {"environment": "ACCESS"}, "secretKey": {"environment": "SECRET"}}
COPIES: dict[str, Any] = {"endpoint": "https://s3.example.org", "bucket": "backups", "prefix": "prod", **PLACES}
DROP_IN = f"{etcd.UNITS}/etcd-backup.service.d/copy.conf"
UNIT = f"{etcd.UNITS}/{backup_copies.NAME}.service"
PLAIN = {backup_copies.PROGRAM, backup_copies.OF_ETCD, f"{DIRECTORY}/url", UNIT, DROP_IN}
SECRET = {f"{DIRECTORY}/curl.conf", f"{DIRECTORY}/recipient.crt"}
MADE = plan(parsed(full_size("100", backups={"copies": COPIES})))


def test_members_of_etcd_have_the_unit_and_other_machines_do_not() -> None:
    beside = plan(parsed(physical(backups={"copies": COPIES})))
    for made, name, has in (
        (MADE, "master1", True),
        (MADE, "ctl01", False),
        (MADE, "cmp1", False),
        (beside, "etcd1", True),
        (beside, "master1", False),
        (PHYSICAL, "etcd1", False),
        (PHYSICAL, "master1", False),
    ):
        found = files(made, name).keys() | secret_files(made, name)
        assert found & (PLAIN | SECRET) == (PLAIN | SECRET if has else set()), name
    assert secret_files(MADE, "master1") >= SECRET


def test_nothing_else_changes() -> None:
    """The unit of the backup stays as it is: what follows it is in a file of its own."""
    without = files(plan(parsed(full_size("100"))), "master1")
    found = files(MADE, "master1")
    metrics = f"{etcd.UNITS}/quorate-metrics.service"
    asks = f"ExecStart={OF_MASTER} copies openstack mysqld etcd\n"
    assert found[metrics].replace(asks, "") == without.pop(metrics)
    assert {path: text for path, text in found.items() if path not in {*PLAIN, metrics}} == without


def test_the_unit_runs_after_a_backup_with_credentials() -> None:
    found = files(MADE, "master1")
    unit = parser(found[DROP_IN])
    assert unit["Unit"]["OnSuccess"] == Path(UNIT).name
    given = [
        line.partition("=")[2].split(":") for line in found[UNIT].splitlines() if line.startswith("LoadCredential=")
    ]
    assert {path for _, path in given} == {f"{DIRECTORY}/url", *SECRET}
    assert all(path.endswith(f"/{name}") for name, path in given)
    assert "User=etcd\n" in found[UNIT]
    assert "ETCD_NAME=master1\n" in found["/etc/etcd/member.env"]
    assert "EnvironmentFile=/etc/etcd/member.env\n" in found[UNIT]
    assert f"ExecStart={backup_copies.OF_ETCD}\n" in found[UNIT]
    assert found[f"{DIRECTORY}/url"] == "https://s3.example.org/backups/prod\n"


def parser(text: str) -> RawConfigParser:
    found = RawConfigParser(strict=False)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read_string(text)
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine whose program remembers what it is asked, and fails if a file says so."""
    (tmp_path / "var/lib/etcd-backup").mkdir(parents=True)
    body = 'echo "$@" >>"$ROOT/asked"\n[ ! -e "$ROOT/refuses" ] || exit 22'
    script(tmp_path / "usr/local/lib/quorate", "backup-store", body)
    return tmp_path


def backup(root: Path, time: str) -> None:
    for end in ("db", "content"):
        (root / f"var/lib/etcd-backup/{time}.{end}").touch()


def copied(root: Path, code: int = 0) -> list[str]:
    """Runs the script; returns the times of the copies that it put."""
    (root / "asked").write_text("")
    program = Path(etcd.__file__).with_name("etcd_copies.sh")
    done = subprocess.run(
        ["sh", str(program)],
        env={"ROOT": str(root), "PATH": "/usr/bin:/bin", "ETCD_NAME": "master1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    lines = (root / "asked").read_text().splitlines()
    times = [line.split()[-1].removesuffix(".content") for line in lines]
    directory = root / "var/lib/etcd-backup"
    assert lines == [f"put etcd/master1/{time} {directory} {time}.db {time}.content" for time in times]
    return times


def test_first_only_the_newest_is_copied_then_each_new_one(root: Path) -> None:
    for time in ("20261127T110000Z", "20261128T110000Z"):
        backup(root, time)
    assert copied(root) == ["20261128T110000Z"]
    assert copied(root) == []
    for time in ("20261128T120000Z", "20261128T130000Z"):
        backup(root, time)
    assert copied(root) == ["20261128T120000Z", "20261128T130000Z"]
    assert (root / "var/lib/etcd-backup/last-copy").read_text() == "copied 20261128T130000Z\n"


def test_what_was_refused_is_copied_with_the_next(root: Path) -> None:
    backup(root, "20261128T110000Z")
    assert copied(root) == ["20261128T110000Z"]
    (root / "refuses").touch()
    for time in ("20261128T120000Z", "20261128T130000Z"):
        backup(root, time)
    assert copied(root, code=22) == ["20261128T120000Z"]
    assert (root / "var/lib/etcd-backup/last-copy").read_text() == "copied 20261128T110000Z\n"
    (root / "refuses").unlink()
    assert copied(root) == ["20261128T120000Z", "20261128T130000Z"]


def test_a_backup_without_a_record_of_its_content_is_not_copied(root: Path) -> None:
    backup(root, "20261128T110000Z")
    (root / "var/lib/etcd-backup/20261128T120000Z.content").touch()  # not yet compared: it has no name
    assert copied(root) == ["20261128T110000Z"]


def test_without_a_backup_there_is_nothing_to_copy(root: Path) -> None:
    assert copied(root, code=1) == []


def test_shellcheck_has_no_objection(tmp_path: Path) -> None:
    assert shellcheck(tmp_path, {"copies": files(MADE, "master1")[backup_copies.OF_ETCD]}) == ""
