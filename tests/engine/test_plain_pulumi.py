"""The Pulumi CLI by itself on stacks of `quorate`, and `quorate` on stacks of the Pulumi CLI (docs/pulumi.md).

Each test is a line of the table in docs/pulumi.md. A stack is made once for all tests that leave it as it is.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from blueprint.stackfile.inventory import machines
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.root_secret import STATE as OWN_STATE
from commands.engine.operation import OBJECTS
from commands.engine.passphrase import FILE, VALUE
from commands.plan import stack_check
from tests.engine.clones import Clone
from tests.engine.conftest import Done, Project, with_root_secret
from tests.engine.test_large import singly
from tests.stacks import STACKS
from toolchain.install import STATE

LAB, PRODUCTION = "one-server", "ra100"
PACK = ("--policy-pack", "policy")
UNCHANGED = "No changes: all"


def plain(
    clone: Clone, engine: Mapping[str, str], variables: Mapping[str, str] | None = None, *, copy: bool = True
) -> Project:
    """The Pulumi CLI in a clone, as docs/pulumi.md sets its environment. `copy`: on the copy of the stack file."""
    name = clone.stack
    own = {"PULUMI_BACKEND_URL": (clone.root / STATE).as_uri(), "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true"}
    if copy:
        own["PULUMI_OPTION_CONFIG_FILE"] = f"build/{name}/project/Pulumi.{name}.yaml"
    if VALUE not in (variables or {}):
        own[FILE] = f"build/{name}/.passphrase"
    kept = {key: value for key, value in engine.items() if key != VALUE}
    return Project(clone.root, name, {**kept, **own, **(variables or {})})


def state_of(clone: Clone) -> bytes:
    """The stack's state file."""
    return (clone.root / STATE / ".pulumi" / "stacks" / "quorate" / f"{clone.stack}.json").read_bytes()


@contextmanager
def without(path: Path) -> Generator[None]:
    """Moves a file away until the context ends."""
    aside = path.with_name(f"{path.name}.aside")
    path.rename(aside)
    try:
        yield
    finally:
        aside.rename(path)


def assert_same(done: Done) -> None:
    assert done.code == 0, done.output
    assert done.changes() == {}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str]) -> Clone:
    """A rendered lab that `quorate up` made, with generated secrets."""
    assert engine
    clone = Clone.make(tmp_path_factory.mktemp("lab") / "clone", LAB, STACKS[LAB])
    clone.up()
    return clone


def test_the_state_directory_is_the_one_of_the_set_up() -> None:
    assert OWN_STATE == STATE


@pytest.mark.parametrize("options", [(), PACK, ("--target", "**quorate:Tree**")])
def test_a_preview_of_a_stack_of_quorate_shows_no_change(
    lab: Clone, engine: dict[str, str], options: tuple[str, ...]
) -> None:
    before = lab.stack_file.read_bytes(), lab.files()
    done = plain(lab, engine).run("preview", "--expect-no-changes", *options)
    assert_same(done)
    assert "placeholders" not in done.output
    assert (lab.stack_file.read_bytes(), lab.files()) == before


def test_an_up_changes_nothing_and_quorate_finds_nothing_changed(lab: Clone, engine: dict[str, str]) -> None:
    before = lab.stack_file.read_bytes(), lab.files()
    cli = plain(lab, engine)
    assert_same(cli.run("up", "--yes", *PACK))
    assert_same(cli.run("up", "--yes", "--skip-preview", "--target", "**quorate:Tree**"))
    assert UNCHANGED in lab.up().output
    assert (lab.stack_file.read_bytes(), lab.files()) == before


def test_on_the_stack_file_itself_pulumi_adds_only_its_salt(lab: Clone, engine: dict[str, str]) -> None:
    before = lab.stack_file.read_text()
    try:
        assert_same(plain(lab, engine, copy=False).run("preview", "--expect-no-changes"))
        added = lab.stack_file.read_text().removeprefix(before.rstrip("\n")).split()
        assert added[:1] == ["encryptionsalt:"]
        assert len(added) == 2
        assert lab.run("preview").code == 0
    finally:
        lab.stack_file.write_text(before)


def test_without_the_root_secret_a_preview_warns_and_an_up_stops(lab: Clone, engine: dict[str, str]) -> None:
    cli = plain(lab, engine)
    with without(lab.build / ".root-secret"):
        done = cli.run("preview")
        assert done.code == 0, done.output
        said = [each["diagnosticEvent"]["message"] for each in done.events if "diagnosticEvent" in each]
        assert sum("this preview contains placeholders instead of secrets" in each for each in said) == 1
        before = lab.inputs().keys(), lab.files()
        refused = cli.run("up", "--yes", "--skip-preview")
        assert refused.code != 0
        assert "pulumi config set --secret quorate:rootSecret" in refused.output
        assert f"quorate up --stack {LAB}" in refused.output
        assert (lab.inputs().keys(), lab.files()) == before
    assert_same(cli.run("up", "--yes"))


def test_a_damaged_root_secret_is_refused(lab: Clone, engine: dict[str, str]) -> None:
    file = lab.build / ".root-secret"
    text = file.read_text()
    try:
        file.write_text(text[:20])
        done = plain(lab, engine).run("preview")
        assert done.code != 0
        assert f"build/{LAB}/.root-secret: is damaged" in done.output
    finally:
        file.write_text(text)


@pytest.mark.parametrize(
    "words", [("refresh", "--yes"), ("refresh", "--yes", "--skip-preview"), ("up", "--refresh", "--yes")]
)
def test_a_refresh_of_objects_is_refused_and_loses_nothing(
    lab: Clone, engine: dict[str, str], words: tuple[str, ...]
) -> None:
    resources, files = lab.inputs().keys(), lab.files()
    done = plain(lab, engine, {"KUBECONFIG": "/nowhere"}).run(*words)
    assert done.code != 0
    assert "failed to read resource state due to unreachable cluster" in done.output
    assert (lab.inputs().keys(), lab.files()) == (resources, files)
    assert_same(plain(lab, engine).run("preview", "--expect-no-changes"))


def test_a_refresh_without_objects_reads_machines(lab: Clone, engine: dict[str, str]) -> None:
    cli, resources = plain(lab, engine), lab.inputs().keys()
    done = cli.run("refresh", "--yes", "--exclude", OBJECTS)
    assert done.code == 0, done.output
    assert lab.inputs().keys() == resources
    assert_same(cli.run("preview", "--expect-no-changes"))


def test_an_exported_state_is_imported_unchanged(lab: Clone, engine: dict[str, str], tmp_path: Path) -> None:
    cli, file = plain(lab, engine), tmp_path / "state.json"
    assert cli.run("stack", "export", "--file", str(file)).code == 0
    assert (lab.build / ".root-secret").read_text().strip() not in file.read_text()
    assert cli.run("stack", "import", "--file", str(file)).code == 0
    assert_same(cli.run("preview", "--expect-no-changes"))


def test_a_missing_passphrase_is_named_and_changes_nothing(lab: Clone, engine: dict[str, str]) -> None:
    before = state_of(lab)
    done = plain(lab, engine, {FILE: "nowhere"}).run("up", "--yes")
    assert done.code != 0
    assert f"unable to read {FILE}: open {lab.root}/nowhere" in done.output
    wrong = plain(lab, engine, {VALUE: "wrong"}).run("up", "--yes")
    assert wrong.code != 0
    assert "incorrect passphrase" in wrong.output
    assert state_of(lab) == before


def test_a_generated_secret_is_not_used_in_another_backend(lab: Clone, engine: dict[str, str], tmp_path: Path) -> None:
    """Users of a shared state would otherwise generate different ones."""
    cli = plain(lab, engine, {"PULUMI_BACKEND_URL": tmp_path.as_uri()})
    absent = cli.run("preview")
    assert absent.code != 0
    assert f"no stack named '{LAB}' found" in absent.output
    assert cli.run("stack", "init", "--no-select").code == 0
    refused = cli.run("up", "--yes", "--skip-preview")
    assert refused.code != 0
    assert f"build/{LAB}/.root-secret is used only by a rendered lab without other secrets in {STATE}" in refused.output


def test_the_configuration_of_another_stack_is_refused(lab: Clone, engine: dict[str, str]) -> None:
    """By a variable that a user has set for another stack. Neither the program nor the pack evaluates it."""
    other = Project(lab.root, "other", plain(lab, engine).environment)
    assert other.run("stack", "init", "--no-select").code == 0
    done = other.run("preview", *PACK)
    assert done.code != 0
    assert f"stack other: this configuration is that of stack {LAB}; leave out --config-file" in done.output


def test_a_changed_profile_needs_a_new_copy(lab: Clone, engine: dict[str, str]) -> None:
    before = lab.stack_file.read_text()
    try:
        lab.stack_file.write_text(before.replace("profile: lab", "profile: production"))
        done = plain(lab, engine).run("preview")
        assert done.code != 0
        assert "quorate:profile: has changed in Pulumi.one-server.yaml" in done.output
        assert "run 'quorate preview' once" in done.output
    finally:
        lab.stack_file.write_text(before)


def test_a_long_list_of_servers_is_a_file(
    lab: Clone, engine: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The list is too large for the environment variable by which Pulumi passes the configuration."""
    large = load_file(STACKS["ra1000"])
    document = yaml.safe_load(STACKS["ra1000"].read_text())
    servers = document["config"]["quorate:servers"] = [singly(each) for each in machines(large)]
    file = lab.root / "Pulumi.long.yaml"
    file.write_text(yaml.safe_dump(document))
    stack_check.check(lab.root, [file])
    assert "warning: the Pulumi CLI fails with 'argument list too long'" in capsys.readouterr().err
    long = Project(lab.root, "long", plain(lab, engine, copy=False).environment)
    assert long.run("stack", "init", "--no-select").code == 0
    assert "argument list too long" in long.run("preview").output.lower()

    (lab.root / "servers.json").write_text(json.dumps(servers))
    document["config"]["quorate:servers"] = "servers.json"
    file.write_text(yaml.safe_dump(document))
    done = long.run("preview")
    assert done.code == 0, done.output
    assert len(json.loads((long.build / "plan.json").read_text())["nodes"]) == 1078


def test_quorate_finds_a_stack_of_the_pulumi_cli_unchanged(tmp_path: Path, engine: dict[str, str]) -> None:
    """Its secrets are its user's, so its file has a salt: Pulumi's own way, to be committed."""
    secrets = {VALUE: "test"}
    source = tmp_path / "source.yaml"
    source.write_text(with_root_secret(STACKS[LAB].read_text()))
    clone = Clone.make(tmp_path / "clone", LAB, source)
    clone = Clone(clone.root, LAB, secrets)
    (clone.root / STATE).mkdir(parents=True)
    (clone.build / ".root-secret").unlink()
    cli = plain(clone, engine, secrets, copy=False)
    before = clone.stack_file.read_bytes()
    assert cli.run("stack", "init", "--no-select").code == 0
    made = cli.run("up", "--yes", *PACK)
    assert made.code == 0, made.output
    files = clone.files()
    assert UNCHANGED in clone.up().output
    assert clone.run("audit").code == 0
    assert_same(cli.run("preview", "--expect-no-changes"))
    assert (clone.stack_file.read_bytes(), clone.files()) == (before, files)
    done = cli.run("destroy", "--yes")
    assert done.code == 0, done.output
    assert clone.stack_file.read_bytes() == before


def test_a_production_stack_of_quorate_is_the_same_for_pulumi(tmp_path: Path, engine: dict[str, str]) -> None:
    secrets = {VALUE: "test"}
    source = tmp_path / "source.yaml"
    source.write_text(with_root_secret(STACKS[PRODUCTION].read_text()))
    made = Clone.make(tmp_path / "clone", PRODUCTION, source)
    clone = Clone(made.root, PRODUCTION, secrets)
    clone.up()
    before = clone.stack_file.read_bytes(), clone.files()
    cli = plain(clone, engine, secrets, copy=False)
    assert_same(cli.run("preview", "--expect-no-changes", *PACK))
    assert_same(cli.run("up", "--yes", *PACK))
    assert (clone.stack_file.read_bytes(), clone.files()) == before
    done = cli.run("destroy", "--yes", "--skip-preview")
    assert done.code == 0, done.output
    assert not clone.files()
