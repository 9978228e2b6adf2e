"""Copies of backups in an object store: the script with the real curl and openssl. The store checks signatures."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from blueprint.stackfile.backup_settings import BackupCopies
from openstack import backup_store, scripts
from openstack.backup_store import ACCOUNT, KEY, RECIPIENT, URL
from tests.components.machine.test_directory import shellcheck
from tests.fakes import script
from tests.object_store import ACCESS, BUCKET, REGION, SECRET, ObjectStore, object_store

NAME = "etcd/master1/20261128T110203Z"
CONTENT = b"".join(hashlib.sha256(str(number).encode()).digest() for number in range(5000))
"""160 kB that do not repeat."""
PLACES = {"accessKey": {"environment": "ACCESS"}, "secretKey": {"environment": "SECRET"}}
REVEALED = {"given/ACCESS": ACCESS, "given/SECRET": SECRET, "backup-copies": "derived"}


@dataclass(frozen=True)
class Machine:
    """A directory with the program, its files, and a backup."""

    root: Path
    store: ObjectStore

    @property
    def own(self) -> Path:
        return self.root / "store"

    @property
    def there(self) -> list[str]:
        return sorted(self.store.objects)

    def run(self, *words: str, code: int = 0, **variables: str) -> str:
        """Runs the program; returns what it printed on both outputs."""
        programs = {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(self.root / "tmp")}
        done = subprocess.run(
            ["sh", str(self.root / "backup-store"), *words],
            env={**programs, "STORE": str(self.own), "SHELL": "/usr/sbin/nologin", **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert not list((self.root / "tmp").iterdir()), "nothing is left behind"
        return done.stdout + done.stderr

    def put(self, name: str = NAME, code: int = 0) -> str:
        return self.run("put", name, str(self.root / "backup"), "a.db", "a.content", code=code)

    def get(self, name: str = NAME, code: int = 0) -> str:
        target = self.root / "got"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        return self.run("get", name, str(target), code=code)

    def damage(self, number: str) -> str:
        """Changes a byte of a part; returns its digest before."""
        key = f"prod/{NAME}/{number}"
        before = self.store.objects[key]
        self.store.objects[key] = before[:-100] + bytes([before[-100] ^ 1]) + before[-99:]
        return hashlib.sha256(before).hexdigest()


def texts(endpoint: str, derived: str = "derived") -> dict[str, str]:
    """The program's files for a store."""
    given = {"endpoint": endpoint, "bucket": BUCKET, "prefix": "prod", "region": REGION, **PLACES}
    return backup_store.texts(BackupCopies.model_validate(given), {**REVEALED, "backup-copies": derived}.__getitem__)


@pytest.fixture
def machine(tmp_path: Path) -> Generator[Machine]:
    """Parts have 64 kB, so that the backup has three."""
    with object_store() as store:
        for folder in ("store", "backup", "tmp", "bin"):
            (tmp_path / folder).mkdir()
        program = scripts.text("backup_store.sh")
        assert program.count("PART=64M ") == 1
        (tmp_path / "backup-store").write_text(program.replace("PART=64M ", "PART=64K "))
        for name, text in texts(store.endpoint).items():
            (tmp_path / "store" / name).write_text(text)
        (tmp_path / "backup/a.db").write_bytes(CONTENT)
        (tmp_path / "backup/a.content").write_text("1 2 3\n")
        yield Machine(tmp_path, store)


def test_what_was_put_is_got(machine: Machine) -> None:
    machine.put()
    assert machine.there == [f"prod/{NAME}/{part}" for part in ("0000", "0001", "0002", "complete")]
    machine.get()
    assert (machine.root / "got/a.db").read_bytes() == CONTENT
    assert (machine.root / "got/a.content").read_text() == "1 2 3\n"
    assert machine.store.refused == []


def test_the_store_sees_nothing_of_the_content(machine: Machine) -> None:
    machine.put()
    stored = b"".join(machine.store.objects.values())
    assert not any(CONTENT[place : place + 16] in stored for place in range(0, len(CONTENT), 4096))


def test_a_machine_cannot_read_what_it_has_put(machine: Machine) -> None:
    """It has no key; and a key of another stack opens nothing."""
    (machine.own / KEY).unlink()
    machine.put()
    assert "was not fetched, decrypted and unpacked completely" in machine.get(code=1)
    (machine.own / KEY).write_text(texts(machine.store.endpoint, "another")[KEY])
    assert f"{NAME}/0000 was not decrypted: it is of another stack, of this one with another" in machine.get(code=1)
    assert not list((machine.root / "got").iterdir())


def test_a_part_that_was_changed_is_refused(machine: Machine) -> None:
    machine.put()
    before = machine.damage("0001")
    assert f"{NAME}/0001 has other content than when it was stored" in machine.get(code=1)
    # Whoever changes the list of digests too does not get past the encryption, which is authenticated.
    complete, part = f"prod/{NAME}/complete", machine.store.objects[f"prod/{NAME}/0001"]
    listed = machine.store.objects[complete].decode()
    assert before in listed
    machine.store.objects[complete] = listed.replace(before, hashlib.sha256(part).hexdigest()).encode()
    assert "was not fetched, decrypted and unpacked completely" in machine.get(code=1)


def test_a_copy_that_lacks_a_part_is_refused(machine: Machine) -> None:
    machine.put()
    del machine.store.objects[f"prod/{NAME}/0002"]
    assert "404" in machine.get(code=1)


def test_a_copy_that_ends_with_a_file_is_refused_too(machine: Machine) -> None:
    """tar does not notice an end between two files, where here the first part ends."""
    (machine.root / "backup/first").write_bytes(CONTENT[: 64 * 1024 - 512])
    machine.run("put", NAME, str(machine.root / "backup"), "first", "a.content")
    del machine.store.objects[f"prod/{NAME}/0001"]
    machine.get(code=1)


def test_only_complete_copies_are_listed_however_many_there_are(machine: Machine) -> None:
    machine.store.most = 3
    names = [f"etcd/master{number}/2026112{number}T110203Z" for number in (1, 2, 3)]
    for name in names:
        machine.put(name)
    machine.store.put("production/etcd/master1/20261128T110203Z/complete", b"of another stack")
    del machine.store.objects[f"prod/{names[1]}/complete"]
    assert machine.run("list").split() == [names[0], names[2]]
    machine.store.objects.clear()
    assert machine.run("list") == ""


def test_what_is_no_object_store_is_no_empty_list(machine: Machine) -> None:
    script(machine.root / "bin", "curl", "echo '<html>Welcome</html>'")
    assert "did not answer with a list of objects" in machine.run("list", code=1)


def test_a_refused_account_stores_nothing_and_the_reason_is_told(machine: Machine) -> None:
    account = (machine.own / ACCOUNT).read_text()
    (machine.own / ACCOUNT).write_text(account.replace("key", "other"))
    assert "SignatureDoesNotMatch" in machine.put(code=22)
    assert machine.there == []


def test_files_that_cannot_be_read_are_no_complete_copy(machine: Machine) -> None:
    (machine.root / "backup/a.content").unlink()
    assert "could not be read" in machine.put(code=1)
    assert f"prod/{NAME}/complete" not in machine.there


def test_no_argument_of_a_program_has_a_secret(machine: Machine) -> None:
    for name in ("curl", "openssl", "tar", "split"):
        script(machine.root / "bin", name, f'echo {name} "$@" >>"$LOG"\nexec {shutil.which(name)} "$@"')
    log = machine.root / "log"
    machine.run("put", NAME, str(machine.root / "backup"), "a.db", LOG=str(log))
    found = log.read_text()
    assert re.findall("^[a-z]+", found, re.MULTILINE).count("curl") == 4
    key = texts(machine.store.endpoint)[KEY].splitlines()[1]
    assert not [each for each in (ACCESS, SECRET, SECRET[-6:], key) if each in found]


def test_systemd_gives_the_files_as_credentials(machine: Machine) -> None:
    machine.run("put", NAME, str(machine.root / "backup"), "a.db", STORE="", CREDENTIALS_DIRECTORY=str(machine.own))
    assert f"prod/{NAME}/complete" in machine.there
    assert "is not set, nor is STORE" in machine.run("list", code=2, STORE="")


def test_each_derived_secret_has_its_own_certificate() -> None:
    first, again, other = texts("http://x"), texts("http://x"), texts("http://x", "another")
    assert first == again
    assert {name for name in first if first[name] != other[name]} == {RECIPIENT, KEY}
    assert first[URL] == f"http://x/{BUCKET}/prod\n"


def test_shellcheck_has_no_objection(tmp_path: Path) -> None:
    assert shellcheck(tmp_path, {"store": scripts.text("backup_store.sh")}) == ""
