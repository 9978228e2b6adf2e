"""The provider of machines' files, on a real directory: what it writes, what it notices, what it leaves alone."""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi.dynamic.dynamic import serialize_provider  # pyright: ignore[reportUnknownVariableType]

from components.tree import TreeProvider

PROVIDER = TreeProvider()
STACK = Path("build", "dev")
ROOT = STACK / "machines"


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine runs in the clone, and trees are relative to it."""
    monkeypatch.chdir(tmp_path)


def machine(root: Path, node: str = "ctl1", **files: str) -> dict[str, Any]:
    return pool(root, node, **files)


def pool(root: Path, *nodes: str, **files: str) -> dict[str, Any]:
    places = [{"node": node, "server": node, "rack": "r1", "address": f"10.0.0.{n}"} for n, node in enumerate(nodes)]
    return {"root": str(root), "nodes": json.dumps(places), "files": files, "__provider": "x"}


def with_secrets(root: Path, node: str = "ctl1", **secrets: str) -> dict[str, Any]:
    """A machine below `root`/machines with secret files below `root`/secrets/machines."""
    hidden = {f"/etc/{name}": text for name, text in secrets.items()}
    return machine(root / "machines", node, a="1") | {"secretsRoot": str(root / "secrets/machines"), "secrets": hidden}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def there(root: Path) -> dict[str, str]:
    """Returns every file below the root, except the marks of owners."""
    files = (path for path in root.rglob("*") if path.is_file() and ".owners" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes().decode() for path in files}


def made(props: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    result = PROVIDER.create(props)
    assert result.outs is not None
    return result.id, result.outs


def test_a_machine_is_a_directory_of_its_files() -> None:
    made(machine(ROOT, **{"node.yaml": "a", "api-proxy/nginx.conf": "b"}))
    assert there(ROOT) == {"ctl1/node.yaml": "a", "ctl1/api-proxy/nginx.conf": "b"}


def test_a_pool_fills_its_templates_for_each_node() -> None:
    made(pool(ROOT, "cmp1", "cmp2", **{"node.yaml": "${node} ${address} $$5"}))
    assert there(ROOT) == {"cmp1/node.yaml": "cmp1 10.0.0.0 $5", "cmp2/node.yaml": "cmp2 10.0.0.1 $5"}


def test_the_same_again_is_no_change_and_touches_no_file() -> None:
    props = machine(ROOT, a="1")
    owner, outs = made(props)
    before = (ROOT / "ctl1" / "a").stat()
    assert not PROVIDER.diff(owner, outs, props).changes
    PROVIDER.update(owner, outs, props)
    after = (ROOT / "ctl1" / "a").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_new_provider_alone_is_no_change() -> None:
    props = machine(ROOT, a="1")
    owner, outs = made(props)
    assert not PROVIDER.diff(owner, outs, {**props, "__provider": "y"}).changes


def test_a_changed_template_or_place_is_a_change() -> None:
    props = pool(ROOT, "cmp1", a="1")
    owner, outs = made(props)
    assert PROVIDER.diff(owner, outs, pool(ROOT, "cmp1", a="2")).changes
    assert PROVIDER.diff(owner, outs, {**props, "nodes": props["nodes"].replace("r1", "r2")}).changes


def test_scripts_can_be_run_and_other_files_cannot() -> None:
    made(machine(ROOT, apply="#!/bin/sh\n", **{"root/etc/hosts": "a"}))
    assert mode(ROOT / "ctl1/apply") == 0o755
    assert mode(ROOT / "ctl1/root/etc/hosts") == 0o644


def test_the_state_repeats_no_file() -> None:
    """A thousand trees are in it once, as what the program asked for."""
    _, outs = made(pool(ROOT, "cmp1", "cmp2", a="a long text"))
    assert "a long text" not in json.dumps(outs)


def test_secrets_are_written_apart_and_for_nobody_else() -> None:
    made(with_secrets(STACK, key="abc"))
    file = STACK / "secrets/machines/ctl1/etc/key"
    assert file.read_text() == "abc"
    assert mode(file) == 0o600
    assert {mode(STACK / path) for path in ("secrets", "secrets/machines", "secrets/machines/ctl1")} == {0o700}
    assert there(ROOT) == {"ctl1/a": "1"}


def test_no_output_but_the_secrets_themselves_depends_on_a_secret() -> None:
    """A digest gives a short secret away. The engine encrypts an output whose input of the same name is secret."""
    _, one = made(with_secrets(Path("build/one"), key="abc"))
    _, other = made(with_secrets(Path("build/other"), key="xyz"))
    keys = {key for key in one if one[key] != other[key]}
    assert keys == {"root", "secretsRoot", "secrets"}


@pytest.mark.parametrize("damage", ["edited", "removed", "readable by others"])
def test_reading_notices_what_was_done_to_a_secret(damage: str) -> None:
    props = with_secrets(STACK, key="abc", other="d")
    owner, outs = made(props)
    file = STACK / "secrets/machines/ctl1/etc/key"
    {
        "edited": lambda: file.write_text("x"),
        "removed": file.unlink,
        "readable by others": lambda: file.chmod(0o644),
    }[damage]()
    found = PROVIDER.read(owner, outs).outs
    assert found is not None
    assert found["secrets"] == {"/etc/other": "d"}
    assert PROVIDER.diff(owner, found, props).changes
    PROVIDER.update(owner, found, props)
    assert (file.read_text(), mode(file)) == ("abc", 0o600)


def with_own_secrets(root: Path, key: str, **texts: str) -> dict[str, Any]:
    """A pool below `root`/machines whose nodes have a shared secret file and different texts in another one."""
    props = pool(root / "machines", *texts, a="1")
    secrets = {"secrets": {"/etc/key": key}, "nodeSecrets": {"/etc/own": json.dumps(texts)}}
    return {**props, "secretsRoot": str(root / "secrets/machines"), **secrets}


def test_each_node_has_its_own_text_in_a_secret_file_of_nodes() -> None:
    owner, outs = made(with_own_secrets(STACK, "abc", cmp1="x", cmp2="y"))
    hidden = STACK / "secrets/machines"
    expected = {"cmp1/etc/key": "abc", "cmp2/etc/key": "abc", "cmp1/etc/own": "x", "cmp2/etc/own": "y"}
    assert there(hidden) == expected
    assert {mode(hidden / path) for path in expected} == {0o600}
    assert PROVIDER.diff(owner, outs, with_own_secrets(STACK, "abc", cmp1="x", cmp2="z")).changes
    assert not PROVIDER.diff(owner, outs, with_own_secrets(STACK, "abc", cmp1="x", cmp2="y")).changes
    outs = PROVIDER.update(owner, outs, with_own_secrets(STACK, "abc", cmp2="y")).outs
    assert outs is not None
    assert there(hidden) == {path: text for path, text in expected.items() if path.startswith("cmp2")}
    PROVIDER.delete(owner, outs)
    assert not there(STACK)


def test_reading_notices_a_changed_secret_of_one_node() -> None:
    props = with_own_secrets(STACK, "abc", cmp1="x", cmp2="y")
    owner, outs = made(props)
    (STACK / "secrets/machines/cmp2/etc/own").write_text("changed")
    found = PROVIDER.read(owner, outs).outs
    assert found is not None
    assert found["secrets"] == {"/etc/key": "abc"}
    assert {path: json.loads(texts) for path, texts in found["nodeSecrets"].items()} == {"/etc/own": {"cmp1": "x"}}
    assert PROVIDER.diff(owner, found, props).changes


def test_secrets_that_went_away_are_removed() -> None:
    owner, outs = made(with_secrets(STACK, key="abc", other="d"))
    outs = PROVIDER.update(owner, outs, with_secrets(STACK, other="d")).outs
    assert outs is not None
    assert there(STACK / "secrets") == {"machines/ctl1/etc/other": "d"}
    PROVIDER.delete(owner, outs)
    assert not there(STACK)


def test_a_tree_elsewhere_is_another_tree() -> None:
    owner, outs = made(machine(ROOT, f="1"))
    diff = PROVIDER.diff(owner, outs, machine(Path("build/prod/machines"), f="1"))
    assert diff.replaces == ["root"]
    assert diff.delete_before_replace


def test_files_that_went_away_are_removed_and_strangers_stay() -> None:
    owner, outs = made(machine(ROOT, **{"old/a": "1", "b": "2"}))
    (ROOT / "ctl1" / "mine.txt").write_text("hand-written")
    PROVIDER.update(owner, outs, machine(ROOT, b="2"))
    assert there(ROOT) == {"ctl1/b": "2", "ctl1/mine.txt": "hand-written"}
    assert not (ROOT / "ctl1" / "old").exists()


def test_nodes_that_left_a_pool_lose_their_files() -> None:
    owner, outs = made(pool(ROOT, "cmp1", "cmp2", a="1"))
    PROVIDER.update(owner, outs, pool(ROOT, "cmp2", a="1"))
    assert there(ROOT) == {"cmp2/a": "1"}


def test_deleting_leaves_nothing() -> None:
    root = ROOT
    owner, outs = made(pool(root, "cmp1", "cmp2", **{"a": "1", "b/c": "2"}))
    PROVIDER.delete(owner, outs)
    assert not root.exists()
    assert STACK.exists()


def test_deleting_what_is_gone_already_is_done() -> None:
    owner, outs = made(machine(ROOT, a="1"))
    shutil.rmtree(ROOT)
    PROVIDER.delete(owner, outs)


@pytest.mark.parametrize("new_first", [True, False])
def test_a_node_moves_to_another_resource_in_either_order(*, new_first: bool) -> None:
    """The engine updates both side by side, and deletes at the end."""
    owner, outs = made(pool(ROOT, "cmp1", "cmp2", a="1", b="2"))
    steps = [
        lambda: made(machine(ROOT, "cmp1", a="1")),
        lambda: PROVIDER.update(owner, outs, pool(ROOT, "cmp2", a="1", b="2")),
    ]
    for step in steps if new_first else reversed(steps):
        step()
    assert there(ROOT).keys() >= {"cmp1/a", "cmp2/a", "cmp2/b"}


def test_a_renamed_resource_keeps_its_machine() -> None:
    """For the engine that is a new resource, then the end of the old one."""
    old, outs = made(machine(ROOT, a="1"))
    new, _ = made(machine(ROOT, a="1"))
    assert old != new
    PROVIDER.delete(old, outs)
    assert there(ROOT) == {"ctl1/a": "1"}


def test_reading_an_untouched_tree_changes_nothing() -> None:
    owner, outs = made(pool(ROOT, "cmp1", a="1"))
    found = PROVIDER.read(owner, outs)
    assert (found.id, found.outs) == (owner, outs)


@pytest.mark.parametrize("damage", ["edited", "removed", "no text", "another mode", "a link", "a pipe"])
def test_reading_notices_what_was_done_to_a_file(damage: str) -> None:
    props = machine(ROOT, a="1", b="2")
    owner, outs = made(props)
    file = ROOT / "ctl1" / "a"
    {
        "edited": lambda: file.write_text("x"),
        "removed": file.unlink,
        "no text": lambda: file.write_bytes(b"\xff"),
        "another mode": lambda: file.chmod(0o600),
        "a link": lambda: file.rename(ROOT / "moved") and file.symlink_to((ROOT / "moved").resolve()),
        "a pipe": lambda: (file.unlink(), os.mkfifo(file)),
    }[damage]()
    found = PROVIDER.read(owner, outs)
    assert found.outs is not None
    assert PROVIDER.diff(owner, found.outs, props).changes
    PROVIDER.update(owner, found.outs, props)
    (ROOT / "moved").unlink(missing_ok=True)
    assert there(ROOT) == {"ctl1/a": "1", "ctl1/b": "2"}
    assert mode(file) == 0o644


def test_reading_notices_a_directory_in_the_place_of_a_file() -> None:
    """It may hold a person's files, so it is not deleted: the update fails until it is moved away."""
    props = machine(ROOT, a="1")
    owner, outs = made(props)
    (ROOT / "ctl1" / "a").unlink()
    (ROOT / "ctl1" / "a").mkdir()
    found = PROVIDER.read(owner, outs)
    assert found.outs is not None
    assert PROVIDER.diff(owner, found.outs, props).changes
    with pytest.raises(IsADirectoryError):
        PROVIDER.update(owner, found.outs, props)


def test_reading_a_tree_that_is_gone_says_so() -> None:
    owner, outs = made(machine(ROOT, a="1"))
    shutil.rmtree(ROOT)
    assert PROVIDER.read(owner, outs).id == ""


@pytest.mark.parametrize(
    ("props", "key", "reason"),
    [
        (pool(ROOT, "cmp1", "cmp1"), "nodes", "cmp1 is listed twice"),
        (pool(ROOT, "cmp1", a="${rakc}"), "files", "'rakc'"),
        (pool(ROOT, "cmp1", a="$ 5"), "files", "a template uses a value"),
        (machine(ROOT, **{"../../etc/passwd": "x"}), "files", "'../../etc/passwd' leads out"),
        (machine(ROOT, **{"/etc/passwd": "x"}), "files", "'/etc/passwd' leads out"),
        (machine(ROOT, node="../ctl1"), "files", "'../ctl1' leads out"),
        (machine(ROOT, node=".owners"), "files", "'.owners' leads out"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is(props: dict[str, Any], key: str, reason: str) -> None:
    (failure,) = PROVIDER.check({}, props).failures
    assert failure.property == key
    assert reason in failure.reason


ELSEWHERE = [
    {"root": "/etc"},
    {"root": "."},
    {"root": "build"},
    {"root": "build/../machines"},
    {"root": "build/.state/machines"},
    {"root": "build/dev/machines/../../prod/machines"},
    {"root": "build/dev/machines\n"},
    {"root": None},
    {"secretsRoot": "/root/.ssh"},
    {"secretsRoot": "build/dev/machines"},
    {"names": ["../../.."]},
    {"names": [".."]},
    {"names": [".owners"]},
    {"paths": ["../other/file"]},
    {"paths": ["/etc/passwd"]},
    {"paths": ["a\0b"]},
    {"paths": ["."]},
    {"secrets": {"/../../../etc/passwd": "x"}},
    {"secrets": {"//etc/passwd": "x"}},
    {"nodeSecrets": {"/../../../etc/passwd": json.dumps({"ctl1": "x"})}},
]
"""Properties that a person may have written into a state."""


@pytest.mark.parametrize("edited", ELSEWHERE)
def test_a_state_that_leads_elsewhere_deletes_and_writes_nothing(edited: dict[str, Any], tmp_path: Path) -> None:
    props = with_secrets(STACK, key="abc")
    owner, outs = made(props)
    (tmp_path / "passwd").touch()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    tampered = {**outs, **edited}
    for operation in (
        lambda: PROVIDER.delete(owner, tampered),
        lambda: PROVIDER.update(owner, tampered, props),
        lambda: PROVIDER.read(owner, tampered),
    ):
        with pytest.raises(ValueError, match=r"Nothing was written or deleted; was the state edited\?"):
            operation()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("edited", [{"root": "/etc"}, {"root": "build/.state/machines"}, {"secretsRoot": "../x"}])
def test_a_program_that_leads_elsewhere_is_refused(edited: dict[str, Any]) -> None:
    props = {**with_secrets(STACK, key="abc"), **edited}
    (failure,) = PROVIDER.check({}, props).failures
    assert failure.property in edited
    assert "expected build/<stack>/" in failure.reason
    with pytest.raises(ValueError, match="is not a directory of a stack"):
        PROVIDER.create(props)
    assert not STACK.exists()


def test_a_node_without_a_mark_of_ours_is_not_deleted() -> None:
    """A state may name any node: the mark proves that this resource wrote its files."""
    owner, outs = made(machine(ROOT, a="1"))
    other = ROOT / "handmade"
    other.mkdir()
    (other / "a").write_text("mine")
    PROVIDER.delete(owner, {**outs, "names": ["ctl1", "handmade"]})
    assert there(ROOT) == {"handmade/a": "mine"}


def test_a_link_out_of_the_tree_is_not_followed_to_delete(tmp_path: Path) -> None:
    owner, outs = made(machine(ROOT, **{"root/etc/hosts": "1"}))
    shutil.rmtree(ROOT / "ctl1" / "root")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "hosts").write_text("the host's own")
    (ROOT / "ctl1" / "root").symlink_to(tmp_path)
    PROVIDER.delete(owner, outs)
    assert (tmp_path / "etc" / "hosts").exists()


def test_sound_properties_pass_as_they_are() -> None:
    props = pool(ROOT, "cmp1", a="${node}")
    result = PROVIDER.check({}, props)
    assert (result.inputs, result.failures) == (props, [])


def test_an_interrupted_write_leaves_the_old_text(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, outs = made(machine(ROOT, a="old"))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        PROVIDER.update(owner, outs, machine(ROOT, a="new"))
    assert (ROOT / "ctl1" / "a").read_text() == "old"


def test_the_state_names_the_provider_and_carries_no_code() -> None:
    """Every resource's state has it: moving the class breaks `destroy` of every stack that exists."""
    pickled = base64.b64decode(serialize_provider(PROVIDER))
    assert b"components.tree" in pickled
    assert len(pickled) < 200


def test_the_serialised_provider_is_no_secret() -> None:
    assert not TreeProvider.serialize_as_secret_always


TREES = st.dictionaries(
    st.sampled_from(["a", "b", "d/e", "d/f"]),
    st.text(st.characters(exclude_characters="$", exclude_categories=["Cs"]), max_size=5),
    min_size=1,
)


@settings(deadline=None)
@given(st.lists(TREES, min_size=1, max_size=5))
def test_whatever_the_way_the_tree_is_what_was_last_asked(trees: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        root = ROOT
        owner, outs = made(machine(root, **trees[0]))
        for files in trees[1:]:
            props = machine(root, **files)
            result = PROVIDER.update(owner, outs, props)
            assert result.outs is not None
            assert not PROVIDER.diff(owner, result.outs, props).changes
            outs = result.outs
        assert there(root) == {f"ctl1/{path}": text for path, text in trees[-1].items()}
        assert PROVIDER.read(owner, outs).outs == outs
        PROVIDER.delete(owner, outs)
        assert not root.exists()
