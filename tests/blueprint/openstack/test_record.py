"""Records of OpenStack projects: every list of their facts follows from one file, and a wrong record is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from blueprint.openstack.projects.record import FOLDER, VERSION, read, records
from tests.stacks import copy_sources

MADE_UP = """\
version: 1
title: Sundial, which tells projects the time
order: 1000
databases: [sundial]
messaging: true
identity: true
cache_key: true
fixed_secrets: {sundial/gnomon: it casts the shadow}
apis:
  sundial-api: {port: 8123, subdomain: time}
options:
  sundial.conf: [sundial, oslo.log]
"""
LISTS = """\
import json
from blueprint.openstack import options, secret_names
from blueprint.stackfile import further_clusters
from openstack.config import domains, ports, wiring
from toolchain import option_lists
print(json.dumps({
    "accounts": sorted(each for each in secret_names.ACCOUNTS if each.startswith("sundial/")),
    "cache keys": "sundial/memcached" in secret_names.CACHE_KEYS,
    "fixed": secret_names.FIXED["sundial/gnomon"],
    "databases": wiring.DATABASES["sundial"],
    "port": ports.APIS["sundial-api"],
    "subdomain": domains.SUBDOMAINS["sundial-api"],
    "options": options.FILES["sundial"],
    "namespaces": option_lists.PROJECTS["sundial"],
    "clusters": ["sundial" in kind.projects for kind in further_clusters.KINDS.values()],
}))
"""


def written(folder: Path, **records_of: str) -> Path:
    for name, text in records_of.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def problems(folder: Path) -> list[str]:
    return [str(each).removeprefix(f"{folder}/") for each in read(folder)[1]]


def test_every_list_has_a_project_whose_record_is_added(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    written(tmp_path / FOLDER.relative_to(Path(__file__).parents[3]), sundial=MADE_UP)
    done = subprocess.run([sys.executable, "-c", LISTS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "accounts": ["sundial/database", "sundial/identity", "sundial/messaging", "sundial/notifications"],
        "cache keys": True,
        "fixed": "it casts the shadow",
        "databases": ["sundial"],
        "port": 8123,
        "subdomain": "time",
        "options": ["sundial.conf"],
        "namespaces": {"sundial.conf": ["sundial", "oslo.log"]},
        "clusters": [True, True],
    }


def test_our_records_are_in_their_order() -> None:
    assert list(records())[:3] == ["keystone", "glance", "placement"]
    assert {record.version for record in records().values()} == {VERSION}
    assert records()["nova"].databases == ("nova_api", "nova_cell0", "nova")
    assert records()["heat"].accounts == ("database", "messaging", "notifications")


def test_all_mistakes_of_all_records_are_told_at_once(tmp_path: Path) -> None:
    wrong = yaml.safe_load(MADE_UP) | {"database": 1, "databases": "sundial", "version": 2}
    wrong["apis"]["sundial-api"]["subdomain"] = "the time"
    written(tmp_path, sundial=yaml.safe_dump(wrong), empty="version: 1\n", broken="version: [1\n")
    assert problems(tmp_path)[0].startswith("broken.yaml: is not valid YAML: ")
    assert problems(tmp_path)[1:] == [
        "empty.yaml (title): is missing; every record needs it",
        "empty.yaml (order): is missing; every record needs it",
        "sundial.yaml (version): 2 does not fit; write 1",
        "sundial.yaml (databases): 'sundial' does not fit; write a list",
        "sundial.yaml (apis.sundial-api.subdomain): 'the time' does not fit; "
        "write text like ^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$",
        "sundial.yaml (database): is not a key of a record (did you mean 'databases'?); remove it",
    ]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("order", 1000, "order 1000 is that of sundial already; write another"),
        ("databases", ["sundial"], "database sundial is that of sundial already; write another"),
        (
            "apis",
            {"x-api": {"port": 1, "subdomain": "time"}},
            "subdomain time is that of sundial already; write another",
        ),
        ("fixed_secrets", {"sundial/gnomon": "x"}, "secret sundial/gnomon is that of sundial already; write another"),
    ],
)
def test_two_projects_cannot_have_the_same(key: str, value: object, told: str, tmp_path: Path) -> None:
    other = {"version": 1, "title": "Water clock", "order": 1001, key: value}
    written(tmp_path, sundial=MADE_UP, water=yaml.safe_dump(other))
    assert [each.rpartition(": ")[2] for each in problems(tmp_path)] == [told]


def test_a_file_without_namespaces_is_refused(tmp_path: Path) -> None:
    written(tmp_path, sundial=MADE_UP.replace("[sundial, oslo.log]", "[]"))
    assert problems(tmp_path) == [
        "sundial.yaml: options.sundial.conf has no namespace; write that of the project, such as nova.conf"
    ]
