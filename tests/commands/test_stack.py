"""Tests of the choice of a stack's file, and of the content of its working copy."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
import yaml

from blueprint.openstack.given_secret import sealed_name
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import COPIED, from_pulumi, load_file
from commands import stack
from commands.stack import Workspace, without_secrets
from console.errors import UserError
from policy.engine import received
from policy.facts import stack_waivers

SALT = "v1:salt"
COPY = {"stack": "dev", "file": "Pulumi.dev.yaml"}
SEALED = {"secure": "v1:sealed"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "examples").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: quorate\nruntime: python\n", encoding="utf-8")
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  quorate:profile: lab\n", encoding="utf-8")
    (tmp_path / "examples" / "ra100.yaml").write_text("config: {}\n", encoding="utf-8")
    return tmp_path


def test_a_stack_is_at_the_top_or_an_example(root: Path) -> None:
    assert stack.find(root, "dev") == root / "Pulumi.dev.yaml"
    assert stack.find(root, "ra100") == root / "examples" / "ra100.yaml"


def test_a_missing_stack_is_answered_with_those_that_are_there(root: Path) -> None:
    with pytest.raises(UserError, match=r"neither Pulumi\.prod\.yaml nor examples/prod\.yaml") as refusal:
        stack.find(root, "prod")
    assert "Stacks: dev, ra100." in str(refusal.value)


@pytest.mark.parametrize("name", ["", "../dev", "a b", "-x", "dev/../../etc"])
def test_a_name_that_could_lead_elsewhere_is_refused(root: Path, name: str) -> None:
    with pytest.raises(UserError, match="is not a valid stack name"):
        stack.find(root, name)


def test_the_stack_file_is_not_written_to(root: Path) -> None:
    source = root / "Pulumi.dev.yaml"
    before = source.read_text(encoding="utf-8")
    workspace = stack.main_workspace(root, "dev", {})
    workspace.prepare(source, keep_secrets=True)
    with workspace.stack_file.open("a", encoding="utf-8") as copy:
        copy.write(f"encryptionsalt: {SALT}\n")
    assert source.read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("secrets", "kept"),
    [({}, False), ({"quorate:rootSecret": SEALED}, True)],
)
def test_a_salt_is_kept_for_what_is_sealed_under_it(root: Path, secrets: dict[str, object], kept: bool) -> None:
    """Plain `pulumi`, run with any passphrase, leaves its salt in the stack file; the state has its own."""
    source = root / "Pulumi.dev.yaml"
    config = {"quorate:profile": "lab", **secrets}
    source.write_text(yaml.safe_dump({"config": config, "encryptionsalt": SALT}), encoding="utf-8")
    workspace = stack.main_workspace(root, "dev", {})
    workspace.prepare(source, keep_secrets=True)
    copy = {**config, "quorate:copy": COPY}
    expected = {"config": copy, "encryptionsalt": SALT} if kept else {"config": copy}
    assert yaml.safe_load(workspace.stack_file.read_text(encoding="utf-8")) == expected


def test_what_an_earlier_run_left_in_the_working_copy_is_gone(root: Path) -> None:
    workspace = stack.main_workspace(root, "dev", {})
    workspace.prepare(root / "Pulumi.dev.yaml", keep_secrets=True)
    workspace.stack_file.write_text(f"config:\n  quorate:old: 1\nencryptionsalt: {SALT}\n", encoding="utf-8")
    workspace.prepare(root / "Pulumi.dev.yaml", keep_secrets=True)
    expected = {"quorate:profile": "lab", "quorate:copy": COPY}
    assert yaml.safe_load(workspace.stack_file.read_text(encoding="utf-8")) == {"config": expected}


def test_without_its_secrets_a_stack_file_needs_no_passphrase() -> None:
    document = {
        "encryptionsalt": SALT,
        "secretsprovider": "awskms://key",
        "encryptedkey": "key",
        "config": {"quorate:rootSecret": SEALED, "quorate:servers": [{"name": "a"}], "quorate:profile": "lab"},
    }
    assert without_secrets(document) == {"config": {"quorate:servers": [{"name": "a"}], "quorate:profile": "lab"}}


def test_the_copy_has_the_encrypted_options_by_name_and_no_other_option(root: Path) -> None:
    source = root / "Pulumi.dev.yaml"
    ldap = {"user": "cn=svc", "password": SEALED}
    projects = {"keystone": {"options": {"keystone.conf": {"ldap": ldap}}}}
    document = {"config": {"quorate:profile": "lab", "quorate:projects": projects}, "encryptionsalt": SALT}
    source.write_text(yaml.safe_dump(document), encoding="utf-8")
    workspace = stack.main_workspace(root, "dev", {})
    copy = {"quorate:profile": "lab", "quorate:copy": COPY}

    workspace.prepare(source, keep_secrets=True)
    given = {"quorate:given": {sealed_name(SEALED["secure"]): SEALED}}
    expected = {"config": copy | given, "encryptionsalt": SALT}
    assert yaml.safe_load(workspace.stack_file.read_text(encoding="utf-8")) == expected

    workspace.prepare(source, keep_secrets=False)
    assert yaml.safe_load(workspace.stack_file.read_text(encoding="utf-8")) == {"config": copy}
    left = without_secrets(document)["config"]["quorate:projects"]
    assert left == {"keystone": {"options": {"keystone.conf": {"ldap": {"user": "cn=svc"}}}}}


def test_a_temporary_workspace_is_gone_afterwards(root: Path) -> None:
    with stack.temporary_workspace(root, "dev") as workspace:
        workspace.prepare(root / "Pulumi.dev.yaml", keep_secrets=False)
        assert workspace.stack_file.exists()
        assert workspace.state_file
        assert not workspace.has_state
    assert list((root / "build").iterdir()) == []


def test_a_clone_in_a_directory_with_a_space_finds_its_state(tmp_path: Path) -> None:
    root = tmp_path / "my clone"
    root.mkdir()
    (root / "Pulumi.yaml").write_text("name: quorate\n", encoding="utf-8")
    workspace = stack.main_workspace(root, "dev", {})
    assert workspace.state_directory == root / "build" / ".state"
    assert workspace.state_file == root / "build" / ".state" / ".pulumi" / "stacks" / "quorate" / "dev.json"


def test_the_state_of_another_backend_is_not_looked_for(root: Path) -> None:
    workspace = stack.main_workspace(root, "dev", {"PULUMI_BACKEND_URL": "s3://team"})
    assert workspace == Workspace(root, "dev", root / "build" / "dev", "s3://team")
    assert workspace.state_file is None


WAIVER = {"rule": "galera-size", "resource": "x", "reason": "a move", "owner": "Ada", "expires": "2027-01-31"}


def large(root: Path, **more: object) -> Path:
    """A stack file with 2,000 servers listed one by one, and with a secret."""
    server = {"roles": ["compute"], "cpu": 24, "memory": 256}
    servers = [{"name": f"cmp{n:04}", "address": f"10.20.{4 + n // 250}.{n % 250 + 1}", **server} for n in range(2000)]
    first = {"name": "one", "address": "10.20.0.11", "roles": ["master", "controller", "storage"]}
    config = {"quorate:profile": "lab", "quorate:servers": [{**server, **first}, *servers], **more}
    source = root / "Pulumi.dev.yaml"
    source.write_text(yaml.safe_dump({"config": {**config, "quorate:rootSecret": SEALED}}), encoding="utf-8")
    return source


def passed(workspace: Workspace) -> dict[str, str]:
    """The copy's configuration as Pulumi passes it to the program and the policy pack."""
    config = {**stack.read_document(workspace.stack_file)["config"], "quorate:rootSecret": "decrypted"}
    return {key: each if isinstance(each, str) else json.dumps(each, sort_keys=True) for key, each in config.items()}


def test_the_program_reads_the_settings_of_the_stack_file_itself(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large configuration as one environment variable would fail with "Argument list too long"."""
    source = large(root, **{"quorate:architecture": 100, "quorate:waivers": [WAIVER], "other:key": "kept"})
    assert source.stat().st_size > 131_072  # the limit of one environment variable
    workspace = stack.main_workspace(root, "dev", {})
    workspace.prepare(source, keep_secrets=True)
    config = passed(workspace)
    assert config == {
        "quorate:profile": "lab",
        "quorate:architecture": "100",
        "quorate:waivers": json.dumps([WAIVER], sort_keys=True),
        "other:key": "kept",
        "quorate:rootSecret": "decrypted",
        "quorate:copy": json.dumps(COPY, sort_keys=True),
    }
    monkeypatch.chdir(root)
    assert from_pulumi(config, ["quorate:rootSecret"], "dev") == load_file(source)


def test_a_program_of_an_earlier_commit_finds_the_settings_in_a_temporary_copy(root: Path) -> None:
    """It knows no `quorate:copy`; `quorate diff` runs it for the base."""
    config = {"quorate:profile": "lab", "quorate:servers": [{"name": "one"}]}
    source = root / "Pulumi.dev.yaml"
    source.write_text(yaml.safe_dump({"config": {**config, "quorate:rootSecret": SEALED}}), encoding="utf-8")
    workspace = stack.main_workspace(root, "dev", {})
    workspace.prepare(source, keep_secrets=False)
    assert yaml.safe_load(workspace.stack_file.read_text(encoding="utf-8")) == {"config": config}
    workspace.prepare(large(root), keep_secrets=False)
    assert stack.read_document(workspace.stack_file)["config"]["quorate:copy"] == COPY


def test_a_copy_has_what_the_policy_pack_reads() -> None:
    """The pack imports nothing of the stack file's reader, so that both name the keys."""
    assert {f"quorate:{key}" for key in COPIED} == {received.PROFILE, received.ARCHITECTURE, stack_waivers.KEY}


def test_dates_of_waivers_pass_through_a_copy_as_they_are(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """YAML reads an unquoted date as one, and Pulumi would pass it on as 2027-01-31T00:00:00Z."""
    source = large(root, **{"quorate:waivers": [{**WAIVER, "expires": date(2027, 1, 31)}]})
    assert "expires: 2027-01-31\n" in source.read_text(encoding="utf-8")
    workspace = stack.main_workspace(root, "dev", {})
    workspace.prepare(source, keep_secrets=True)
    config = passed(workspace)
    assert json.loads(config["quorate:waivers"])[0]["expires"] == "2027-01-31"
    monkeypatch.chdir(root)
    assert from_pulumi(config, ["quorate:rootSecret"], "dev") == load_file(source)


def test_a_copy_with_another_profile_than_its_stack_file_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy pack would evaluate the stack with the profile of the copy."""
    source = large(root)
    workspace = stack.main_workspace(root, "dev", {})
    workspace.prepare(source, keep_secrets=True)
    source.write_text(
        source.read_text(encoding="utf-8").replace("profile: lab", "profile: production"), encoding="utf-8"
    )
    monkeypatch.chdir(root)
    with pytest.raises(InvalidStackError, match="run 'quorate preview' once") as refusal:
        from_pulumi(passed(workspace), ["quorate:rootSecret"], "dev")
    assert [problem.key for problem in refusal.value.problems] == ["quorate:profile"]


def test_a_copy_serves_no_other_stack(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may have set PULUMI_OPTION_CONFIG_FILE for another stack."""
    workspace = stack.main_workspace(root, "dev", {})
    workspace.prepare(large(root), keep_secrets=True)
    monkeypatch.chdir(root)
    with pytest.raises(InvalidStackError, match="that of stack dev; leave out --config-file"):
        from_pulumi(passed(workspace), ["quorate:rootSecret"], "prod")
