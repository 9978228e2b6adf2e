"""Copies of etcd's data, made and tested by the machine's script, with real members of etcd."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from components.k8s_master import backup_copies, etcd
from console.errors import UserError
from openstack import scripts
from openstack.backup_store import KEY
from operations.living import backups
from operations.living.answers import Answer
from operations.living.backups import LivingBackup
from operations.restoration import copy_test
from tests.object_store import object_store
from tests.openstack.scripts.test_backup_store import texts
from tests.proof.etcd_machines import Master, masters
from tests.proof.test_etcd_members import started

pytestmark = pytest.mark.waits


def copies(master: Master) -> Path:
    return master.root / "var/lib/etcd-backup"


def run(master: Master, command: str, code: int = 0) -> str:
    """Runs the script, with the endpoints that the unit has for its copies; the test has none."""
    pki = master.root / "etc/etcd/pki"
    variables = {"PATH": f"{master.root / 'bin'}:{os.environ['PATH']}", "ROOT": str(master.root)}
    if command == "keep":
        variables |= {"ETCDCTL_CACERT": f"{pki}/ca.crt", "ETCDCTL_CERT": f"{pki}/server.crt"}
        variables |= {"ETCDCTL_KEY": f"{pki}/server.key"}
        variables |= {"ETCDCTL_ENDPOINTS": f"https://{master.node.address}:{etcd.CLIENT_PORT}"}
    done = subprocess.run(
        ["sh", f"{master.root}{etcd.COPIES}", command], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def save(master: Master) -> None:
    """Saves and restores a copy, as the unit does first."""
    copies(master).mkdir(parents=True, exist_ok=True)
    shutil.rmtree(copies(master) / "restored", ignore_errors=True)
    master.etcdctl("snapshot", "save", str(copies(master) / "new"))
    master.etcdutl("snapshot", "restore", str(copies(master) / "new"), f"--data-dir={copies(master) / 'restored'}")


def asked(master: Master) -> LivingBackup:
    """What `quorate status` reads of the copies."""
    question = backups.QUESTION.replace(etcd.BACKUP, str(copies(master)))
    done = subprocess.run(["sh", "-c", question], capture_output=True, text=True, check=True)
    return backups.of_etcd({master.name: Answer({"backups": done.stdout})}).found[0]


@pytest.fixture
def first(tmp_path: Path, etcd_programs: list[Path]) -> Generator[Master]:
    """One of three members, with some keys."""
    with masters(tmp_path, etcd_programs) as made:
        found, *_ = started(made, 1, 2, 3)
        for number in range(20):
            found.etcdctl("put", f"key{number % 5}", f"value{number}" * 50)
        yield found


def test_a_copy_has_the_content_of_its_member_and_a_test_restores_it(first: Master) -> None:
    save(first)
    first.etcdctl("put", "written", "after the copy")
    run(first, "keep")
    found = asked(first)
    made = found.newest
    assert made
    assert found.test
    assert found.test.newest is None
    said = run(first, "test")
    assert "was restored and has its content" in said
    test = asked(first).test
    assert test
    assert test.newest
    assert test.newest >= made
    assert test.problem == ""
    assert not (copies(first) / "scratch").exists()
    assert "written" in first.etcdctl("get", "written"), "the scratch member is not of the cluster"
    assert first.etcdctl("get", "quorate-scratch") == ""


def test_a_copy_in_the_object_store_restores_what_a_machine_has_lost(first: Master) -> None:
    """The machine encrypts and puts it there; another place, with the key, fetches it; then it is compared as any."""
    program, own = first.root / backup_copies.PROGRAM.lstrip("/"), first.root / "store"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(scripts.text("backup_store.sh"))
    program.chmod(0o755)
    own.mkdir()
    save(first)
    run(first, "keep")
    (made,) = copies(first).glob("*.db")
    with object_store() as store:
        for name, text in texts(store.endpoint).items():
            if name != KEY:
                (own / name).write_text(text)
        script = Path(etcd.__file__).with_name("etcd_copies.sh")
        asked = {**os.environ, "ROOT": str(first.root), "STORE": str(own), "ETCD_NAME": "master1"}
        subprocess.run(["sh", str(script)], env=asked, check=True)
        shutil.rmtree(copies(first))
        copies(first).mkdir()
        (own / KEY).write_text(texts(store.endpoint)[KEY])
        words = ["sh", str(program), "get", f"etcd/master1/{made.stem}", str(copies(first))]
        subprocess.run(words, env={**os.environ, "STORE": str(own)}, check=True)
        assert store.refused == []
    assert sorted(each.name for each in copies(first).iterdir()) == [f"{made.stem}.content", made.name]
    assert "was restored and has its content" in run(first, "test")


def test_a_fetched_copy_is_restored_on_the_host_that_has_the_key(
    first: Master, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `quorate copies --test etcd` does."""
    save(first)
    run(first, "keep")
    monkeypatch.setenv("PATH", f"{first.root / 'bin'}:{os.environ['PATH']}")
    copy_test.require_programs(copy_test.ETCD)
    fetched = tmp_path / "fetched"
    shutil.copytree(copies(first), fetched)
    record = next(fetched.glob("*.content")).read_text().strip()
    assert copy_test.of_etcd(fetched) == record
    shutil.rmtree(fetched)
    shutil.copytree(copies(first), fetched)
    _damage(next(fetched.glob("*.db")))
    with pytest.raises(UserError, match="The copy is not restored:"):
        copy_test.of_etcd(fetched)


def test_old_values_that_are_removed_meanwhile_make_another_copy(first: Master) -> None:
    save(first)
    first.etcdctl("compact", "10")
    assert "snapshot saved" in run(first, "keep").lower()
    run(first, "test")


def test_a_copy_with_leases_is_kept_and_its_test_compares_it(first: Master) -> None:
    """As of every cluster of Kubernetes, whose events have leases: etcdutl cannot hash its data."""
    lease = first.etcdctl("lease", "grant", "3600").split()[1]
    first.etcdctl("put", "event", "value", f"--lease={lease}")
    save(first)
    run(first, "keep")
    assert list(copies(first).glob("*.db"))
    assert "was restored and has its content" in run(first, "test")


def test_a_copy_with_other_content_than_its_member_is_not_kept(first: Master) -> None:
    save(first)
    _damage(copies(first) / "restored/member/snap/db")
    assert "the copy has other content than the member" in run(first, "keep", code=1)
    assert not list(copies(first).glob("*.db"))


def test_a_damaged_copy_fails_its_test_and_status_says_so(first: Master) -> None:
    save(first)
    run(first, "keep")
    (copy,) = copies(first).glob("*.db")
    whole = copy.read_bytes()
    run(first, "test")
    _damage(copy)
    run(first, "test", code=1)
    test = asked(first).test
    assert test
    assert test.problem.endswith("failed")
    assert test.newest
    copy.write_bytes(whole)
    record = copy.with_suffix(".content")
    revision, _, rest = record.read_text().split()
    record.write_text(f"{revision} 12345 {rest}\n")
    assert "has other content than when it was made" in run(first, "test", code=1)
    assert not (copies(first) / "scratch").exists()


def test_without_a_copy_the_test_fails(first: Master) -> None:
    copies(first).mkdir(parents=True)
    assert "there is no copy with a record of its content" in run(first, "test", code=1)


def _damage(file: Path) -> None:
    """Changes a byte of a value."""
    content = file.read_bytes()
    place = content.rindex(b"value1value1")
    file.write_bytes(content[:place] + b"X" + content[place + 1 :])
