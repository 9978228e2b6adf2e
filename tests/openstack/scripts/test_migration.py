"""The job that creates a project's schemas repeats an interrupted first migration, and touches no complete database."""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Callable, Sequence
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from openstack import scripts

MARK = "quorate_first_migration"
COMPLETE = frozenset({"first", "second"})
Migrate = Callable[..., int]


class OperationalError(Exception):
    """What PyMySQL raises if it gets no connection."""


class Server:
    """A database server with the tables of each database, which answers the statements of the script."""

    def __init__(self) -> None:
        self.tables: dict[str, set[str]] = {"nova_api": set(), "nova": set()}
        self.refusals = 0
        self.rows: list[tuple[str]] = []

    def connect(self, **_arguments: object) -> Server:
        if self.refusals:
            self.refusals -= 1
            raise OperationalError(1698, "Access denied for user 'nova'")
        return self

    def cursor(self) -> Server:
        return self

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_reason: object) -> None: ...

    def execute(self, statement: str, arguments: tuple[str, ...] = ()) -> None:
        if statement.startswith("SELECT"):
            self.rows = [(name,) for name in sorted(self.tables[arguments[0]])]
        elif found := re.fullmatch(r"(CREATE|DROP) TABLE (IF EXISTS )?`(\w+)`\.`(\w+)`( \(.*\))?", statement):
            word, lenient, database, table = found.group(1, 2, 3, 4)
            if word == "CREATE":
                assert table not in self.tables[database]
                self.tables[database].add(table)
            else:
                assert lenient or table in self.tables[database]
                self.tables[database].discard(table)
        else:
            assert statement.startswith("SET SESSION foreign_key_checks = ")

    def fetchall(self) -> Sequence[tuple[str]]:
        return self.rows


def _no_pause(_seconds: float) -> None:
    """Replaces time.sleep."""


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def migrate(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Migrate:
    """Returns a function that runs the script with a migration that ends as each of the given words says.

    `interrupted`: one of two tables is created. `complete`: both are; a complete migration may run again.
    """
    errors = types.SimpleNamespace(OperationalError=OperationalError)
    library = types.SimpleNamespace(connect=server.connect, err=errors)
    monkeypatch.setitem(sys.modules, "pymysql", library)
    found = util.spec_from_file_location("migration", Path(scripts.__file__).parent / "migration.py")
    assert found
    assert found.loader
    module: Any = util.module_from_spec(found)
    found.loader.exec_module(module)
    account = tmp_path / "migration.json"
    document = {"host": "proxysql", "port": 3306, "user": "nova", "databases": ["nova_api", "nova"]}
    account.write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.setenv("PASSWORD", "secret")
    monkeypatch.setattr(module.time, "sleep", _no_pause)

    def run(*outcomes: str) -> int:
        left = list(outcomes)

        def command(words: Sequence[str], **_options: object) -> object:
            assert words == ["nova-manage", "db", "sync"]
            outcome = left.pop(0)
            if server.tables["nova"] >= COMPLETE and outcome == "complete":
                return types.SimpleNamespace(returncode=0)
            if "first" in server.tables["nova"]:
                return types.SimpleNamespace(returncode=1)  # the table already exists
            server.tables["nova"] |= {"interrupted": {"first"}, "complete": COMPLETE}[outcome]
            return types.SimpleNamespace(returncode=0 if outcome == "complete" else 1)

        monkeypatch.setattr(module.subprocess, "run", command)
        monkeypatch.setattr(sys, "argv", ["migration.py", str(account), "nova-manage", "db", "sync"])
        code: int = module.main()
        assert not left
        return code

    return run


def test_a_first_migration_leaves_no_mark(server: Server, migrate: Migrate) -> None:
    assert migrate("complete") == 0
    assert server.tables == {"nova_api": set(), "nova": COMPLETE}


def test_an_interrupted_first_migration_starts_again(server: Server, migrate: Migrate) -> None:
    assert migrate("interrupted", "complete") == 0
    assert server.tables == {"nova_api": set(), "nova": COMPLETE}


def test_a_job_that_was_deleted_in_a_first_migration_starts_again(server: Server, migrate: Migrate) -> None:
    server.tables = {"nova_api": {MARK}, "nova": {MARK, "first"}}
    assert migrate("interrupted", "interrupted") == 1
    assert server.tables == {"nova_api": {MARK}, "nova": {MARK, "first"}}
    assert migrate("interrupted", "complete") == 0
    assert server.tables == {"nova_api": set(), "nova": COMPLETE}


def test_a_complete_database_keeps_its_tables(server: Server, migrate: Migrate) -> None:
    """An upgrade that is interrupted is not repeated from nothing: its tables contain data."""
    server.tables["nova"] = {"first"}
    assert migrate("interrupted") == 1
    assert server.tables["nova"] == {"first"}


def test_a_complete_database_with_a_mark_keeps_its_tables(server: Server, migrate: Migrate) -> None:
    """The job was deleted after the command and before the mark was dropped."""
    server.tables["nova"] = {MARK, *COMPLETE, "data"}
    assert migrate("complete") == 0
    assert server.tables["nova"] == {*COMPLETE, "data"}


def test_it_waits_for_the_account(server: Server, migrate: Migrate, capsys: pytest.CaptureFixture[str]) -> None:
    server.refusals = 3
    assert migrate("complete") == 0
    assert capsys.readouterr().out.count("waiting for the database: (1698") == 1
