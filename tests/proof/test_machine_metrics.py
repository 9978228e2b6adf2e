"""What a master asks a real API server for its metrics, with the real kubectl: CronJobs, Jobs and a certificate."""

from __future__ import annotations

import base64
import os
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

from blueprint.plan.planner import plan
from cluster.api import MERGE
from components import machine_metrics
from console.progress import Reporter
from contract import ACTION
from formats import certificates
from openstack.config.wiring import ENVIRONMENT, wiring
from openstack.monitoring import age_alerts, machine_alerts
from operations.action_job import BATCH
from operations.living import backups, copy_tests
from proof.control_plane import ControlPlane, control_plane
from tests.proof.simulated_nodes import until
from tests.stacks import full_size, parsed
from toolchain import cluster_programs

SCRIPTS = Path(machine_metrics.__file__).parent
WORDS = (
    ("machine", "secrets"), ("master", "cronjobs"), ("master", "workloads"), ("master", "nodes"),
    ("master", "copies", "mysqld", "etcd"),
)  # fmt: skip
POD = {"restartPolicy": "Never", "containers": [{"name": "backup", "image": "backup"}]}
JOB = {"completions": 0, "template": {"spec": POD}}  # complete at once, also without a node


def told(plane: ControlPlane, root: Path) -> dict[str, int]:
    """What the scripts write, by metric and its label's value."""
    programs = cluster_programs.ensure(Reporter(), cluster_programs.NODE)
    configuration = root / "etc/kubernetes/admin.conf"
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(plane.kubeconfig.read_text(encoding="utf-8"), encoding="utf-8")
    environment = {"ROOT": str(root), "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(root)}
    text = ""
    for name, word, *more in WORDS:
        command = ["sh", str(SCRIPTS / f"{name}_metrics.sh"), word, ENVIRONMENT, *more]
        subprocess.run(command, env=environment, check=True, timeout=60)
        text += (root / f"var/lib/quorate/metrics/{word}.prom").read_text(encoding="utf-8")
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in text.splitlines()}


def of(metric: str, schedule: str = "mysqld-backup") -> str:
    return f'{metric}{{schedule="{schedule}"}}'


def create_schedule(plane: ControlPlane, name: str) -> dict[str, str]:
    """Creates a CronJob; returns the reference of its Jobs to it."""
    spec = {"schedule": "17 2 * * *", "jobTemplate": {"spec": JOB}}
    made = plane.api.ask("POST", f"{BATCH}/cronjobs", {"metadata": {"name": name}, "spec": spec})
    return {"apiVersion": "batch/v1", "kind": "CronJob", "name": name, "uid": made["metadata"]["uid"]}


def test_a_master_tells_what_status_reads(binaries: Path, tmp_path: Path) -> None:
    around = wiring(plan(parsed(full_size("100"))), ENVIRONMENT)
    with control_plane(binaries) as plane:
        untested = {of(age_alerts.SUCCESS, age_alerts.copy_test(each)): 0 for each in ("mysqld", "etcd")}
        assert told(plane, tmp_path) == untested, "the namespace does not exist"
        plane.api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": ENVIRONMENT}})
        create_schedule(plane, "mysqld-backup")
        test = create_schedule(plane, "mysqld-backup-test")
        before = told(plane, tmp_path)
        assert abs(before[of(age_alerts.SUCCESS)] - time.time()) < 60, "due since it was made"
        assert before[of(age_alerts.SUSPENDED)] == 0

        time.sleep(1.1)  # times have no fractions of seconds
        by_hand = {"metadata": {"name": "by-hand", "annotations": {ACTION: "mysqld-backup"}}, "spec": JOB}
        plane.api.ask("POST", f"{BATCH}/jobs", by_hand)
        until(lambda: told(plane, tmp_path)[of(age_alerts.SUCCESS)] > before[of(age_alerts.SUCCESS)])
        spec = JOB | {"completions": 1, "activeDeadlineSeconds": 1}
        owner = test | {"controller": True}
        plane.api.ask(
            "POST", f"{BATCH}/jobs", {"metadata": {"name": "fails", "ownerReferences": [owner]}, "spec": spec}
        )
        until(lambda: of(age_alerts.FAILURE, "mysqld-backup-test") in told(plane, tmp_path))
        plane.api.ask("PATCH", f"{BATCH}/cronjobs/mysqld-backup", {"spec": {"suspend": True}}, content=MERGE)

        authority = certificates.Authority("entry", "secret")
        content = {f"tls.{end}": base64.b64encode(text.encode()).decode() for end, text in _pair(authority).items()}
        secret = {"metadata": {"name": "openstack-tls"}, "type": "kubernetes.io/tls", "data": content}
        plane.api.ask("POST", f"/api/v1/namespaces/{ENVIRONMENT}/secrets", secret)

        labels = {"matchLabels": {"app": "api"}}
        template = {"metadata": {"labels": labels["matchLabels"]}, "spec": {"containers": POD["containers"]}}
        service = {"metadata": {"name": "nova-api"}, "spec": {"replicas": 2, "selector": labels, "template": template}}
        plane.api.ask("POST", f"/apis/apps/v1/namespaces/{ENVIRONMENT}/deployments", service)

        plane.api.ask("POST", "/api/v1/nodes", {"metadata": {"name": "cmp1"}})
        conditions = [{"type": "KernelDeadlock", "status": "True"}]  # kwok sets those of a kubelet
        plane.api.ask("PATCH", "/api/v1/nodes/cmp1/status", {"status": {"conditions": conditions}}, content=MERGE)

        tested = datetime(2026, 11, 30, 4, 5, 6, tzinfo=UTC)
        for database, succeeded in (("mysqld", True), ("etcd", False)):
            copy_tests.write(plane.api, database, f"{database}/copy", tested, succeeded=succeeded)

        found, (status,) = told(plane, tmp_path), backups.of_galera(plane.api, around).found
        assert status.newest
        # A Job's completion and its condition have times of their own, which may be in two seconds.
        assert abs(found[of(age_alerts.SUCCESS)] - status.newest.timestamp()) <= 1
        assert found[of(age_alerts.SUSPENDED)] == 1
        assert status.stopped == "it is suspended"
        assert status.test
        assert status.test.problem.endswith("failed")
        assert found[f'{machine_alerts.REPLICAS}{{workload="nova-api"}}'] == 2
        assert found[f'{machine_alerts.READY}{{workload="nova-api"}}'] == 0, "no pod is scheduled"
        assert found[f'{machine_alerts.CONDITION}{{node="cmp1",condition="KernelDeadlock"}}'] == 1
        moment = int(tested.timestamp())
        assert found[of(age_alerts.SUCCESS, "mysqld-copy-test")] == moment
        assert found[of(age_alerts.SUCCESS, "etcd-copy-test")] == 0
        assert found[of(age_alerts.FAILURE, "etcd-copy-test")] == moment
        ends = int(certificates.VALID_UNTIL.timestamp())
        assert found[f'{age_alerts.ENTRY}{{secret="openstack-tls"}}'] == ends


def _pair(authority: certificates.Authority) -> dict[str, str]:
    return {"crt": authority.pair.public, "key": authority.pair.private}
