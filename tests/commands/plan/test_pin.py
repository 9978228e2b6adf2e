"""`make pin`: pools are written beside the servers, and nothing else of the file changes."""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from blueprint.patterns import expand, narrow
from blueprint.plan.plan_json import to_json
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from commands.plan.pin import Pin, pin, report
from tests.stacks import ROOT, STACKS

IDENTITY = ROOT / "tests" / "data" / "identity"
FILES = [*STACKS.values(), *sorted(IDENTITY.glob("[!c]*.yaml")), ROOT / "tests" / "broken" / "stacks" / "virt.yaml"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_only_pools_are_written_and_the_plan_stays(file: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(file, tmp_path))
    before, text = plan(load_file(copy)), copy.read_text(encoding="utf-8")
    pin(copy)
    assert to_json(plan(load_file(copy))) == to_json(before)
    assert all(node.pinned for node in plan(load_file(copy)).nodes)
    mask = str.maketrans("", "", " \n")
    kept = difflib.ndiff(_without_pools(text), _without_pools(copy.read_text(encoding="utf-8")))
    assert [line for line in kept if line[0] in "+-" and line.translate(mask) not in ("+", "-")] == []


def _without_pools(text: str) -> list[str]:
    """Returns a stack file's lines without `pool` and the lines below each `pool`."""
    lines: list[str] = []
    inside: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if inside is not None and indent > inside:
            continue
        inside = indent if line.strip().startswith("pool:") else None
        if inside is None:
            start, mark, rest = line.partition(", pool: ")
            lines.append(start + ("}" if mark and rest.endswith("}") else rest))
    return lines


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_second_run_writes_nothing(file: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(file, tmp_path))
    pin(copy)
    text, stamp = copy.read_text(encoding="utf-8"), copy.stat()
    assert pin(copy) == []
    assert (copy.read_text(encoding="utf-8"), copy.stat().st_ino) == (text, stamp.st_ino)


def test_it_says_what_it_wrote(tmp_path: Path) -> None:
    copy = Path(shutil.copy(IDENTITY / "removed.yaml", tmp_path))
    pins = pin(copy)
    assert report(Path("Pulumi.x.yaml"), pins) == [
        "Pulumi.x.yaml: wrote the pool of 1 entries; no node moves.",
        "  ctl[01-02,04-11]: rabbitmq ctl[01-02,10], mysqld ctl[04-06], keystone ctl[07-09]",
    ]
    assert report(Path("Pulumi.x.yaml"), []) == [
        "Pulumi.x.yaml: nothing to write; every dedicated node already has its pool."
    ]


SERVERS = """\
# A head that stays.
config:
    quorate:profile: lab   # aligned   as somebody likes it
    quorate:architecture: "100"
    quorate:features: [reduced-footprint]
    quorate:servers:
    - {name: "m1", address: 10.20.0.1, roles: [master], cpu: 4, memory: 8}
    - name: virt[1-3]   # hosts

      address: 10.20.0.11
      roles:
      - virt
      - compute         # both
      # a comment below roles
      cpu: 64
      memory: 512
      vms:
      - {id: 0, name: 'a[4-6]', cpu: 8, ram: 64, address: 10.20.0.31, roles: [controller], disk: 200}
      - id: 1
        cpu: 8
        ram: 64
        address: 10.20.0.41
        roles: [controller]   # no name
other:key: 'kept'
"""


def test_every_style_of_an_entry_is_edited_in_place(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(SERVERS, encoding="utf-8")
    file.chmod(0o640)
    pins = pin(file)
    pools = {str(each) for each in pins}
    text = file.read_text(encoding="utf-8")
    assert {each.entry for each in pins} == {"a[4-6]", "virt[1-3]-vm1"}, pools
    added = [line[2:] for line in difflib.ndiff(SERVERS.splitlines(), text.splitlines()) if line[0] == "+"]
    assert added == [
        "      - {id: 0, name: 'a[4-6]', cpu: 8, ram: 64, address: 10.20.0.31, roles: [controller], pool: mysqld, "
        "disk: 200}",
        "        pool: rabbitmq",
    ]
    assert text.index("# no name") < text.index("        pool: rabbitmq")
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_part_of_an_entry_on_one_line_is_quoted(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.lab.yaml"
    controllers = '{name: "c[1-7]", address: 10.20.0.31, roles: [controller], cpu: 64, memory: 512}'
    file.write_text(
        'config:\n  quorate:profile: lab\n  quorate:architecture: "100"\n  quorate:servers:\n'
        f"    - {{name: m1, address: 10.20.0.1, roles: [master], cpu: 4, memory: 8}}\n    - {controllers}\n",
        encoding="utf-8",
    )
    assert pin(file) == [Pin("c[1-7]", {"rabbitmq": "c[1-3]", "mysqld": "c[4-6]"}, is_whole=False)]
    entry = yaml.safe_load(file.read_text(encoding="utf-8"))["config"]["quorate:servers"][1]
    assert entry["pool"] == {"rabbitmq": "c[1-3]", "mysqld": "c[4-6]"}
    assert pin(file) == []


def test_a_stack_that_is_refused_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.bad.yaml"
    text = (IDENTITY / "nine-unpinned.yaml").read_text(encoding="utf-8").replace("ctl[01-09]", "ctl[01-08]")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidStackError, match="dedicates 9 nodes"):
        pin(file)
    assert file.read_text(encoding="utf-8") == text


@given(st.lists(st.integers(1, 130), min_size=1, max_size=30, unique=True), st.integers(1, 3))
def test_a_narrower_pattern_gives_the_names_back(numbers: list[int], width: int) -> None:
    names = [f"c{str(number).zfill(width)}x" for number in sorted(numbers)]
    assert expand(narrow(f"c[{str(1).zfill(width)}-130]x", names)) == names
