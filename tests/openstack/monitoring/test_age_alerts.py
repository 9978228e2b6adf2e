"""Which alerts of backups and certificates a stack has, by what its machines can tell, and that each is documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from openstack import configuration
from openstack.config.formats import public_text
from tests.stacks import full_size, parsed, server

DOCUMENTS = Path(__file__).resolve().parents[3] / "docs"
ENDS = {"CertificateExpires", "CertificateExpired"}
OF_CERTIFICATES = {*ENDS, *(f"Entry{name}" for name in ENDS)}
OF_MACHINES = {
    "MachineMetricsOld",
    "MachineMetricsMissing",
    "ServiceDown",
    "ServiceLacksReplicas",
    "DiskAlmostFull",
} | {"NodeCondition"}
OF_QUEUES = {"RabbitmqQueuesLost", "RabbitmqQueuesReduced", "RabbitmqQueuesUnknown"}
OF_CEPH = {"CephOsdDown", "CephRequestsSlow", "CephWarns", "CephFails", "CephSilent"}
OF_BACKUPS = {"BackupLate", "BackupTestLate", "BackupTestFailed", "BackupSuspended", "BackupUnknown"}
TOLD = OF_MACHINES | OF_QUEUES


def rules(made: Plan) -> dict[str, list[dict[str, Any]]]:
    """The rules of a stack, by their group."""
    (file,) = [each for each in configuration.of_service(made, "influxdb-grafana") if each.name == "alerts.yml"]
    return {each["name"]: each["rules"] for each in yaml.safe_load(public_text(file) or "")["groups"]}


def schedules(made: Plan) -> set[str]:
    return {rule["labels"]["schedule"] for rule in rules(made)["backups"]}


def stack(**more: Any) -> Plan:
    return plan(parsed(full_size("100", **more)))


def with_machines_of_etcd(**more: Any) -> Plan:
    config = full_size("100", **more)
    config["servers"].append(server("etcd[1-3]", ["etcd"], "10.20.9.1", rack="r[1-3]"))
    return plan(parsed(config))


def test_each_database_has_alerts_of_its_backups_and_tests() -> None:
    made = stack()
    assert {rule["alert"] for rule in rules(made)["backups"]} == OF_BACKUPS
    assert {rule["alert"] for rule in rules(made)["certificates"]} == OF_CERTIFICATES
    assert {rule["alert"] for rule in rules(made)["machines"]} == TOLD
    assert {rule["alert"] for rule in rules(made)["ceph"]} == OF_CEPH
    assert "DiskAlmostFull" not in {rule["alert"] for rule in rules(made)["nodes"]}
    assert schedules(made) == {"etcd-backup", "etcd-backup-test", "mysqld-backup", "mysqld-backup-test"}


STORE = {"endpoint": "https://s3.example.org", "bucket": "backups", "prefix": "prod"}
COPIES = {"copies": {**STORE, "accessKey": {"environment": "ACCESS"}, "secretKey": {"environment": "SECRET"}}}


def test_copies_in_an_object_store_have_alerts_of_their_own() -> None:
    found = [
        each for each in rules(stack(backups=COPIES))["backups"] if each["labels"]["schedule"] == "etcd-backup-copy"
    ]
    assert [each["alert"] for each in found] == ["BackupLate", "BackupUnknown"]
    assert (
        found[0]["expr"] == 'time() - quorate_schedule_success_timestamp_seconds{schedule="etcd-backup-copy"} > 10800'
    )
    assert "the last copy to the object store is " in found[0]["annotations"]["summary"]
    copies = {"etcd-backup-copy", "mysqld-backup-copy", "etcd-copy-test", "mysqld-copy-test"}
    assert schedules(stack(backups=COPIES)) == schedules(stack()) | copies


def test_copies_of_etcd_on_machines_of_its_own_are_tested_too() -> None:
    """Whoever has the key tests them, and the masters tell of it."""
    copies = {"mysqld-backup-copy", "etcd-copy-test", "mysqld-copy-test"}
    alone = with_machines_of_etcd(backups=COPIES)
    assert schedules(alone) == schedules(with_machines_of_etcd()) | copies
    found = [each for each in rules(alone)["backups"] if each["labels"]["schedule"] == "etcd-copy-test"]
    assert [each["alert"] for each in found] == [
        "BackupTestLate",
        "BackupTestLate",
        "BackupTestFailed",
        "BackupUnknown",
    ]


def test_machines_of_etcd_that_are_no_nodes_tell_nothing() -> None:
    assert schedules(with_machines_of_etcd()) == {"mysqld-backup", "mysqld-backup-test"}


def test_machines_that_quorate_does_not_set_up_tell_nothing() -> None:
    found = rules(stack(machines="existing"))
    assert not {"backups", "certificates", "machines"} & found.keys()
    assert "ceph" in found, "its manager tells"
    assert "DiskAlmostFull" in {rule["alert"] for rule in found["nodes"]}, "by node-exporter's own metrics"


def test_every_alert_is_documented() -> None:
    text = (DOCUMENTS / "openstack.md").read_text(encoding="utf-8")
    names = {rule["alert"] for group in rules(stack()).values() for rule in group if "alert" in rule}
    assert {name for name in names if f"`{name}`" not in text} == set()


@pytest.mark.parametrize("name", sorted(OF_BACKUPS | OF_CERTIFICATES | OF_CEPH | TOLD))
def test_on_call_says_what_to_do(name: str) -> None:
    rows = [
        line for line in (DOCUMENTS / "on-call.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    ]
    assert [row for row in rows if f"`{name}`" in row.split("|")[1]]
