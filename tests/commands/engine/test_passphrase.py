"""Which command needs a passphrase for which stack, and that a refusal comes before anything is written."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from commands.engine import passphrase
from commands.engine.passphrase import FILE, VALUE, Command, SecretAccess
from commands.stack import Stack, Workspace, main_workspace
from console.errors import UserError

LAB = Stack("dev", Path("Pulumi.dev.yaml"), "lab", "render")
PRODUCTION = replace(LAB, name="prod", profile="production")
LIVE_LAB = replace(LAB, name="bench", target="live")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: quorate\nruntime: python\n", encoding="utf-8")
    return tmp_path


def workspace(root: Path, stack: Stack, *, state: bool = False, kept: bool = False, backend: str = "") -> Workspace:
    place = main_workspace(root, stack.name, {"PULUMI_BACKEND_URL": backend} if backend else {})
    if state:
        assert place.state_file
        place.state_file.parent.mkdir(parents=True)
        place.state_file.touch()
    if kept:
        passphrase.generate_secret(place.passphrase_file)
    return place


@pytest.mark.parametrize("command", ["up", "destroy", "preview", "audit"])
@pytest.mark.parametrize("stack", [LAB, PRODUCTION, LIVE_LAB])
def test_a_given_passphrase_serves_every_command(root: Path, command: Command, stack: Stack) -> None:
    place = workspace(root, stack, state=True, kept=True)
    assert passphrase.choose(command, stack, place, {VALUE: "mine"}) == SecretAccess({VALUE: "mine"})


@pytest.mark.parametrize("command", ["up", "destroy"])
@pytest.mark.parametrize("stack", [PRODUCTION, LIVE_LAB])
@pytest.mark.parametrize("environment", [{}, {VALUE: ""}, {FILE: ""}])
def test_what_matters_is_refused_without_one(
    root: Path, command: Command, stack: Stack, environment: dict[str, str]
) -> None:
    place = workspace(root, stack)
    before = sorted(root.rglob("*"))
    with pytest.raises(
        UserError, match=f"{stack.name} is a .*, so `{command}` needs its passphrase: set {VALUE}"
    ) as refusal:
        passphrase.choose(command, stack, place, environment)
    assert "Nothing was changed." in str(refusal.value)
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("command", ["preview", "audit"])
@pytest.mark.parametrize("stack", [LAB, PRODUCTION, LIVE_LAB])
def test_a_look_goes_on_with_placeholders(root: Path, command: Command, stack: Stack) -> None:
    access = passphrase.choose(command, stack, workspace(root, stack), {})
    assert access.is_temporary
    assert access.new_passphrase_file is None
    assert "placeholder secrets" in access.note
    assert "shows as new" not in access.note


def test_a_look_says_when_it_cannot_compare(root: Path) -> None:
    access = passphrase.choose("preview", PRODUCTION, workspace(root, PRODUCTION, state=True), {})
    assert access.is_temporary
    assert f"Without its passphrase ({VALUE}) the stack's state cannot be opened" in access.note


def test_the_first_up_of_a_lab_makes_one_up(root: Path) -> None:
    place = workspace(root, LAB)
    access = passphrase.choose("up", LAB, place, {})
    assert access.new_passphrase_file == place.passphrase_file
    assert access.variables == {FILE: str(place.passphrase_file)}
    assert "build/dev/.passphrase" in access.note
    assert not place.passphrase_file.exists()  # choosing writes nothing


def test_later_commands_use_the_made_up_one(root: Path) -> None:
    place = workspace(root, LAB, state=True, kept=True)
    for command in ("up", "preview", "audit", "destroy"):
        assert passphrase.choose(command, LAB, place, {}) == SecretAccess({FILE: str(place.passphrase_file)})


def test_a_made_up_passphrase_does_not_serve_what_matters(root: Path) -> None:
    """A generated passphrase is not used for a stack that was a lab and is production now."""
    promoted = replace(LAB, profile="production")
    place = workspace(root, promoted, state=True, kept=True)
    with pytest.raises(UserError, match="needs its passphrase"):
        passphrase.choose("up", promoted, place, {})


def test_a_lab_with_its_owners_secrets_gets_nothing_made_up(root: Path) -> None:
    sealed = replace(LAB, has_secrets=True)
    place = workspace(root, sealed, kept=True)
    with pytest.raises(UserError, match="a stack whose file contains encrypted secrets, so `up` needs its passphrase"):
        passphrase.choose("up", sealed, place, {})
    assert passphrase.choose("preview", sealed, place, {}).is_temporary


def test_a_lab_whose_passphrase_is_gone_says_how_to_start_over(root: Path) -> None:
    with pytest.raises(UserError, match="make clean"):
        passphrase.choose("up", LAB, workspace(root, LAB, state=True), {})


def test_a_lab_in_a_shared_state_gets_nothing_made_up(root: Path) -> None:
    with pytest.raises(UserError, match="is in s3://team"):
        passphrase.choose("up", LAB, workspace(root, LAB, backend="s3://team"), {})


def test_a_key_service_needs_no_passphrase(root: Path) -> None:
    sealed = replace(PRODUCTION, secrets_provider="awskms://key")
    assert passphrase.choose("up", sealed, workspace(root, sealed), {}) == SecretAccess()


def test_a_passphrase_file_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(UserError, match=f"{FILE} names /nowhere/phrase, which cannot be read: No such file"):
        passphrase.choose("preview", LAB, workspace(root, LAB), {FILE: "/nowhere/phrase"})
    os.mkfifo(root / "pipe")
    with pytest.raises(UserError, match="which is not a regular file"):
        passphrase.choose("up", PRODUCTION, workspace(root, PRODUCTION), {FILE: str(root / "pipe")})
    empty = root / "phrase"
    empty.touch()
    with pytest.raises(UserError, match="which is empty"):
        passphrase.choose("up", PRODUCTION, workspace(root, PRODUCTION), {FILE: str(empty)})


def test_a_made_up_passphrase_is_its_owners_alone_and_stays(root: Path) -> None:
    file = root / "build" / "dev" / ".passphrase"
    assert passphrase.generate_secret(file)
    first = file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(first.strip()) > 30
    assert passphrase.generated_secret(file) == first.strip()
    assert not passphrase.generate_secret(file)
    assert file.read_text(encoding="utf-8") == first
    assert [path.name for path in file.parent.iterdir()] == [".passphrase"]


def test_a_secret_that_cannot_be_written_whole_is_not_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    file = root / "build" / "dev" / ".root-secret"
    with pytest.raises(OSError, match="No space left") as failure:
        passphrase.generate_secret(file)
    assert failure.value.filename == str(file)
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\0" * 65, b"abc", b"a" * 64, b"a" * 63 + b"\n", b"\xff" * 64 + b"\n"]
)
def test_an_empty_or_truncated_secret_is_refused(root: Path, content: bytes) -> None:
    place = workspace(root, LAB, state=True, kept=True)
    place.passphrase_file.write_bytes(content)
    for command in ("up", "preview", "audit", "destroy"):
        with pytest.raises(UserError, match=r"^build/dev/\.passphrase is (empty|damaged)") as refusal:
            passphrase.choose(command, LAB, place, {})
        assert "start over with `make clean` and `make up STACK=dev`" in str(refusal.value)
