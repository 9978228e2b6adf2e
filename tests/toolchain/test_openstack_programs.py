"""The programs of an OpenStack release are installed once, from locked packages, and again after an interruption."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.errors import UserError
from console.programs import ProgramError
from console.progress import Reporter
from tests.fakes import script
from toolchain import openstack_programs, option_lists
from toolchain.openstack_programs import BUILD, DEFAULT, INSTALLER, LOCKS


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What is run, instead of running it; the cache is the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ran: list[list[str]] = []

    def run(command: list[str | Path], **_: object) -> list[str]:
        ran.append([str(word) for word in command])
        if command[1:3] == ["-m", "venv"]:
            script(Path(command[-1]) / "bin", "python", "exit 0")
        return []

    monkeypatch.setattr(openstack_programs, "run", run)
    return ran


def test_they_are_installed_once(commands: list[list[str]]) -> None:
    home = openstack_programs.ensure(DEFAULT, Reporter())
    installs = commands[1:]
    assert all("--require-hashes" in command for command in installs)
    assert [command[-1] for command in installs] == [str(INSTALLER), str(LOCKS / f"{DEFAULT}.lock")]
    assert installs[-1][installs[-1].index("--build-constraints") + 1] == str(BUILD)
    assert openstack_programs.ensure(DEFAULT, Reporter()) == home
    assert len(commands) == 3


def test_an_unfinished_installation_starts_over(commands: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[str | Path], **_: object) -> list[str]:
        raise ProgramError([str(word) for word in command], 1, ["ERROR: no network is unreachable"])

    with monkeypatch.context() as patch:
        patch.setattr(openstack_programs, "run", fail)
        with pytest.raises(UserError, match=r"No network: OpenStack 2026\.1 \(nova 33"):
            openstack_programs.ensure(DEFAULT, Reporter())
    openstack_programs.ensure(DEFAULT, Reporter())
    assert "--clear" in commands[0]


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"OpenStack 2031\.1 is not known; write one of: 2025\.1, 2025\.2, 2026\.1, 2026\.2"
    ):
        openstack_programs.ensure("2031.1", Reporter())


def test_projects_are_pinned_at_the_version_of_their_release() -> None:
    for release in openstack_programs.releases():
        wanted = re.findall(r"^([\w-]+)==(\S+)", (LOCKS / f"{release}.in").read_text(encoding="utf-8"), re.MULTILINE)
        lock = (LOCKS / f"{release}.lock").read_text(encoding="utf-8")
        assert len(wanted) >= 7
        assert all(f"\n{name}=={version} \\\n" in lock for name, version in wanted), release


def entry(name: str, **facts: object) -> dict[str, object]:
    plain = {"type": "string value", "secret": False, "deprecated_for_removal": False, "deprecated_reason": None}
    return {"dest": name, **plain, **facts}


def test_a_list_says_of_each_option_what_a_check_needs() -> None:
    document = {
        "options": {
            "DEFAULT": {"opts": [entry("port", type="port value"), entry("old-way", deprecated_for_removal=True)]},
            "auth": {"opts": [entry("auth_type"), entry("url", secret=True)]},
        },
        "deprecated_options": {
            "DEFAULT": [
                {"name": "auth-url", "replacement_group": "auth", "replacement_name": "url"},
                {"name": "port", "replacement_group": "auth", "replacement_name": "url"},
            ]
        },
    }
    auth: list[dict[str, object]] = [
        {"name": "password", "secret": True, "old": []},
        {"name": "username", "secret": False, "old": ["user-name"]},
    ]
    assert option_lists.list_of(document, auth) == {
        "DEFAULT": {
            "auth_url": {"kind": "string", "secret": True, "renamed": "auth/url"},
            "old_way": {"kind": "string", "removal": ""},
            "port": {"kind": "port"},
        },
        "auth": {
            "auth_type": {"kind": "string"},
            "password": {"kind": "string", "secret": True},
            "url": {"kind": "string", "secret": True},
            "user_name": {"kind": "string", "renamed": "auth/username"},
            "username": {"kind": "string"},
        },
    }
