"""Trials of replaced passwords: under load, the old account must work until the new one is in use, and not afterwards.

Each generation of a password has its own account. The trials run the account jobs of three renderings of a stack:
generation 1; generation 2 while generation 1 is still valid; generation 2 alone.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from trials.services import galera, rabbitmq
from trials.services.containers import TriedContainer
from trials.services.testbed import Broken, ServiceMachine, ServiceTestbed, place, require
from trials.trial_report import Proof

_TABLES = """\
CREATE TABLE keystone.account (id INT PRIMARY KEY, balance INT NOT NULL);
CREATE TABLE keystone.transfer (number BIGINT PRIMARY KEY);
CREATE TABLE keystone.list (id BIGINT PRIMARY KEY, numbers TEXT NOT NULL);
"""


def database(root: Path, container: TriedContainer, jobs: Sequence[TriedContainer]) -> Proof:
    """Replaces Keystone's account in MariaDB under write load. Returns the result.

    `jobs`: the job keystone-databases of the three renderings.
    """
    with ServiceTestbed(root) as testbed:
        cluster = galera.GaleraCluster(testbed, container)
        galera.begin(cluster)
        worker = testbed.add("job")
        testbed.name_services(galera.DOMAIN, {"proxysql": cluster.members["mysqld-0"]})
        started, notes, problem = time.monotonic(), list[str](), ""
        run_job(worker, jobs[0])
        values = ",".join(f"({number},0)" for number in range(galera.ACCOUNTS))
        cluster.sql("mysqld-0", f"{_TABLES}INSERT INTO keystone.account VALUES {values}")  # noqa: S608
        cluster.database = "keystone"
        load = galera.Load(cluster)
        try:
            notes += _database_account_replaced(cluster, load, worker, jobs)
        except (TimeoutError, Broken) as error:
            problem = str(error)
        lost, wrong = galera.contradictions(cluster, load.said)
    notes.append(f"{list(load.said.values()).count('unknown')} transfers broken off")
    return Proof(
        "Rotation: an account of MariaDB is replaced under write load", len(load.said), _count(load.said), lost,
        round(time.monotonic() - started, 1), tuple(notes), problem or "; ".join(wrong),
    )  # fmt: skip


def _database_account_replaced(
    cluster: galera.GaleraCluster, load: galera.Load, worker: ServiceMachine, jobs: Sequence[TriedContainer]
) -> list[str]:
    cluster.user, cluster.password = old = _database_account(jobs[0])
    load.start()
    load.more()
    made = run_job(worker, jobs[1])
    load.more()
    before = _count(load.stop())
    require(_logs_in(cluster, *old), "the old account is refused while both generations are valid")
    cluster.user, cluster.password = _database_account(jobs[1])
    load.start()
    load.more()
    run_job(worker, jobs[2])
    load.more()
    after = _count(load.stop())
    require(not _logs_in(cluster, *old), "the old account still works")
    users = cluster.sql("mysqld-2", "SELECT user FROM mysql.global_priv WHERE user LIKE 'keystone%'").split()
    require(users == [cluster.user], f"accounts: {users}")
    return [
        f"{before} transfers with the old account, while the new one was made in {made:.1f} s",
        f"{after} transfers with the new account, while the old one was removed; it is refused afterwards",
    ]


def messaging(root: Path, container: TriedContainer, jobs: Sequence[TriedContainer]) -> Proof:
    """Replaces Nova's account in RabbitMQ under load. Returns the result.

    `jobs`: the job nova-messaging of the three renderings.
    """
    with ServiceTestbed(root) as testbed:
        cluster = rabbitmq.RabbitmqCluster(testbed, container)
        cluster.start(*cluster.members)
        cluster.wait_ready(*cluster.members)
        worker = testbed.add("job")
        testbed.name_members(f"{cluster.name}-members", rabbitmq.DOMAIN, list(cluster.members))
        started, notes, said, problem = time.monotonic(), list[str](), dict[int, str](), ""
        run_job(worker, jobs[0])
        cluster.vhost = "nova"
        try:
            notes += _messaging_account_replaced(cluster, worker, jobs, said)
        except (TimeoutError, Broken) as error:
            problem = str(error)
        there = set[int]() if problem else set(cluster.drained())
    lost = 0 if problem else len({number for number, answer in said.items() if answer == "ok"} - there)
    notes.append(f"{list(said.values()).count('unknown')} messages broken off")
    return Proof(
        "Rotation: an account of RabbitMQ is replaced under load", len(said), _count(said), lost,
        round(time.monotonic() - started, 1), tuple(notes), problem,
    )  # fmt: skip


def _messaging_account_replaced(
    cluster: rabbitmq.RabbitmqCluster, worker: ServiceMachine, jobs: Sequence[TriedContainer], said: dict[int, str]
) -> list[str]:
    cluster.user, cluster.password = "nova", jobs[0].variables["PASSWORD"]
    cluster.load()
    cluster.more()
    made = run_job(worker, jobs[1])
    cluster.more()
    first = cluster.end_load()
    both = _users(cluster)
    require(both == ["nova", "nova_g2"], f"accounts while both generations are valid: {both}")
    cluster.user, cluster.password = "nova_g2", jobs[1].variables["PASSWORD"]
    cluster.load()
    cluster.more()
    run_job(worker, jobs[2])
    cluster.more()
    second = cluster.end_load()
    said |= first | second
    require(_users(cluster) == ["nova_g2"], f"accounts afterwards: {_users(cluster)}")
    return [
        f"{_count(first)} messages with the old account, while the new one was made in {made:.1f} s",
        f"{_count(second)} messages with the new account, while the old one was removed",
    ]


def _users(cluster: rabbitmq.RabbitmqCluster) -> list[str]:
    return sorted(re.findall(r"^nova\S*", cluster.control("rabbitmq-2", "list_users"), re.MULTILINE))


def run_job(machine: ServiceMachine, job: TriedContainer) -> float:
    """Runs an account job as Kolla's start script does. Returns its duration in seconds. Raises Broken if it fails."""
    started = time.monotonic()
    command = place(machine, job, owner="root")
    variables = [f"{name}={value}" for name, value in job.variables.items()]
    try:
        machine.run(["env", *variables, *command], seconds=120)
    except subprocess.CalledProcessError as error:
        raise Broken(f"{job.name} failed: {error.stderr[-500:]}") from None
    return time.monotonic() - started


def _database_account(job: TriedContainer) -> tuple[str, str]:
    found = re.search(r"ALTER USER '(\w+)'@'%' IDENTIFIED BY '([^']+)'", job.text("/etc/mysql/account.sql"))
    require(found is not None, "the job sets no password")
    return (found[1], found[2]) if found else ("", "")


def _logs_in(cluster: galera.GaleraCluster, user: str, password: str) -> bool:
    machine = cluster.members["mysqld-1"]
    machine.write("/tmp/account.cnf", f"[client]\nuser = {user}\npassword = {password}\n")  # noqa: S108
    command = ["mariadb", "--defaults-file=/tmp/account.cnf", "--protocol=tcp", "-h", machine.address, "-e", "SELECT 1"]
    return bool(machine.run(command, check=False))


def _count(said: Mapping[int, str]) -> int:
    """Returns the number of acknowledged writes. `said`: the outcome of each write, by the write's number."""
    return list(said.values()).count("ok")
