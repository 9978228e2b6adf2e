"""The script that writes times for Prometheus, run by `sh` below a temporary root, with a kubectl that has answers."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from blueprint.openstack.projects.records import own_records
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import machine_files, machine_metrics
from components.k8s_master import backup_copies, etcd, pki
from components.machine import filled, variables
from contract import COPY_TESTS
from formats import certificates
from openstack.monitoring import age_alerts, machine_alerts, replicated_queues
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.k8s_master.test_external_etcd import PHYSICAL
from tests.fakes import script
from tests.openstack.monitoring.test_age_alerts import COPIES
from tests.stacks import STACKS, full_size, parsed, two_brokers

DEV = plan(load_file(STACKS["dev"]))
SCRIPTS = Path(machine_metrics.__file__).parent
OF_MACHINE, OF_MASTER = SCRIPTS / "machine_metrics.sh", SCRIPTS / "master_metrics.sh"
MEMBER = certificates.Authority("etcd-ca", "secret").member("master1", [], "another")
ENDS = int(certificates.VALID_UNTIL.timestamp())
KUBECTL = """\
case "$*" in
*"get cronjobs"*) cat "$ROOT/cronjobs" ;;
*"get pods --selector=app.kubernetes.io/name="*) echo pod/a pod/b ;;
*"exec pod/b --container=rabbitmq -- timeout 20 rabbitmqctl "*" eval --formatter=json true = "*) cat "$ROOT/queues" ;;
*exec*) exit 1 ;;
*"get jobs"*) cat "$ROOT/jobs" ;;
*"get configmap quorate-copy-tests --ignore-not-found"*) cat "$ROOT/copies" ;;
*"get nodes"*) cat "$ROOT/nodes" ;;
*"get secrets --field-selector=type=kubernetes.io/tls"*) cat "$ROOT/secrets" ;;
esac
"""


def written(root: Path, program: Path, *words: str, code: int = 0) -> dict[str, float]:
    """Runs the script; returns its file's values by metric and labels."""
    done = subprocess.run(
        ["sh", str(program), *words],
        env={"ROOT": str(root), "PATH": f"{root}/bin:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    metrics = root / "var/lib/quorate/metrics"
    assert [each.suffix for each in metrics.iterdir() if each.stem == words[0]] == [".prom"] or code
    text = (metrics / f"{words[0]}.prom").read_text(encoding="utf-8")
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines()}


def put(root: Path, path: str, text: str) -> Path:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def success(schedule: str) -> str:
    return f'{age_alerts.SUCCESS}{{schedule="{schedule}"}}'


def test_ends_of_certificates_in_files_and_kubeconfigs(tmp_path: Path) -> None:
    for path in (f"{pki.ETCD}/peer.crt", f"{pki.COMPUTE}/tls.crt", f"{pki.KUBERNETES}/apiserver.crt"):
        put(tmp_path, path, MEMBER.public)
    put(tmp_path, f"{pki.ETCD}/peer.key", MEMBER.private)
    put(tmp_path, f"{pki.KUBERNETES}/front-proxy-client.crt", "no certificate")
    encoded = base64.b64encode(MEMBER.public.encode()).decode()
    put(tmp_path, "/etc/kubernetes/admin.conf", f"users:\n- user:\n    client-certificate-data: {encoded}\n")
    put(tmp_path, "/etc/kubernetes/kubelet.conf", "user:\n  client-certificate: /var/lib/kubelet/pki/current.pem\n")
    put(tmp_path, "/var/lib/kubelet/pki/kubelet-client-current.pem", MEMBER.public + MEMBER.private)
    assert written(tmp_path, OF_MACHINE, "certificates") == {
        f'{age_alerts.CERTIFICATE}{{certificate="{path}"}}': end
        for path, end in {
            "/etc/etcd/pki/peer.crt": ENDS,
            "/etc/kubernetes/pki/apiserver.crt": ENDS,
            "/etc/kubernetes/pki/front-proxy-client.crt": 0,
            "/etc/quorate/compute/tls.crt": ENDS,
            "/var/lib/kubelet/pki/kubelet-client-current.pem": ENDS,
            "/etc/kubernetes/admin.conf": ENDS,
        }.items()
    }


def test_everybody_may_read_the_file_and_it_has_no_key(tmp_path: Path) -> None:
    put(tmp_path, f"{pki.COMPUTE}/tls.crt", MEMBER.private + MEMBER.public)
    written(tmp_path, OF_MACHINE, "certificates")
    (file,) = (tmp_path / "var/lib/quorate/metrics").iterdir()
    assert file.stat().st_mode & 0o777 == 0o644
    assert "PRIVATE" not in file.read_text()
    assert len(file.read_text().splitlines()) == 1


def test_each_file_system_is_told_once(tmp_path: Path) -> None:
    """A `df` that heads its answer as the real one does, and a file system without a size."""
    lines = 'echo "Filesystem 1024-blocks Used Available Capacity Mounted on"; case $2 in'
    answers = {"/": "/dev/a 1000 840 123 88% /", "/var/lib": "none 0 0 0 - /var/lib"}
    cases = " ".join(f'{path}) echo "{line}" ;;' for path, line in answers.items())
    script(tmp_path / "bin", "df", f'{lines} {cases} *) echo "/dev/a 1000 840 123 88% /" ;; esac')
    assert written(tmp_path, OF_MACHINE, "disks") == {
        f'{machine_alerts.DISK}{{mountpoint="/"}}': 0.123,
    }


def test_disks_of_this_host(tmp_path: Path) -> None:
    """With the real `df`, whose first answer is about the root of this host."""
    found = written(tmp_path, OF_MACHINE, "disks")
    assert f'{machine_alerts.DISK}{{mountpoint="/"}}' in found
    assert all(0 <= left <= 1 for left in found.values())


def member(root: Path) -> None:
    timer = put(root, f"{etcd.UNITS}/etcd-backup.timer", "")
    os.utime(timer, (1000, 1000))


def test_before_its_first_copy_etcd_is_asked_since_its_timer_exists(tmp_path: Path) -> None:
    member(tmp_path)
    assert written(tmp_path, OF_MASTER, "etcd") == {success("etcd-backup"): 1000, success("etcd-backup-test"): 1000}


def test_the_newest_copy_of_etcd_and_its_test(tmp_path: Path) -> None:
    member(tmp_path)
    for time in ("20261128T120000Z", "20261129T080312Z"):
        put(tmp_path, f"{etcd.BACKUP}/{time}.db", "")
        put(tmp_path, f"{etcd.BACKUP}/{time}.content", "")
    put(tmp_path, f"{etcd.BACKUP}/new", "")
    newest = {success("etcd-backup"): at("2026-11-29 08:03:12")}
    oldest = at("2026-11-28 12:00:00")
    assert written(tmp_path, OF_MASTER, "etcd") == newest | {success("etcd-backup-test"): oldest}, (
        "due since the oldest copy"
    )

    put(tmp_path, f"{etcd.BACKUP}/last-test", "restored 20261129T051500Z 20261129T050000Z.db\n")
    tested = {success("etcd-backup-test"): at("2026-11-29 05:15:00")}
    assert written(tmp_path, OF_MASTER, "etcd") == newest | tested
    put(tmp_path, f"{etcd.BACKUP}/failed-test", "failed 20261129T061500Z\n")
    failed = {f'{age_alerts.FAILURE}{{schedule="etcd-backup-test"}}': at("2026-11-29 06:15:00")}
    assert written(tmp_path, OF_MASTER, "etcd") == newest | tested | failed


def test_the_newest_copy_in_the_object_store_is_told_where_copies_are_made(tmp_path: Path) -> None:
    member(tmp_path)
    put(tmp_path, f"{etcd.BACKUP}/last-copy", "copied 20261129T080312Z\n")
    name = success(backup_copies.NAME)
    assert name not in written(tmp_path, OF_MASTER, "etcd"), "of a stack that had copies before"
    unit = put(tmp_path, f"{etcd.UNITS}/{backup_copies.NAME}.service", "")
    os.utime(unit, (2000, 2000))
    assert written(tmp_path, OF_MASTER, "etcd")[name] == at("2026-11-29 08:03:12")
    (tmp_path / etcd.BACKUP.lstrip("/") / "last-copy").unlink()
    assert written(tmp_path, OF_MASTER, "etcd")[name] == 2000, "due since the unit exists"


def test_schedules_of_the_cluster(tmp_path: Path) -> None:
    script(tmp_path / "bin", "kubectl", KUBECTL)
    put(
        tmp_path,
        "cronjobs",
        "schedule mysqld-backup 2026-11-01T00:00:00Z 0\nComplete 2026-11-28T02:31:00Z\n"
        "schedule mysqld-backup-test 2026-11-02T00:00:00Z 0\nschedule mysqld-restore 2026-11-03T00:00:00Z 1\n",
    )
    put(
        tmp_path,
        "jobs",
        "job mysqld-backup\nSuccessCriteriaMet 2026-11-29T01:00:03Z\nComplete 2026-11-29T01:00:01Z\n"
        "job mysqld-backup\nComplete 2026-11-27T01:00:00Z\n"
        "job mysqld-backup-test\nFailed 2026-11-29T09:20:00Z\njob mysqld-backup-test\nFailed 2026-11-28T09:20:00Z\n"
        "job\nComplete 2026-11-28T00:00:00Z\njob mysqld-backup-test\n",
    )
    found = written(tmp_path, OF_MASTER, "cronjobs", "openstack")
    assert found == {
        success("mysqld-backup"): at("2026-11-29 01:00:01"),
        success("mysqld-backup-test"): at("2026-11-02 00:00:00"),
        success("mysqld-restore"): at("2026-11-03 00:00:00"),
        f'{age_alerts.FAILURE}{{schedule="mysqld-backup-test"}}': at("2026-11-29 09:20:00"),
        f'{age_alerts.SUSPENDED}{{schedule="mysqld-backup"}}': 0,
        f'{age_alerts.SUSPENDED}{{schedule="mysqld-backup-test"}}': 0,
        f'{age_alerts.SUSPENDED}{{schedule="mysqld-restore"}}': 1,
    }

    script(tmp_path / "bin", "kubectl", "exit 1")
    assert written(tmp_path, OF_MASTER, "cronjobs", "openstack", code=1) == found, "the last answer stays, with its age"


def test_restored_tests_of_copies_in_the_object_store(tmp_path: Path) -> None:
    """Names of databases are words: one may begin with another's. Without the ConfigMap, none was tested yet."""
    script(tmp_path / "bin", "kubectl", KUBECTL)
    lines = (
        "etcd.failed 2026-11-29T05:15:00Z etcd/master1/20261129T043312Z",
        "etcd.restored 2026-11-01T05:15:00Z etcd/master2/20261101T043312Z",
        "neutron-mysqld.restored 2026-11-28T08:00:00Z galera/neutron-mysqld/20261128T020000Z",
    )
    put(tmp_path, "copies", "\n".join(lines) + "\n")
    words = ("copies", "openstack", "mysqld", "neutron-mysqld", "etcd")
    never = {success(age_alerts.copy_test(each)): 0 for each in words[2:]}
    assert written(tmp_path, OF_MASTER, *words) == never | {
        success("neutron-mysqld-copy-test"): at("2026-11-28 08:00:00"),
        success("etcd-copy-test"): at("2026-11-01 05:15:00"),
        f'{age_alerts.FAILURE}{{schedule="etcd-copy-test"}}': at("2026-11-29 05:15:00"),
    }
    put(tmp_path, "copies", "")
    assert written(tmp_path, OF_MASTER, *words) == never
    assert f"get configmap {COPY_TESTS} " in OF_MASTER.read_text(encoding="utf-8")


def test_conditions_of_nodes_that_are_as_they_should_not_be(tmp_path: Path) -> None:
    script(tmp_path / "bin", "kubectl", KUBECTL)
    put(
        tmp_path,
        "nodes",
        "node a\nMemoryPressure False\nReady True\nnode b\nDiskPressure True\nReady True\nnode c\nReady Unknown\n",
    )
    assert written(tmp_path, OF_MASTER, "nodes") == {
        f'{machine_alerts.CONDITION}{{node="b",condition="DiskPressure"}}': 1,
        f'{machine_alerts.CONDITION}{{node="c",condition="NotReady"}}': 1,
    }


def test_quorum_queues_of_each_cluster(tmp_path: Path) -> None:
    """The second member answers, as RabbitMQ 4.0.5 did; one of its queues has a name like a key. Then none answers."""
    script(tmp_path / "bin", "kubectl", KUBECTL)
    put(tmp_path, machine_metrics.QUEUES, replicated_queues.OF_MAJORITY)
    named = json.dumps(["queue '\"all\":7' in vhost 'nova'"])
    value = f'{{"all":12,"lost":1,"named":{named},"reduced":3,"led":{{"rabbit@a":12,"rabbit@b":0}}}}'
    put(tmp_path, "queues", f'{{"node":"rabbit@b","result":"ok","value":{value}}}\n')
    words = ("rabbitmq", "openstack", "rabbitmq", "neutron-rabbitmq")
    assert written(tmp_path, OF_MASTER, *words) == {
        metric: value
        for cluster in ("rabbitmq", "neutron-rabbitmq")
        for metric, value in {
            f'{machine_alerts.QUEUES}{{cluster="{cluster}",kind="all"}}': 12,
            f'{machine_alerts.QUEUES}{{cluster="{cluster}",kind="lost"}}': 1,
            f'{machine_alerts.QUEUES}{{cluster="{cluster}",kind="reduced"}}': 3,
            f'{machine_alerts.BROKER_ANSWERS}{{cluster="{cluster}"}}': 1,
        }.items()
    }
    unknown = {f'{machine_alerts.BROKER_ANSWERS}{{cluster="rabbitmq"}}': 0}
    put(tmp_path, "queues", "an answer in another form\n")
    assert written(tmp_path, OF_MASTER, *words[:3]) == unknown
    (tmp_path / "queues").unlink()
    assert written(tmp_path, OF_MASTER, *words[:3]) == unknown


def test_an_api_server_that_does_not_answer_says_nothing_about_quorums(tmp_path: Path) -> None:
    script(tmp_path / "bin", "kubectl", "exit 1")
    put(tmp_path, machine_metrics.QUEUES, replicated_queues.OF_MAJORITY)
    before = put(tmp_path, "var/lib/quorate/metrics/rabbitmq.prom", "what_was_known 1\n")
    assert written(tmp_path, OF_MASTER, "rabbitmq", "openstack", "rabbitmq", code=1) == {"what_was_known": 1}
    assert before.exists()


def test_certificates_of_the_cluster_s_entry(tmp_path: Path) -> None:
    script(tmp_path / "bin", "kubectl", KUBECTL)
    encoded = base64.b64encode(MEMBER.public.encode()).decode()
    put(tmp_path, "secrets", f"openstack-tls {encoded}\nbroken <no value>\n")
    found = written(tmp_path, OF_MACHINE, "secrets", "openstack")
    assert found == {
        f'{age_alerts.ENTRY}{{secret="openstack-tls"}}': ENDS,
        f'{age_alerts.ENTRY}{{secret="broken"}}': 0,
    }
    put(tmp_path, "secrets", "")
    assert written(tmp_path, OF_MACHINE, "secrets", "openstack") == {}


@pytest.mark.parametrize("program", [OF_MACHINE, OF_MASTER], ids=lambda each: each.stem)
def test_a_wrong_word_is_refused_before_anything_is_written(tmp_path: Path, program: Path) -> None:
    done = subprocess.run(
        ["sh", str(program), "everything"], env={"ROOT": str(tmp_path)}, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())


def commands(made: Plan, name: str) -> list[str]:
    node = next(each for each in made.machines if each.name == name)
    found = filled(machine_files.parts(made, node, CERTIFICATES), variables(node))
    unit = found.get("/etc/systemd/system/quorate-metrics.service", "")
    words = (line.partition("=/usr/local/lib/quorate/") for line in unit.splitlines())
    return [command for name, _, command in words if name == "ExecStart"]


def test_each_machine_writes_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("machine-metrics secrets", "master-metrics cronjobs", "master-metrics workloads")
    queues = "master-metrics rabbitmq openstack rabbitmq"
    of_masters = [
        *(f"{each} openstack" for each in words),
        "master-metrics nodes",
        queues,
    ]
    assert commands(DEV, "master1") == [
        "machine-metrics certificates",
        "machine-metrics disks",
        "master-metrics etcd",
        *of_masters,
    ]
    assert commands(DEV, "messaging1") == ["machine-metrics certificates", "machine-metrics disks"]
    assert commands(PHYSICAL, "master1") == ["machine-metrics certificates", "machine-metrics disks", *of_masters]
    assert commands(PHYSICAL, "etcd1") == [], "no node, and so no node-exporter"
    further = plan(parsed(full_size("100", **two_brokers())))
    assert f"{queues} neutron-rabbitmq events-rabbitmq" in commands(further, further.masters[0].name)
    stored = plan(parsed(full_size("100", backups=COPIES)))
    assert "master-metrics copies openstack mysqld etcd" in commands(stored, stored.masters[0].name)
    monkeypatch.setattr(machine_metrics, "READER", "a process that the stack has not")
    assert commands(DEV, "master1") == []


def test_the_unit_ends_before_its_timer_starts_it_again() -> None:
    unit = machine_metrics.unit(DEV, DEV.masters[0])
    assert "TimeoutStartSec=4min\n" in unit
    assert "OnCalendar=*:0/5\n" in machine_metrics.TIMER
    assert "Environment=HOME=/root\n" in unit


def test_node_exporter_reads_the_directory_that_machines_write() -> None:
    (exporter,) = [each for each in own_records()["prometheus"].processes if each.name == machine_metrics.READER]
    (path,) = [each for each in exporter.containers[0].host_paths if each.name == "metrics"]
    assert all(f"METRICS=$ROOT{path.path}\n" in each.read_text() for each in (OF_MACHINE, OF_MASTER))
    assert (path.mount, path.read_only) == ("/host/metrics", True)


@pytest.mark.parametrize("word", ["etcd-backup", "etcd-backup-test"])
def test_schedules_of_etcd_have_the_names_of_their_timers(word: str) -> None:
    assert f"{etcd.UNITS}/{word}.timer" in {
        each.path for each in etcd.parts(DEV.masters[0], DEV.members, CERTIFICATES).files
    }
