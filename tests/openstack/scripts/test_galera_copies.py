"""Copies of Galera's backups: which are copied when, by the real program, and what the Job in the cluster has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.planner import plan
from openstack import configuration, scripts
from openstack.config.formats import public_text, secret_text
from openstack.config.wiring import ENVIRONMENT, wiring
from openstack.definition import ActionDefinition
from openstack.projects import mariadb
from openstack.scripts import galera_copies
from tests.components.k8s_master.test_backup_copies import COPIES
from tests.components.test_cloud import cloud
from tests.object_store import ACCESS, SECRET
from tests.openstack.scripts.test_backup_store import REVEALED, Machine
from tests.openstack.scripts.test_backup_store import machine as machine  # noqa: PLC0414 - a fixture
from tests.stacks import full_size, own_galera, parsed

TIMES = [f"2026-11-2{day}T02-17-04Z" for day in (5, 6, 7, 8)]
STORED: dict[str, Any] = {"backups": {"copies": COPIES}}


def backup(root: Path, time: str) -> None:
    directory = root / "backups" / time
    (directory / "data/bank").mkdir(parents=True)
    (directory / "data/bank/transfer.ibd").write_text(f"pages of {time}")
    (directory / "backup.json").write_text("{}")


@pytest.fixture
def directory(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the Job has its volume and programs. The programs' directory is the store's account."""
    (machine.root / "backups").mkdir()
    shutil.copy(machine.root / "backup-store", machine.own / "backup_store.sh")
    monkeypatch.setattr(galera_copies, "BACKUPS", machine.root / "backups")
    monkeypatch.setattr(galera_copies, "__file__", str(machine.own / "galera_copies.py"))
    monkeypatch.setenv("STORE", str(machine.own))
    return machine.root


def copied(machine: Machine, code: int = 0) -> list[str]:
    """Runs the program; returns the times of the complete copies in the store."""
    assert galera_copies.main("mysqld") == code
    return [each.removeprefix("galera/mysqld/") for each in machine.run("list").split()]


def test_first_only_the_newest_is_copied_then_each_new_one(machine: Machine, directory: Path) -> None:
    assert copied(machine) == [], "of a new cloud"
    for time in TIMES[:2]:
        backup(directory, time)
    assert copied(machine) == [TIMES[1]]
    before = dict(machine.store.objects)
    assert copied(machine) == [TIMES[1]]
    assert machine.store.objects == before
    for time in TIMES[2:]:
        backup(directory, time)
    shutil.rmtree(directory / "backups" / TIMES[0])
    assert copied(machine) == TIMES[1:]


def test_a_backup_that_is_being_made_is_not_copied(machine: Machine, directory: Path) -> None:
    backup(directory, TIMES[0])
    backup(directory, galera_copies.UNFINISHED)
    (directory / "backups" / TIMES[1]).mkdir()
    assert copied(machine) == [TIMES[0]]


def test_what_failed_is_copied_by_the_next_run(
    machine: Machine, directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    backup(directory, TIMES[0])
    account = machine.own / "curl.conf"
    text = account.read_text()
    account.write_text(text.replace(ACCESS, "AKIAOTHER"))
    assert galera_copies.main("mysqld") == 22
    said = capfd.readouterr().err
    assert "AccessDenied" in said
    assert f"{TIMES[0]} was not copied" in said
    account.write_text(text)
    assert copied(machine) == [TIMES[0]]


def test_a_backup_comes_back_as_the_directory_that_it_was(machine: Machine, directory: Path) -> None:
    backup(directory, TIMES[0])
    assert copied(machine) == [TIMES[0]]
    machine.get(f"galera/mysqld/{TIMES[0]}")
    got = machine.root / "got" / TIMES[0]
    assert (got / "data/bank/transfer.ibd").read_text() == f"pages of {TIMES[0]}"
    assert (got / "backup.json").read_text() == "{}"


def actions(**more: Any) -> dict[str, ActionDefinition]:
    around = wiring(plan(parsed(full_size("100", **more))), ENVIRONMENT)
    return {each.job.name: each for each in mariadb.actions(around)}


def test_each_galera_has_its_own_copies_and_none_without_an_object_store() -> None:
    assert not [name for name in actions() if "copy" in name]
    found = {name: each for name, each in actions(**STORED, **own_galera()).items() if each.copies}
    assert {name: (each.copies, each.schedule) for name, each in found.items()} == {
        "mysqld-backup-copy": ("mysqld-backup", "47 * * * *"),
        "neutron-mysqld-backup-copy": ("neutron-mysqld-backup", "48 * * * *"),
    }
    assert [mount.claim for each in found.values() for mount in each.mounts] == [
        "mysqld-backup",
        "neutron-mysqld-backup",
    ]
    assert mariadb.age_limit(found["mysqld-backup-copy"]).total_seconds() == 7 * 3600


def test_the_job_has_the_program_and_the_account_as_a_secret() -> None:
    job = actions(**STORED)["mysqld-backup-copy"].job
    public = {file.name: text for file in job.written if (text := public_text(file)) is not None}
    secret = {file.name: secret_text(file, REVEALED.__getitem__) for file in job.written if public_text(file) is None}
    assert set(public) == {"galera_copies.py", "backup_store.sh", "backup-store-url"}
    assert set(secret) == {"backup-store-curl.conf", "backup-store-recipient.crt"}
    assert 'aws-sigv4 = "aws:amz:us-east-1:s3"' in (secret["backup-store-curl.conf"] or "")
    assert (secret["backup-store-recipient.crt"] or "").startswith("-----BEGIN CERTIFICATE-----")
    assert not [text for text in public.values() if ACCESS in text or SECRET in text]
    paths = {file.name: file.path for file in job.files}
    program, directory = job.command.split()[-2], job.command.split()[1].removeprefix("STORE=")
    assert paths["galera_copies.py"] == program
    assert {Path(path).parent for path in paths.values()} == {Path(directory)}
    assert {Path(path).name for path in paths.values()} >= {"curl.conf", "url", "recipient.crt", "backup_store.sh"}


def test_copies_are_no_backups_for_the_rules() -> None:
    """A rule takes what runs a backup program for a backup, which would need a test of its own."""
    job = actions(**STORED)["mysqld-backup-copy"].job
    texts = [job.command, *(public_text(file) or "" for file in job.written)]
    assert not [text for text in texts if re.search("mariadb-backup|mariadb-dump|mysqldump|xtrabackup", text)]


def test_the_cronjob_has_a_deadline_and_the_volume_of_the_backups() -> None:
    found = cloud(plan(parsed(full_size("100", **STORED))))
    (job,) = [
        each.inputs
        for each in found
        if each.name == "cloud-openstack-mariadb-mysqld-backup-copy" and each.kind == "CronJob"
    ]
    assert (job["spec"]["schedule"], job["spec"]["concurrencyPolicy"]) == ("47 * * * *", "Forbid")
    assert job["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"] == 6 * 3600
    assert job["metadata"]["annotations"].keys() == {"quorate.io/action", "quorate.io/action-requires"}
    volumes = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["volumes"]
    assert [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each] == [
        "mysqld-backup"
    ]


def test_it_runs_with_nothing_but_the_standard_library(machine: Machine, directory: Path) -> None:
    """As in the pod, where its name is the program and the cluster its argument."""
    program = machine.own / "galera_copies.py"
    program.write_text(scripts.text("galera_copies.py").replace("/var/lib/mysql-backup", str(directory / "backups")))
    backup(directory, TIMES[0])
    command = [sys.executable, "-I", str(program), "mysqld"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, done.stderr
    assert re.findall("galera-copies: .*", done.stderr)[0] == f"galera-copies: {TIMES[0]} is in the object store"


def test_alerts_and_status_know_the_copies() -> None:
    made = plan(parsed(full_size("100", **STORED)))
    (file,) = [each for each in configuration.of_service(made, "influxdb-grafana") if each.name == "alerts.yml"]
    text = public_text(file) or ""
    assert "mysqld, mysqld-backup-copy: the last copy to the object store is" in text
    assert "its schedule allows 7 h" in text
