"""A Galera on real kubelets is restored: from the volume of its backups, and from a copy that was fetched.

The members are pods of a StatefulSet with volumes, the backup is a Job of the stack's CronJob, and the restoration is
the code of `quorate restore mysqld`. The object store is left out: the copy is where the command puts what it fetched.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from cluster.objects import at, listed, mapping
from commands.live import backup_copies, connection
from console.progress import duration
from contract import ADMINISTRATOR
from operations.living.galera import CLIENT
from tests.stacks import ROOT
from tests.trials.machines import by_hand
from tests.trials.machines.changing_lab import until
from tests.trials.machines.small_lab import STACK, SmallLab, small_lab
from trials.cloud import masters, network, nspawn
from trials.cloud.client import NAMESPACE
from trials.cloud.drill import readiness, workloads

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

LIMIT = 900.0
"""Seconds for a backup, and for a restoration."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[SmallLab]:
    with small_lab(tmp_path_factory.mktemp("lab")) as lab:
        file = connection.own_kubeconfig(lab.directory, STACK)
        file.parent.mkdir(parents=True)
        file.write_text(masters.kubeconfig(lab.lab, ADMINISTRATOR), encoding="utf-8")
        sql(lab, 0, "CREATE DATABASE trial; CREATE TABLE trial.written (number INT PRIMARY KEY) ENGINE=InnoDB")
        yield lab
    by_hand.require_nothing_left()


def test_a_backup_in_the_volume_is_restored_by_two_runs(running: SmallLab) -> None:
    """The first run is killed when it replaces the data: the members are stopped, and nothing else is done."""
    write(running, range(100))
    backed_up(running)
    write(running, range(100, 200))
    with started(running, "") as killed:
        assert any("replace the data of one" in line for line in killed.stdout or ())
        killed.kill()
    restore(running, "")
    assert every_member(running) == [set(range(100))] * 3
    until("the APIs serve", lambda: serves(running), LIMIT)


def test_a_copy_is_restored_through_a_pod(running: SmallLab) -> None:
    """The volume of backups has lost it."""
    write(running, range(300, 400))
    backup = backed_up(running)
    move_out_of_the_volume(running, backup)
    write(running, range(400, 500))
    restore(running, f"galera/mysqld/{backup}")
    assert every_member(running) == [{*range(100), *range(300, 400)}] * 3
    until("the APIs serve", lambda: serves(running), LIMIT)


def sql(running: SmallLab, ordinal: int, statement: str) -> str:
    """Returns what a member answers to a statement."""
    words = ["exec", f"mysqld-{ordinal}", f"--namespace={NAMESPACE}", "--", *CLIENT.split(), statement]
    done = masters.kubectl(running.lab, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(running: SmallLab, numbers: range) -> None:
    """Writes rows in a transaction each. Each is acknowledged."""
    for number in numbers:
        sql(running, number % 3, f"INSERT INTO trial.written VALUES ({number})")  # noqa: S608 - a number


def every_member(running: SmallLab) -> list[set[int]]:
    """Returns the rows that each member has."""
    asked = "SELECT number FROM trial.written"
    return [{int(each) for each in sql(running, ordinal, asked).split()} for ordinal in range(3)]


def backed_up(running: SmallLab) -> str:
    """Runs the backup's CronJob by hand, as `quorate action` prints it for a rendered stack. Returns its name."""
    words = ["create", "job", "by-hand", f"--namespace={NAMESPACE}", "--from=cronjob/mysqld-backup"]
    assert masters.kubectl(running.lab, *words).returncode == 0
    job = ["job/by-hand", f"--namespace={NAMESPACE}"]
    awaited = ["wait", *job, "--for=condition=complete", f"--timeout={LIMIT:.0f}s"]
    done = masters.kubectl(running.lab, *awaited, timeout=LIMIT + 60)
    assert done.returncode == 0, masters.kubectl(running.lab, "logs", *job).stdout
    assert masters.kubectl(running.lab, "delete", *job).returncode == 0
    return max(path.parent.name for path in volume_of_backups(running).glob("*/backup.json"))


def volume_of_backups(running: SmallLab) -> Path:
    """Returns the directory of the volume of backups, as this host reaches it."""
    volumes = json.loads(masters.kubectl(running.lab, "get", "persistentvolumes", "--output=json").stdout)
    specs = [mapping(each, "spec") for each in listed(volumes, "items")]
    (spec,) = (each for each in specs if at(each, "claimRef", "name") == "mysqld-backup")
    (term,) = listed(spec, "nodeAffinity", "required", "nodeSelectorTerms")
    machine = running.lab.machine(listed(term, "matchExpressions")[0]["values"][0])
    return Path(f"/proc/{nspawn.leader(machine)}/root{at(spec, 'local', 'path')}")


def move_out_of_the_volume(running: SmallLab, backup: str) -> None:
    """Moves a backup to where the command puts what it fetches."""
    target = backup_copies.directory_of(running.directory, STACK, f"galera/mysqld/{backup}")
    shutil.move(volume_of_backups(running) / backup, target / backup)


def started(running: SmallLab, source: str) -> subprocess.Popen[str]:
    """Starts the restoration from a source."""
    program = [sys.executable, "-m", "tests.trials.machines.restore_program", str(running.directory), source]
    return subprocess.Popen(
        network.in_switch(program), cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def restore(running: SmallLab, source: str) -> None:
    """Restores the Galera, and prints what the command says and how long it took."""
    began = time.monotonic()
    with started(running, source) as process:
        said, _ = process.communicate()
    print(said, duration(time.monotonic() - began))
    assert process.returncode == 0


def serves(running: SmallLab) -> bool:
    """Whether all pods of the lab are ready; Keystone's ask its database. Raises UserError if some are not."""
    readiness.require(running.lab, {each.name: each.pods for each in workloads.expected(running.lab)})
    return True
