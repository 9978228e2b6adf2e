"""Tests of `quorate copies`: what it lists, fetches and refuses, with the real program and a store of this host."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from blueprint.openstack.given_secret import GivenSecret, sealed_name
from blueprint.stackfile.backup_settings import BackupCopies
from commands import stack
from commands.engine.passphrase import VALUE
from commands.live import backup_copies, state_copy, store_account
from commands.stack import ROOT_SECRET, ValidStack, Workspace
from console.errors import UserError
from contract import BACKUP_STORE_OUTPUT
from formats.derived_secret import derive
from openstack import scripts
from tests.components.k8s_master.test_backup_copies import COPIES
from tests.fakes import ROOT
from tests.object_store import ACCESS, BUCKET, REGION, SECRET, ObjectStore, object_store
from tests.openstack.scripts.test_backup_store import texts
from tests.stacks import full_size, parsed

LOAD = stack.load
TIMES = ("20261127T110203Z", "20261128T110203Z")


@dataclass
class World:
    """A clone whose stack `dev` has a state and copies in a store."""

    root: Path
    store: ObjectStore
    output: str | None
    opened: list[bool]
    configuration: dict[str, Any] = field(default_factory=dict[str, Any])
    """The stack file's, decrypted."""

    def put(self, name: str, time: str) -> None:
        """Puts a copy of etcd as a machine does."""
        directory = self.root / "machine"
        directory.mkdir(exist_ok=True)
        (directory / f"{time}.db").write_text(f"content of {name} at {time}")
        (directory / f"{time}.content").write_text("1 2 3\n")
        self.put_files(f"etcd/{name}/{time}", directory, f"{time}.db", f"{time}.content")

    def put_files(self, name: str, directory: Path, *files: str, derived: str = "derived") -> None:
        """Puts files there; `derived`: the secret that the key is made of."""
        own = self.root / "account"
        own.mkdir(exist_ok=True)
        for file, text in {**texts(self.store.endpoint, derived), "program": scripts.text("backup_store.sh")}.items():
            (own / file).write_text(text)
        command = ["sh", str(own / "program"), "put", name, str(directory), *files]
        subprocess.run(command, env={"STORE": str(own), "PATH": "/usr/bin:/bin"}, check=True)

    def run(self, wanted: str = "") -> int:
        return backup_copies.run(self.root, "dev", wanted)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[World]:
    with object_store() as store:
        found = World(tmp_path, store, json.dumps(texts(store.endpoint)), [])

        class Engine:
            def __init__(self, _engine: object, _stack: object, workspace: Workspace, _variables: object) -> None:
                self.workspace = workspace

            def open(self, *, keep_secrets: bool) -> None:
                found.opened.append(keep_secrets)

            def output(self, name: str) -> str | None:
                assert name == BACKUP_STORE_OUTPUT
                return found.output

            def configuration(self) -> dict[str, Any]:
                return found.configuration

        def installed(_root: Path) -> None: ...

        def load(_root: Path, name: str) -> ValidStack:
            return replace(LOAD(ROOT, name), settings=parsed(full_size("100", backups={"copies": COPIES})))

        (tmp_path / "Pulumi.yaml").write_text("name: quorate\n")
        state = tmp_path / "build/.state/.pulumi/stacks/quorate/dev.json"
        state.parent.mkdir(parents=True)
        state.write_text("{}")
        monkeypatch.setattr(stack, "load", load)
        monkeypatch.setattr(store_account, "Operation", Engine)
        monkeypatch.setattr(store_account, "installed", installed)
        monkeypatch.setenv(VALUE, "passphrase")
        monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
        yield found


def test_copies_of_all_machines_are_listed_the_newest_last(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.run() == 0
    assert capsys.readouterr().out == "There are no copies yet.\n"
    world.put("master2", TIMES[1])
    world.put("master3", TIMES[0])
    world.store.put("prod/etcd/../../../escaped/20261129T110203Z/complete", b"no name of a copy")
    assert world.run() == 0
    assert capsys.readouterr().out.splitlines() == [f"etcd/master3/{TIMES[0]}", f"etcd/master2/{TIMES[1]}"]
    assert world.opened == [True, True]


@pytest.mark.parametrize(
    ("wanted", "name", "time"),
    [("etcd", "m2", TIMES[1]), ("etcd/m3", "m3", TIMES[0]), (f"etcd/m3/{TIMES[0]}", "m3", TIMES[0])],
)
def test_a_copy_is_fetched_for_its_owner_only(
    world: World, capsys: pytest.CaptureFixture[str], wanted: str, name: str, time: str
) -> None:
    world.put("m2", TIMES[1])
    world.put("m3", TIMES[0])
    assert world.run(wanted) == 0
    directory = world.root / "build/dev/copies"
    assert (directory / f"etcd/{name}/{time}.db").read_text() == f"content of {name} at {time}"
    said = capsys.readouterr().out
    assert f"Wrote {time}.content, {time}.db to build/dev/copies/etcd/{name}/." in said
    assert "run `quorate restore etcd`" in said
    assert {path.stat().st_mode & 0o777 for path in (directory, *directory.rglob("*")) if path.is_dir()} == {0o700}


def test_a_copy_that_is_not_there_is_named(world: World) -> None:
    with pytest.raises(UserError, match="There is no complete copy etcd; there are none"):
        world.run("etcd")
    world.put("master1", TIMES[0])
    with pytest.raises(
        UserError, match=rf"no complete copy etcd/master1/{TIMES[1]} \(did you mean 'etcd/master1/{TIMES[0]}'"
    ):
        world.run(f"etcd/master1/{TIMES[1]}")


def test_a_store_that_does_not_answer_is_named(world: World) -> None:
    world.output = json.dumps(texts("http://127.0.0.1:1"))
    with pytest.raises(UserError, match=r"The copies in the object store were not read: curl: \(7\)"):
        world.run()


def test_a_state_without_the_account_is_named(world: World) -> None:
    world.output = None
    with pytest.raises(UserError, match=r"run `quorate up --stack dev` once with quorate:backups\.copies"):
        world.run()


STATE_FILE = "build/.state/.pulumi/stacks/quorate/dev.json"


def test_without_a_state_the_stack_file_has_the_key_and_names_the_account(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    key = derive("the root secret", "openstack", "backup-copies", 1)
    world.put_files(f"state/dev/{TIMES[1]}", *_state(world.root, TIMES[1]), derived=key)
    (world.root / STATE_FILE).unlink()
    monkeypatch.setenv("ACCESS", ACCESS)
    monkeypatch.setenv("SECRET", SECRET)
    here = {**COPIES, "endpoint": world.store.endpoint, "bucket": BUCKET, "region": REGION}
    settings = parsed(full_size("100", backups={"copies": here}))
    monkeypatch.setattr(stack, "load", lambda _root, name: replace(LOAD(ROOT, name), settings=settings))  # type: ignore[misc]
    with pytest.raises(UserError, match=r"Pulumi\.dev\.yaml has no quorate:rootSecret"):
        world.run("state")
    world.configuration = {ROOT_SECRET: "another root secret"}
    with pytest.raises(UserError, match="was not decrypted: it is of another stack, of this one with another root"):
        world.run("state")
    world.configuration = {ROOT_SECRET: "the root secret"}
    assert world.run("state") == 0
    directory = f"build/dev/copies/state/dev/{TIMES[1]}"
    assert (world.root / directory / STATE_FILE.removeprefix("build/.state/")).read_text() == "{}"
    assert f"`cp -a {directory}/. {world.root}/build/.state/` puts the state back" in capsys.readouterr().out
    monkeypatch.delenv("SECRET")
    with pytest.raises(
        UserError, match=r"quorate:backups\.copies\.secretKey: is the variable SECRET, which is not set"
    ):
        world.run("state")


def _state(root: Path, time: str) -> tuple[Path, str]:
    """Makes a directory with the state as `up` puts it there."""
    made = root / "made" / time / STATE_FILE.removeprefix("build/.state/")
    made.parent.mkdir(parents=True)
    shutil.copy(root / STATE_FILE, made)
    return root / "made", time


def test_an_account_in_the_stack_file_is_found_too(world: World) -> None:
    sealed = GivenSecret(secure="v1:abc")
    copies = BackupCopies.model_validate(
        {**COPIES, "accessKey": {"secure": "v1:abc"}, "secretKey": {"secure": "v1:def"}}
    )
    settings = parsed(full_size("100", backups={"copies": copies.model_dump(by_alias=True, exclude_none=True)}))
    found = replace(LOAD(ROOT, "dev"), settings=settings)
    values = {sealed_name("v1:abc"): "an access key", sealed_name("v1:def"): "a secret key"}
    said = store_account.texts(found, copies, "the root secret", values)
    assert said["curl.conf"].startswith('user = "an access key:a secret key"\n')
    assert sealed.key.endswith(sealed_name("v1:abc"))


def test_each_up_puts_the_state_there(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    workspace = stack.main_workspace(world.root, "dev", {})
    found = stack.load(world.root, "dev")
    operation = store_account.Operation(Path(), found, workspace, {})  # pyright: ignore[reportArgumentType]
    state_copy.put(operation, found)
    assert capsys.readouterr().err == ""
    assert world.run("state/dev") == 0
    (kept,) = (world.root / "build/dev/copies/state/dev").glob("*Z/.pulumi/stacks/quorate/dev.json")
    assert kept.read_bytes() == (world.root / STATE_FILE).read_bytes()
    assert not [each for each in world.store.objects.values() if b"checkpoint" in each]

    world.output = json.dumps(texts("http://127.0.0.1:1"))
    state_copy.put(operation, found)
    assert (
        "The state was not copied to the object store: The copies in the object store were not written: curl: (7)"
        in (capsys.readouterr().err)
    )


def test_a_state_elsewhere_and_a_stack_without_copies_put_nothing_there(world: World) -> None:
    found = stack.load(world.root, "dev")
    elsewhere = stack.main_workspace(world.root, "dev", {"PULUMI_BACKEND_URL": "s3://states"})
    operation = store_account.Operation(Path(), found, elsewhere, {})  # pyright: ignore[reportArgumentType]
    state_copy.put(operation, found)
    here = stack.main_workspace(world.root, "dev", {})
    operation = store_account.Operation(Path(), found, here, {})  # pyright: ignore[reportArgumentType]
    state_copy.put(operation, LOAD(ROOT, "dev"))
    assert world.store.objects == {}


def test_a_stack_without_an_object_store_has_no_copies(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "load", lambda _root, name: LOAD(ROOT, name))  # type: ignore[misc]
    with pytest.raises(UserError, match="dev has no object store for copies of backups"):
        world.run()
