"""The script by which a member of RabbitMQ tells what it has and goes on alone: what it does, and when it refuses."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from openstack import scripts
from operations.restoration import survivor_programs
from tests.components.machine.test_directory import shellcheck
from tests.fakes import script

CONTROL = """\
echo "$*" | tr '\\n' ' ' >> "$HOME/log"; echo >> "$HOME/log"
case $* in
*khepri:is_enabled\\(\\).) cat "$HOME/khepri" ;;
*list_running\\(\\)\\ =:=*) cat "$HOME/alone" ;;
*rabbit_amqqueue:delete*)
    left=$(head -n 1 "$HOME/left"); sed -i 1d "$HOME/left"
    [ "$left" != fails ] || exit 70
    echo "$left" ;;
*formatter=json*) cat "$HOME/said" ;;
esac
"""
VALUE = {"khepri": True, "listed": ["rabbit@a.x", "rabbit@b.x"], "running": ["rabbit@a.x"], "quorum": 3, "streams": 1}


@pytest.fixture
def member(tmp_path: Path) -> Path:
    script(tmp_path / "bin", "rabbitmqctl", CONTROL)
    script(tmp_path / "bin", "sleep", "")
    for name, text in (("khepri", "true"), ("alone", "true"), ("left", "0"), ("said", json.dumps({"value": VALUE}))):
        (tmp_path / name).write_text(f"{text}\n")
    return tmp_path


def run(member: Path, command: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PATH": f"{member}/bin:/usr/bin:/bin", "HOME": str(member), "RABBITMQ_DATA": str(member)}
    words = ["sh", "-c", scripts.text("rabbitmq_survivor.sh"), "sh", command]
    return subprocess.run(words, env=variables, capture_output=True, text=True, timeout=60, check=False)


def asked(member: Path) -> str:
    return (member / "log").read_text()


def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    assert shellcheck(tmp_path, {"survivor": scripts.text("rabbitmq_survivor.sh")}) == ""


def test_what_it_has_and_when_it_wrote_last(member: Path) -> None:
    logs = member / "mnesia/rabbit@a.x/quorum/rabbit@a.x"
    logs.mkdir(parents=True)
    for number, written in ((1, 1000), (2, 2000)):
        (logs / f"{number}.wal").touch()
        os.utime(logs / f"{number}.wal", (written, written))
    found = survivor_programs.rabbitmq(run(member, "look").stdout)
    assert found.served is not None
    assert found.served.timestamp() == 2000
    assert (found.together, found.serves) == (("a", "b"), False)


def test_metadata_come_before_queues_and_these_before_streams(member: Path) -> None:
    assert run(member, "go-on").returncode == 0
    steps = ("force_standalone", "force_all_queues", "{rabbit_stream_coordinator", "rabbit_amqqueue:delete")
    places = [asked(member).index(each) for each in steps]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("file", "said"), [("khepri", "its metadata are in Mnesia"), ("alone", "it does not run alone")]
)
def test_who_may_not_go_on_changes_nothing(member: Path, file: str, said: str) -> None:
    (member / file).write_text("false\n")
    done = run(member, "go-on")
    assert (done.returncode, said in done.stderr) == (1, True)
    assert "force" not in asked(member)


def test_streams_are_deleted_again_until_none_is_left(member: Path) -> None:
    (member / "left").write_text("2\nfails\n0\n")
    assert run(member, "go-on").returncode == 0
    assert asked(member).count("rabbit_amqqueue:delete") == 3


@pytest.mark.parametrize(("left", "said"), [("2\n" * 12, "2"), ("fails\n" * 12, "some")])
def test_streams_that_are_left_are_no_success(member: Path, left: str, said: str) -> None:
    (member / "left").write_text(left)
    done = run(member, "go-on")
    assert (done.returncode, done.stderr) == (
        1,
        f"{said} streams without a majority are not deleted after 12 attempts\n",
    )
