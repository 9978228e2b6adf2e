"""Trial of Galera's backup: runs the rendered jobs, and checks every write that was acknowledged before the backup.

In a cluster, the pods of these jobs mount the data of one member. In the test bed, they run on the member's machine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from trials.services import galera
from trials.services.containers import TriedContainer
from trials.services.galera import DOMAIN, SERVICE, START, GaleraCluster, Load, begin, contradictions
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed, place, require
from trials.trial_report import Proof

BACKUP, RESTORE = "mysqld-backup/mysqld-backup", "mysqld-restore/mysqld-restore"
COMPARE = "mysqld-backup-test/mysqld-backup-test"
MEMBER = "mysqld-2"
"""The member whose data the jobs mount."""
DATA, BACKUPS = "/var/lib/mysql", "/var/lib/mysql-backup"
_SIZE = "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'"


def prove(root: Path, containers: Mapping[str, TriedContainer]) -> list[Proof]:
    """Backs up a Galera cluster under load, destroys all data, and restores the backup. Returns the result.

    Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = GaleraCluster(testbed, containers["mysqld/mariadb"])
        load = Load(cluster)
        notes = begin(cluster)
        cluster.members[MEMBER].own(BACKUPS, "mysql")
        started, saved, problem, lost = time.monotonic(), dict[int, str](), "", 0
        try:
            saved = _back_up_and_destroy(cluster, load, containers, notes)
            _restore(cluster, containers[RESTORE], notes)
            lost, wrong = contradictions(cluster, saved)
            problem = "; ".join(wrong)
            load.start()
            load.more(seconds=START)
            load.stop()
        except (TimeoutError, Broken) as error:
            problem = str(error)
        acknowledged = list(saved.values()).count("ok")
        seconds = round(time.monotonic() - started, 1)
        name = "Galera: a backup under load is restored after all data was destroyed"
        return [Proof(name, len(load.said), acknowledged, lost, seconds, tuple(notes), problem)]


def _back_up_and_destroy(
    cluster: GaleraCluster, load: Load, containers: Mapping[str, TriedContainer], notes: list[str]
) -> dict[int, str]:
    """Backs up under load, then drops all data. Returns the transfers that were acknowledged before the backup began.

    Adds texts for the report to `notes`.
    """
    job = containers[BACKUP]
    load.start()
    load.more(200)
    saved = dict.fromkeys(load.acknowledged_numbers(), "ok")
    began = time.monotonic()
    code, said = run_job(cluster.members[MEMBER], job)
    require(code == 0, f"the backup failed: {said}")
    notes.append(f"the backup took {time.monotonic() - began:.1f} s under load: {said.splitlines()[-1]}")
    notes.append(f"transfers went on after {load.more():.1f} s")
    code, said = run_job(cluster.members[MEMBER], containers[RESTORE])
    require(code == 1 and "is alive" in said, f"a running cluster was not protected: {said}")
    load.stop()
    _compare(cluster, containers[COMPARE], notes)
    cluster.sql("mysqld-0", "DROP DATABASE bank; CREATE DATABASE bank; DROP USER client@'%'")
    cluster.wait_ready(MEMBER)
    time.sleep(1)  # the names of backups are times in seconds
    code, said = run_job(cluster.members[MEMBER], job)
    require(code == 0, f"the second backup failed: {said}")
    return saved


def _compare(cluster: GaleraCluster, job: TriedContainer, notes: list[str]) -> None:
    """Restores the backup to a scratch copy beside the running cluster, then damages the backup in three ways.

    Raises Broken if the test of a sound backup fails, or that of a damaged one does not.
    """
    machine = cluster.members[MEMBER]
    code, said = run_job(machine, job)
    require(code == 0 and "was restored and has its content" in said, f"the test of a sound backup failed: {said}")
    notes.append(said.splitlines()[-1])
    sizes = cluster.sql("mysqld-0", _SIZE).split()[-1]
    require(sizes == str(len(cluster.members)), f"size of the cluster after the test: {sizes}")
    for how, (script, expected) in _DAMAGES.items():
        machine.run(["sh", "-ec", _DAMAGED.format(script)], user="mysql")
        code, said = run_job(machine, job)
        machine.run(["sh", "-ec", f"cd {BACKUPS}; rm -r *Z; mv /tmp/sound $(cat name); rm name"], user="mysql")
        require(code == 1 and expected in said, f"the test of a backup with {how} ended with {code}: {said}")
        notes.append(f"the test of a backup with {how} failed: {said.splitlines()[0]}")
    left = machine.run(["sh", "-c", f"ls {BACKUPS}"]).split()
    require("scratch" not in left, f"left beside the backups: {left}")


_DAMAGED = f"cd {BACKUPS}; ls -d *Z >name; cp -r *Z /tmp/sound; cd *Z; {{}}"
_SIGNED = "find data -type f -exec sha256sum {} + >files.sha256"
_DAMAGES = {
    "a byte that changed in a file": (
        "printf x | dd of=data/bank/transfer.ibd bs=1 seek=70000 conv=notrunc",
        "other content than when it was made in data/bank/transfer.ibd",
    ),
    "a page that changed before its digest was taken": (
        # The root page of the table's only index: page 3, of 16 KiB.
        f"head -c 4000 /dev/zero | dd of=data/bank/transfer.ibd bs=1 seek=49200 conv=notrunc; {_SIGNED}",
        "the restored copy has damaged tables: bank.transfer",
    ),
    "a table that the member had and the backup does not": (
        f'sed -i \'s#"tables": {{#&"bank/other": 5, #\' backup.json; {_SIGNED}',
        "the restored copy lacks bank/other",
    ),
}
"""Ways to damage a backup: a shell script that is run in it, and what the test says."""


def _restore(cluster: GaleraCluster, job: TriedContainer, notes: list[str]) -> None:
    """Restores the first backup, because the second one was taken after the data was destroyed."""
    machine = cluster.members[MEMBER]
    cluster.stop(*sorted(cluster.members))
    names = sorted(machine.run(["sh", "-c", f"cd {BACKUPS} && ls -d *Z"]).split())
    require(len(names) == 2, f"backups: {names}")
    code, said = run_job(machine, job)
    require(code == 1 and "is alive" in said, f"members that have addresses were not noticed: {said}")
    cluster.testbed.name_members(SERVICE, DOMAIN, [])
    # Without pods, the DNS name of a headless Service does not exist. In the test bed, only /etc/hosts resolves names.
    machine.run(["sed", "-i", "s/^hosts:.*/hosts: files/", "/etc/nsswitch.conf"])
    began = time.monotonic()
    code, said = run_job(machine, job, {"BACKUP": names[0]})
    require(code == 0, f"the restoration failed: {said}")
    restored = time.monotonic() - began
    cluster.name()
    cluster.start(*sorted(cluster.members))
    seconds = cluster.wait_ready(*cluster.members)
    bootstrapped = [name for name in cluster.members if "bootstrap: most advanced" in cluster.members[name].tail(5000)]
    sizes = {name: cluster.sql(name, _SIZE).split()[-1] for name in cluster.members}
    require(set(sizes.values()) == {str(len(cluster.members))}, f"sizes of the cluster: {sizes}")
    require(bootstrapped == [MEMBER], f"bootstrapped by {bootstrapped}")
    notes.append(f"restored {names[0]} in {restored:.1f} s; all were ready {seconds:.0f} s after they started")
    notes.append(f"{MEMBER} bootstrapped, and the others took its data over")


def run_job(
    machine: ServiceMachine, job: TriedContainer, variables: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Runs a backup or restoration job in a member's machine. Returns the job's exit code and log.

    As in the job's pod, the member's data is read-only for the backup.
    """
    command = place(machine, job)
    assigned = [f"{name}={value}" for name, value in (variables or {}).items()]
    script = 'env "$@" 2>&1; echo $?'
    read_only = DATA if job.workload == BACKUP.partition("/")[0] else ""
    said = machine.run(
        ["sh", "-c", script, "sh", *assigned, *command], user="mysql", seconds=galera.START, read_only=read_only
    )
    *lines, code = said.splitlines()
    return int(code), "\n".join(lines)
