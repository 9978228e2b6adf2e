"""Tests of the variables that `activate` sets and `deactivate` restores, and of reading the lock file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from console.errors import UserError
from console.programs import ProgramError
from console.progress import Reporter
from tests.fakes import ROOT, run, script
from toolchain import environment
from toolchain.engine_sources import fits
from toolchain.environment import hook, hooked, locked_version, pip_error

SHELL = "/bin/sh"
ACTIVATE = """\
deactivate () {
    unset VIRTUAL_ENV
}
deactivate nondestructive
VIRTUAL_ENV='%s'
export VIRTUAL_ENV
"""


def activate(venv: Path, settings: dict[str, str]) -> Path:
    """Returns the script `activate` with the hook, as the set-up writes it."""
    (venv / "bin").mkdir(parents=True)
    file = venv / "bin" / "activate"
    file.write_text(ACTIVATE % venv, encoding="utf-8")
    environment.connect(venv, venv / "engine" / "pulumi", venv, settings)
    return file


def shell(script: str, tmp_path: Path, **variables: str) -> str:
    result = run([SHELL, "-c", script], {"PATH": "/usr/bin:/bin", **variables}, tmp_path)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_activation_sets_and_leaving_restores(tmp_path: Path) -> None:
    script = activate(tmp_path / "venv", {"PULUMI_HOME": "/engine's home", "PULUMI_SKIP_UPDATE_CHECK": "true"})
    show = 'echo "${PULUMI_HOME-unset} ${PULUMI_SKIP_UPDATE_CHECK-unset}"'
    said = shell(f". {script}; {show}; deactivate; {show}", tmp_path, PULUMI_HOME="mine")
    assert said == "/engine's home true\nmine unset\n"


def test_a_state_of_the_users_own_is_kept(tmp_path: Path) -> None:
    script = activate(tmp_path / "venv", {"PULUMI_BACKEND_URL": "file:///clone/state"})
    show = 'echo "${PULUMI_BACKEND_URL-unset}"'
    assert shell(f". {script}; {show}", tmp_path, PULUMI_BACKEND_URL="s3://team") == "s3://team\n"
    assert shell(f". {script}; {show}; deactivate; {show}", tmp_path) == "file:///clone/state\nunset\n"


def test_changing_from_clone_to_clone_leaves_the_first_ones_state(tmp_path: Path) -> None:
    first = activate(tmp_path / "first", {"PULUMI_BACKEND_URL": "file:///first"})
    second = activate(tmp_path / "second", {"PULUMI_BACKEND_URL": "file:///second"})
    assert shell(f'. {first}; . {second}; echo "$PULUMI_BACKEND_URL"', tmp_path) == "file:///second\n"


def test_an_environment_without_a_program_of_the_engine_is_connected_again(tmp_path: Path) -> None:
    """As after an update of the clone that brings a further one."""
    venv = activate(tmp_path / "venv", {}).parent.parent
    assert environment.is_connected(venv, {})
    (venv / "bin" / "quorate-command-provider").unlink()
    assert not environment.is_connected(venv, {})


def test_the_engine_finds_its_own_programs_first(tmp_path: Path) -> None:
    """A release links only `pulumi` to a directory of PATH: its other programs are beside the file."""
    venv, release, path = tmp_path / "venv", tmp_path / "release", tmp_path / "path"
    for name in environment.BESIDE_PULUMI:
        script(release, name, "")
    path.mkdir()
    (path / "pulumi").symlink_to(script(release, "pulumi", ""))
    activate(venv, {})
    assert not (venv / "bin" / "pulumi-language-python").exists()
    environment.connect(venv, path / "pulumi", venv, {})
    assert (venv / "bin" / "pulumi").readlink() == path / "pulumi"
    for name in environment.BESIDE_PULUMI:
        assert (venv / "bin" / name).readlink() == release / name
    environment.connect(venv, tmp_path / "another" / "pulumi", venv, {})
    assert not (venv / "bin" / "pulumi-language-python").is_symlink()


def test_the_hook_is_put_in_once() -> None:
    once = hooked(ACTIVATE)
    assert hooked(once) == once
    assert once.count("quorate_leave") == 2  # one line: asked for, then called
    assert once.count(environment.HOOK) == 1


def test_the_hook_quotes_what_a_shell_would_read() -> None:
    assert "export PULUMI_HOME='/a b/$c'" in hook({"PULUMI_HOME": "/a b/$c"})


def test_engine_and_provider_follow_the_lock_file() -> None:
    """The engine and its Go SDK have one version that supports the Python SDK; a provider has its SDK's version."""
    lock = ROOT / "requirements.lock"
    cli = (ROOT / "toolchain" / "engine" / "pulumi" / "go.mod").read_text(encoding="utf-8")
    (engine,) = set(re.findall(r"github\.com/pulumi/pulumi/(?:pkg|sdk)/v3 v(\S+)", cli))
    assert fits(engine, locked_version(lock, "pulumi"))
    provider = (ROOT / "toolchain" / "engine" / "kubernetes" / "go.mod").read_text(encoding="utf-8")
    tagged = re.search(r"pulumi-kubernetes/provider/v4 \S+ // tag v(\S+)", provider)
    assert tagged
    assert tagged[1] == locked_version(lock, "pulumi-kubernetes")


def test_a_package_that_is_not_pinned_is_missed(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("pulumi-kubernetes==4.25.0 \\\n    --hash=sha256:0\n", encoding="utf-8")
    assert locked_version(lock, "pulumi-kubernetes") == "4.25.0"
    with pytest.raises(UserError, match="does not pin pulumi;"):
        locked_version(lock, "pulumi")


def test_a_wrong_hash_is_not_taken_for_a_network_fault() -> None:
    failure = ProgramError(
        ["pip"], 1, ["THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "timed out"]
    )
    assert "do not match the hashes of the lock file" in str(pip_error(failure, "it"))


def test_a_python_without_venv_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def packaged_apart(name: str) -> object:
        return None if name == "ensurepip" else object()

    monkeypatch.setattr(environment, "find_spec", packaged_apart)
    with pytest.raises(UserError, match="apt install python3-venv"):
        environment.ensure(tmp_path / ".venv", ROOT / "requirements.lock", environment.Reporter())
    assert not (tmp_path / ".venv").exists()


def test_the_environment_of_another_clone_is_not_emptied(tmp_path: Path) -> None:
    other, link = tmp_path / "other", tmp_path / ".venv"
    (other / "bin").mkdir(parents=True)
    (other / "bin" / "python").touch()
    link.symlink_to(other)
    with pytest.raises(UserError, match=r"\.venv is a link to .*other\. Remove the link"):
        environment.ensure_packages(link, ROOT / "requirements.lock", Reporter())
    assert (other / "bin" / "python").exists()


def test_a_launcher_of_another_version_is_written_anew(tmp_path: Path) -> None:
    venv, lock = tmp_path / ".venv", tmp_path / "requirements.lock"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").touch()
    lock.write_text("pip==1\n", encoding="utf-8")
    stamp = {"lock": environment.lock_digest(lock), "place": str(venv)}
    (venv / environment.STAMP).write_text(json.dumps(stamp), encoding="utf-8")
    assert not environment.is_ready(venv, lock)
    environment.write_launcher(venv, tmp_path)
    assert environment.is_ready(venv, lock)
    command = venv / "bin" / "quorate"
    command.write_text(f"{command.read_text(encoding='utf-8')}# of another version\n", encoding="utf-8")
    assert not environment.is_ready(venv, lock)
    environment.write_launcher(venv, tmp_path)
    assert environment.is_ready(venv, lock)
    assert command.stat().st_mode & 0o777 == 0o755
