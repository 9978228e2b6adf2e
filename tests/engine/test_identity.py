"""Changes of a production stack in the words of `make diff`, and the rules that stop them, on the real engine.

The stacks are those of tests/data/identity. `positional` is written here: ctl03 failed and was taken out of the
pattern, and every later server moved up to the address, rack and pool of the one before it, as they did when these
followed the position in a pattern.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from changes.change import ChangeKind, Risk, worst
from changes.compare import changes
from changes.inputs import resources
from policy.resource import Resource
from tests.engine.conftest import PACK, ROOT_SECRET, Done, Project, copied, open_project, with_state
from tests.engine.test_history import violations
from tests.shared import made_once

FOLDER = Path(__file__).parent.parent / "data" / "identity"
HISTORY = {"one-server-at-a-time", "one-member-at-a-time", "majority-survives-change"}
Before = tuple[Project, list[Resource]]


def stack_file(name: str) -> dict[str, Any]:
    if name != "positional":
        return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    document = stack_file("nine")
    servers = document["config"]["quorate:servers"]
    index = next(number for number, each in enumerate(servers) if each["name"].startswith("ctl"))
    servers[index : index + 1] = list(_moved_up(servers[index]))
    return document


def _moved_up(pattern: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pools = ["rabbitmq"] * 3 + ["mysqld"] * 3 + ["keystone"] * 3
    names = [f"ctl{number:02}" for number in (1, 2, *range(4, 11))]
    for position, (name, pool) in enumerate(zip(names, pools, strict=True)):
        place = {"address": f"10.20.0.{31 + position}", "rack": f"r{1 + position}", "pool": pool}
        yield {**pattern, "name": name, **place}


def written(project: Project, name: str) -> Project:
    """The project with that stack file; what the engine wrote into the old one stays."""
    document = yaml.safe_load(project.stack_file.read_text(encoding="utf-8"))
    document["config"] = {**stack_file(name)["config"], "quorate:rootSecret": ROOT_SECRET}
    project.stack_file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return project


def previewed(done: Done) -> list[Resource]:
    return resources(json.dumps(each) for each in done.events)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str]) -> Callable[[str], Before]:
    """Returns a function that deploys a stack, once a run, and returns it with its resources."""

    def deploy(name: str, directory: Path) -> None:
        project = open_project(directory / "project", "site", engine, FOLDER / f"{name}.yaml")
        project.up()
        lines = [json.dumps(each) for each in project.run("preview").events]
        (directory / "preview.jsonl").write_text("\n".join(lines), encoding="utf-8")

    @cache
    def get(name: str) -> Before:
        directory = made_once(tmp_path_factory, f"identity-{name}", partial(deploy, name))
        project = Project(directory / "project", "site", with_state(engine, directory / "project"))
        return project, resources((directory / "preview.jsonl").read_text(encoding="utf-8").splitlines())

    return get


@dataclass(frozen=True)
class Case:
    """A change: the stacks before and after, and what is reported of it."""

    old: str
    new: str
    words: tuple[str, ...] = ()
    """The changes of the members of Galera, RabbitMQ and etcd, in the words of `make diff`."""
    level: Risk = Risk.PLAIN
    """The most severe change of the members of any quorum."""
    rules: frozenset[str] = frozenset()


def case(old: str, new: str, *words: str, level: Risk = Risk.PLAIN, rules: str = "") -> Case:
    return Case(old, new, words, level, frozenset(rules.split()))


CASES = [
    case(
        "nine",
        "replaced",
        "removes 1 member from StatefulSet rabbitmq: ctl03 no longer among its nodes",
        level=Risk.RISKY,
    ),
    case("nine", "moved", "removes 1 member from StatefulSet rabbitmq: ctl03 at another address", level=Risk.RISKY),
    case("nine", "added"),
    case(
        "nine",
        "swapped",
        "removes 1 member from StatefulSet mysqld: ctl04 no longer among its nodes",
        "removes 1 member from StatefulSet rabbitmq: ctl03 no longer among its nodes",
        level=Risk.FORBIDDEN,
        rules="one-server-at-a-time",
    ),
    case(
        "nine",
        "two-replaced",
        "removes 1 member from StatefulSet mysqld: ctl06 no longer among its nodes",
        "removes 1 member from StatefulSet rabbitmq: ctl03 no longer among its nodes",
        level=Risk.FORBIDDEN,
        rules="one-server-at-a-time",
    ),
    case(
        "nine",
        "positional",
        "removes 3 members from StatefulSet mysqld: ctl05, ctl06 at another address; ctl04 no longer among its nodes",
        "removes 1 member from StatefulSet rabbitmq: ctl03 no longer among its nodes",
        level=Risk.FORBIDDEN,
        rules="one-server-at-a-time one-member-at-a-time majority-survives-change",
    ),
    # ctl10 could run the log store until it is needed in the place of ctl03: a second host that members leave.
    case(
        "eleven",
        "removed",
        "removes 1 member from StatefulSet rabbitmq: ctl03 no longer among its nodes",
        level=Risk.FORBIDDEN,
        rules="one-server-at-a-time",
    ),
    # The same for the two nodes that Galera takes to grow.
    case(
        "eleven",
        "grown",
        "adds 2 members to StatefulSet mysqld: from 3 to 5",
        level=Risk.FORBIDDEN,
        rules="one-server-at-a-time one-member-at-a-time majority-survives-change",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.new)
def test_members_that_leave_and_join(case: Case, before: Callable[[str], Before], tmp_path: Path) -> None:
    first, was = before(case.old)
    done = written(copied(first, tmp_path / "project"), case.new).run("preview", *PACK)
    found = changes(was, previewed(done))
    of_members = [each for each in found if each.kind in (ChangeKind.MEMBERS_LEAVE, ChangeKind.MEMBERS_JOIN)]
    told = [each.says for each in of_members if each.says.split(":")[0].endswith(("mysqld", "rabbitmq", "etcd"))]
    assert tuple(told) == case.words
    assert worst(of_members) is case.level
    assert violations(done).keys() & HISTORY == case.rules, done.output
