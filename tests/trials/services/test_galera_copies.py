"""Real members of Galera: what is left of a cloud is a copy in an object store, and new members get its data."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from cluster.kubeconfig import Access
from cluster.objects import Object
from cluster.pod_exec import CommandOutput, PodContainer
from commands.live.backup_copies import CopyStore
from console.errors import UserError
from openstack import scripts
from openstack.backup_store import KEY
from openstack.config.wiring import ENVIRONMENT, wiring
from operations import action_job, wholeness_wait
from operations.actions import of_plan
from operations.live_cluster import LiveCluster
from operations.living.quorum import LivingMember, LivingQuorum
from operations.restoration import copy_test, galera_source
from operations.restoration.galera_restoration import GaleraRestoration
from operations.restoration.galera_source import named, require_whole
from tests.fakes import script
from tests.object_store import object_store
from tests.openstack.scripts.test_backup_store import texts
from tests.operations.restoration.galera_cloud import GaleraCloud, use_galera
from tests.stacks import STACKS
from trials.services.containers import TriedContainer
from trials.services.galera import DOMAIN, SERVICE, START, GaleraCluster, Load, begin, contradictions
from trials.services.galera_backup import BACKUP, BACKUPS, MEMBER, RESTORE, run_job
from trials.services.testbed import ServiceTestbed

pytestmark = [pytest.mark.waits, pytest.mark.heavy]

PLAN = plan(load_file(STACKS["dev"]))


class RealGalera(GaleraCloud):
    """A cluster in the test bed in place of the pods of mysqld, its Jobs, and the pod with the volume of backups."""

    def __init__(self, cluster: GaleraCluster, containers: Mapping[str, TriedContainer], directory: Path) -> None:
        super().__init__()
        self.bed, self.containers, self.directory = cluster, containers, directory

    def scale(self, replicas: int) -> None:
        super().scale(replicas)
        if replicas:
            self.bed.name()
            self.bed.start(*self.bed.members)
        else:
            self.bed.stop(*self.bed.members)
            self.bed.testbed.name_members(SERVICE, DOMAIN, [])
            # Without pods, the name of a headless Service does not exist. In the test bed, /etc/hosts has all names.
            self.bed.members[MEMBER].run(["sed", "-i", "s/^hosts:.*/hosts: files/", "/etc/nsswitch.conf"])

    def job_of_restoration(self, method: str, body: Object) -> Object:
        if method == "POST":
            chosen = body["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"]
            code, said = run_job(self.bed.members[MEMBER], self.containers[RESTORE], {action_job.CHOICE: chosen})
            print(said)
            self.job_ends = "Failed" if code else "Complete"
        return super().job_of_restoration(method, body)

    def receive(
        self,
        _access: Access,
        place: PodContainer,
        command: Sequence[str],
        _seconds: float,
        given: Iterable[bytes] | None = None,
    ) -> CommandOutput:
        del place
        archive = self.directory / "archive"
        archive.write_bytes(b"".join(given or ()))
        machine = self.bed.members[MEMBER]
        machine.place_file(archive, "/archive")
        words = ["sh", "-c", '"$@" </archive 2>&1; echo $?', "sh", *command]
        *said, code = machine.run(words, user="mysql", seconds=START).splitlines()
        return CommandOutput("", "\n".join(said), int(code))

    def read_quorum(self, _cluster: LiveCluster, quorum: str, pods: Sequence[Object]) -> LivingQuorum:
        del pods
        members: list[LivingMember] = []
        for each in self.bed.members:
            self.bed.restart(each)
            status, said = self.bed.state(each)
            members.append(LivingMember(each, counts=status == 200, says=said))
        return LivingQuorum(quorum, "galera", tuple(members), serves=True)


def test_new_members_get_the_data_of_a_copy(
    root: Path, containers: Mapping[str, TriedContainer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with object_store() as store:
        account = tmp_path / "store"
        account.mkdir()
        for name, text in texts(store.endpoint).items():
            (account / name).write_text(text)
        with ServiceTestbed(root) as testbed:
            copy, saved = _saved_and_copied(GaleraCluster(testbed, containers["mysqld/mariadb"]), containers, account)
        monkeypatch.setenv("PATH", f"{_programs(root, tmp_path / 'bin')}:{os.environ['PATH']}")
        _test_of_the_copy(_fetched(copy, account, tmp_path / "tested"))
        with ServiceTestbed(root) as testbed:
            cluster = GaleraCluster(testbed, containers["mysqld/mariadb"])
            cluster.start(*cluster.members)
            cluster.wait_ready(*cluster.members)
            cluster.members[MEMBER].own(BACKUPS, "mysql")
            cloud = RealGalera(cluster, containers, tmp_path)
            use_galera(monkeypatch, cloud)
            monkeypatch.setattr(wholeness_wait, "RETURN", START)
            monkeypatch.setattr(wholeness_wait, "PAUSE", 1.0)
            began = time.monotonic()
            _restoration(cloud, copy, account, tmp_path).run(print)
            print(f"restored in {time.monotonic() - began:.0f} s")
            assert contradictions(cluster, saved) == (0, [])
            assert [
                name for name, each in cluster.members.items() if "bootstrap: most advanced" in each.tail(5000)
            ] == [MEMBER]
            for member in cluster.members:
                count = cluster.sql(member, "SELECT COUNT(*) FROM bank.transfer")
                print(f"{member} has {count.strip()} of {len(saved)} transfers that were begun")


def _saved_and_copied(
    cluster: GaleraCluster, containers: Mapping[str, TriedContainer], account: Path
) -> tuple[str, dict[int, str]]:
    """Writes to a cluster, backs it up, and puts the backup into the store. Returns the copy and the transfers."""
    machine, load = cluster.members[MEMBER], Load(cluster)
    begin(cluster)
    machine.own(BACKUPS, "mysql")
    load.start()
    load.more(200)
    saved = load.stop()
    code, said = run_job(machine, containers[BACKUP])
    assert code == 0, said
    # The image of the Job that copies has curl, and the root of the test bed has none: the host runs its program.
    directory = cluster.testbed.directory / MEMBER / "own/upper" / BACKUPS.lstrip("/")
    (backup,) = (each for each in directory.iterdir() if each.name.endswith("Z"))
    key = account / KEY
    key.rename(account.parent / KEY)
    program = account / "program"
    program.write_text(scripts.text("backup_store.sh"))
    words = ["sh", str(program), "put", f"galera/mysqld/{backup.name}", str(directory), backup.name]
    subprocess.run(words, env={"STORE": str(account), "PATH": "/usr/bin:/bin"}, check=True)
    (account.parent / KEY).rename(key)
    return f"galera/mysqld/{backup.name}", saved


def _programs(root: Path, directory: Path) -> Path:
    """Returns a directory with MariaDB's programs of the root, which run on this host with their own libraries."""
    directory.mkdir()
    loader = f"{root}/lib64/ld-linux-x86-64.so.2 --library-path {root}/usr/lib/x86_64-linux-gnu"
    for path, options in (
        ("usr/sbin/mariadbd", f" --lc-messages-dir={root}/usr/share/mysql"),
        ("usr/bin/mariadb", ""),
        ("usr/bin/mariadb-backup", ""),
    ):
        script(directory, Path(path).name, f'exec {loader} {root}/{path} "$@"{options}')
    return directory


def _test_of_the_copy(backup: Path) -> None:
    """As `quorate copies --test galera/mysqld` does: a sound copy is restored, and a changed byte is noticed."""
    copy_test.require_programs(galera_source.KIND)
    began = time.monotonic()
    print(f"restored on this host and compared: {copy_test.of_galera(backup)}, {time.monotonic() - began:.0f} s")
    assert sorted(each.name for each in backup.parent.iterdir()) == [backup.name]
    table = backup / "data/bank/transfer.ibd"
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    with pytest.raises(UserError, match=r"other content than when it was made in data/bank/transfer\.ibd"):
        copy_test.of_galera(backup)


def _fetched(copy: str, account: Path, target: Path) -> Path:
    target.mkdir()
    CopyStore(account).fetch(copy, target)
    return target / copy.rpartition("/")[2]


def _restoration(cloud: RealGalera, copy: str, account: Path, directory: Path) -> GaleraRestoration:
    actions = {each.name: each for each in of_plan(PLAN)}
    members = wiring(PLAN, ENVIRONMENT).members("mysqld")

    def fetch() -> Path:
        backup = _fetched(copy, account, directory / "copies")
        require_whole(backup, members)
        return backup

    restores, tests = actions["mysqld-restore"], actions["mysqld-backup-test"]
    return GaleraRestoration(cloud.cluster(), "dev", named("mysqld", copy), members, MEMBER, restores, tests, fetch)
