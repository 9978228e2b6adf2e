"""The own files of images and of the guest: scripts that shellcheck accepts, and the stand-in for ProxySQL."""

from __future__ import annotations

import importlib
import resource
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from console.errors import UserError
from tests.components.machine.test_directory import shellcheck
from tests.trials.services.stack import documents
from trials.cloud.images import kolla, layers
from trials.cloud.images.recipe import OWN_FILES
from trials.guest import guest_image

USERS = """\
# A comment.
USERS = {
    'nova-user': {
        'uid': 42436,
        'gid': 42436,
    },
    'hacluster-user': {
        'uid': 42486,
        'gid': 42486,
        'group': 'haclient',
    },
}
"""


def test_shellcheck_has_no_objection(tmp_path: Path) -> None:
    guests = Path(guest_image.__file__).parent.glob("*.sh")
    files = (layers.OVERLAY, *OWN_FILES.glob("*.sh"), *guests)
    scripts = {path.name: path.read_text(encoding="utf-8") for path in files}
    assert len(scripts) > 3
    assert shellcheck(tmp_path, scripts) == ""


def test_kollas_accounts_are_read_without_running_its_code() -> None:
    assert kolla.users(USERS) == {"nova": (42436, 42436, "nova"), "hacluster": (42486, 42486, "haclient")}
    with pytest.raises(ValueError, match="malformed"):
        kolla.users("USERS = open('/etc/passwd')")


def test_a_package_without_kollas_sources_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no sources"):
        kolla.read(tmp_path)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, without PyMySQL, which only its image has."""
    monkeypatch.setitem(sys.modules, "pymysql", types.ModuleType("pymysql"))
    return importlib.import_module("trials.cloud.images.files.proxysql_stand_in")


@pytest.fixture(scope="module")
def rendered() -> str:
    """ProxySQL's file as its start script joins it from the ConfigMap and the Secret."""
    texts: dict[str, str] = {}
    for each in documents("dev"):
        content: Mapping[str, str] = each.get("data") or each.get("stringData") or {}
        if each["kind"] in ("ConfigMap", "Secret"):
            texts |= {name: text for name, text in content.items() if name.startswith("proxysql-")}
    return texts["proxysql-members.cnf"] + texts["proxysql-accounts.cnf"]


def _allows(files: int) -> Callable[[int], tuple[int, int]]:
    """A system that allows a process so many open files."""

    def limit(number: int) -> tuple[int, int]:
        return (1024, files)

    return limit


def test_the_stand_in_reads_what_the_stack_renders_for_proxysql(
    stand_in: Any, rendered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", _allows(1048576))
    members = stand_in.read_members(rendered)
    assert members == [(f"mysqld-{number}.mysqld-members.openstack.svc", 3306) for number in range(3)]
    assert stand_in.option(rendered, "monitor_username") == "monitor"
    lines = stand_in.rendered(rendered, members, "/var/lib/proxysql").splitlines()
    servers = [line.split() for line in lines if line.startswith("  server ")]
    assert [words[-1] == "backup" for words in servers] == [False, True, True]
    assert "  bind 0.0.0.0:6033" in lines
    assert "  maxconn 10000" in lines
    monkeypatch.setattr(resource, "getrlimit", _allows(20000))
    assert "  maxconn 9950\n" in stand_in.rendered(rendered, members, "/var/lib/proxysql")


def test_the_stand_in_takes_the_heaviest_member_first(stand_in: Any) -> None:
    text = '{ address="a", port=1, weight=5 }, { address="b", port=2, hostgroup=1, weight=50 }'
    assert stand_in.read_members(text) == [("b", 2), ("a", 1)]


def test_the_stand_in_names_an_option_that_is_missing(stand_in: Any) -> None:
    with pytest.raises(SystemExit, match="monitor_username"):
        stand_in.option("", "monitor_username")
