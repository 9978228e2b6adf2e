"""A machine is replaced in the text of a stack file: only its own values change, and no other machine moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.plan.replaced_server import NewMachine, StackFileChange, changed
from console.errors import UserError
from tests.operations.replacement.dying_cloud import host_key, stack_file
from tests.stacks import STACKS


def change(file: Path, dead: str, *values: str) -> StackFileChange:
    return changed(file, plan(load_file(file)), dead, NewMachine(*values))


def lines(found: StackFileChange) -> list[str]:
    """The changed lines, each with - or +."""
    return [line for line in found.difference.splitlines()[2:] if line[0] in "+-"]


def test_every_other_byte_stays(tmp_path: Path) -> None:
    file = stack_file(tmp_path)
    before = file.read_text()
    found = change(file, "database2", "metal4", "10.20.0.39", host_key(9))
    assert lines(found) == [
        "-    - name: database2 # in room 2",
        "-      address: 10.20.0.32",
        f"-      hostKey: {host_key(32)}",
        "+    - name: metal4 # in room 2",
        "+      address: 10.20.0.39",
        f"+      hostKey: {host_key(9)}",
    ]
    assert file.read_text() == before
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_quotes_stay(tmp_path: Path) -> None:
    file = stack_file(tmp_path)
    text = file.read_text().replace("name: database2", "name: 'database2'")
    file.write_text(text.replace("address: 10.20.0.32", 'address: "10.20.0.32"'))
    found = change(file, "database2", "metal4", "10.20.0.39")
    assert lines(found)[2:] == ["+    - name: 'metal4' # in room 2", '+      address: "10.20.0.39"']


def test_a_pin_that_names_the_machine_goes_along(tmp_path: Path) -> None:
    file = stack_file(tmp_path)
    before, name, after = file.read_text().partition("name: database2")
    file.write_text(before + name + after.replace("pool: mysqld", "pool: {mysqld: database2}", 1))
    assert "+      pool: {mysqld: metal4}" in lines(change(file, "database2", "metal4"))


def test_a_name_that_yaml_reads_as_a_number_is_quoted(tmp_path: Path) -> None:
    assert '+    - name: "007" # in room 2' in lines(change(stack_file(tmp_path), "database2", "007"))


def test_of_a_pattern_only_the_host_key_changes(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.prod.yaml"
    keys = "\n".join(f"        ctl{number:02}: {host_key(number)}" for number in range(1, 10))
    roles = "      roles: [controller]\n"
    file.write_text(STACKS["prod"].read_text().replace(roles, f"{roles}      hostKey:\n{keys}\n"))
    assert lines(change(file, "ctl05", "", "", host_key(99))) == [
        f"-        ctl05: {host_key(5)}",
        f"+        ctl05: {host_key(99)}",
    ]
    for values in (("new5",), ("", "10.20.9.9")):
        with pytest.raises(UserError, match="ctl05 is one of a pattern of names"):
            change(file, "ctl05", *values)
    with pytest.raises(UserError, match="The entry of master2 in the stack file has no hostKey to replace"):
        change(file, "master2", "", "", host_key(99))


def test_a_virtual_machine_has_its_own_entry(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(STACKS["two-servers"].read_text())
    gone, come = lines(change(file, "controller2", "controller9"))
    assert gone.startswith("-        - {id: 1, name: controller2, ")
    assert come == "+" + gone[1:].replace("controller2", "controller9")


def test_an_invalid_change_is_refused(tmp_path: Path) -> None:
    file = stack_file(tmp_path)
    with pytest.raises(UserError, match=r"the stack file would be invalid:(?s:.*)10\.20\.0\.31"):
        change(file, "database2", "metal4", "10.20.0.31")
    with pytest.raises(UserError, match="the stack file would be invalid"):
        change(file, "database2", "no name")


def test_a_change_that_moves_others_is_refused(tmp_path: Path) -> None:
    file = stack_file(tmp_path)
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if "pool:" not in line))
    with pytest.raises(UserError, match=r"other machines would get another place: .*Run `quorate pin` first"):
        change(file, "messaging1", "metal4", "10.20.0.99")


def test_servers_in_another_file_are_not_written(tmp_path: Path) -> None:
    file = stack_file(tmp_path)
    planned = plan(load_file(file))
    head = file.read_text().partition("  quorate:servers:\n")[0]
    file.write_text(f"{head}  quorate:servers: own/servers.yaml\n")
    with pytest.raises(UserError, match="database2 has no entry with its name in the stack file itself"):
        changed(file, planned, "database2", NewMachine("metal4"))
