"""Tests of RabbitMQ's start script: when a member makes the others forget its earlier membership."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from openstack import scripts
from tests.components.machine.test_directory import shellcheck
from tests.fakes import script

CONTROL = """\
echo "$*" >> "$LOG"
case $* in
*await_startup*) [ -e "$HOME/forgotten" ] ;;
*rabbit@b*forget_cluster_node*) touch "$HOME/forgotten" ;;
*) exit 69 ;;
esac
"""
SERVER = 'until [ ! -e "$RABBITMQ_DATA/joining" ]; do sleep 0.1; done; echo started >> "$LOG"\n'


@pytest.fixture
def member(tmp_path: Path) -> Path:
    """A machine whose rabbitmqctl and rabbitmq-server are scripts; the first member cannot be reached."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "etc/rabbitmq-env.conf").write_text("USE_LONGNAME=true\nNODENAME=rabbit@c\n")
    nodes = "".join(f"cluster_formation.classic_config.nodes.{n} = rabbit@{x}\n" for n, x in enumerate("abc", 1))
    (tmp_path / "etc/rabbitmq.conf").write_text("net_ticktime = 30\n" + nodes)
    script(tmp_path / "bin", "rabbitmqctl", CONTROL)
    script(tmp_path / "bin", "rabbitmq-server", SERVER)
    script(tmp_path / "bin", "getent", "exit 0\n")
    (tmp_path / "start").write_text(scripts.text("rabbitmq_start.sh"))
    return tmp_path


def start(member: Path) -> list[str]:
    """Starts the member. Returns what it ran, in this order."""
    environment = {
        **os.environ,
        "PATH": f"{member}/bin:/usr/bin:/bin",
        "HOME": str(member),
        "LOG": str(member / "log"),
        "RABBITMQ_DATA": str(member / "data"),
        "RABBITMQ_CONFIGURATION": str(member / "etc"),
    }
    subprocess.run(["sh", member / "start"], env=environment, check=True, timeout=60)
    return (member / "log").read_text().splitlines()


def test_a_member_with_data_asks_nobody(member: Path) -> None:
    (member / "data/mnesia").mkdir()
    (member / "data/mnesia/queues").touch()
    assert start(member) == ["started"]
    assert (member / "data/mnesia/queues").exists()


def test_a_member_waits_for_an_address_of_its_own_name_before_anything_else(member: Path) -> None:
    getent = """\
echo "getent $*" >> "$LOG"
[ -e "$HOME/asked" ] || { touch "$HOME/asked"; exit 2; }
"""
    script(member / "bin", "getent", getent)
    said = start(member)
    assert said[:2] == ["getent hosts c", "getent hosts c"]
    assert said[-1] == "started"


def test_an_empty_member_is_forgotten_by_the_first_that_answers(member: Path) -> None:
    said = start(member)
    forgets = [line for line in said if "forget_cluster_node" in line]
    assert [line.split("--node ")[1].split()[0] for line in forgets] == ["rabbit@a", "rabbit@b"]
    assert all(line.endswith("forget_cluster_node rabbit@c") for line in forgets)
    assert said[-1] == "started"
    assert not (member / "data/joining").exists()


def test_the_first_of_the_list_asks_the_others_and_not_itself(member: Path) -> None:
    (member / "etc/rabbitmq-env.conf").write_text("USE_LONGNAME=true\nNODENAME=rabbit@a\n")
    forgets = [line for line in start(member) if "forget_cluster_node" in line]
    assert [line.split("--node ")[1].split()[0] for line in forgets] == ["rabbit@b"]


def test_an_attempt_that_did_not_end_is_undone(member: Path) -> None:
    (member / "data/mnesia").mkdir()
    (member / "data/mnesia/half").touch()
    (member / "data/joining").touch()
    assert "started" in start(member)
    assert not (member / "data/mnesia/half").exists()


def test_shellcheck_has_no_objection(tmp_path: Path) -> None:
    assert shellcheck(tmp_path, {"start": scripts.text("rabbitmq_start.sh")}) == ""
