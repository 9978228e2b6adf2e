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
UNTIL_GONE = 'until [ -e "$HOME/gone" ]; do sleep 0.05; done'
"""Lets an answer wait for the end of the member, after which the script asks nothing more."""
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


def start(member: Path, settle: float = 30) -> list[str]:
    """Starts the member. Returns what it ran, in this order. `settle`: seconds between questions about streams."""
    environment = {
        **os.environ,
        "PATH": f"{member}/bin:/usr/bin:/bin",
        "HOME": str(member),
        "LOG": str(member / "log"),
        "RABBITMQ_DATA": str(member / "data"),
        "RABBITMQ_CONFIGURATION": str(member / "etc"),
        "RABBITMQ_PAUSE": "0.1",
        "RABBITMQ_GRACE": "0.5",
        "RABBITMQ_SETTLE": str(settle),
    }
    subprocess.run(["sh", member / "start"], env=environment, check=True, timeout=60)
    return (member / "log").read_text().splitlines()


def with_space(member: Path, *free: int, limit: str = "1000") -> None:
    """Lets `df` say so many free bytes, one after the other; the last for good. The member has data, and a limit."""
    (member / "data/mnesia").mkdir()
    with (member / "etc/rabbitmq.conf").open("a") as file:
        file.write(f"disk_free_limit.absolute = {limit}\n")
    (member / "free").write_text("".join(f"{space}\n" for space in free))
    df = """\
echo Avail; head -n 1 "$HOME/free"
[ "$(wc -l < "$HOME/free")" = 1 ] || sed -i 1d "$HOME/free"
"""
    script(member / "bin", "df", df)


def answering(member: Path, text: str, last: int = 100) -> None:
    """Lets the first other member be silent, and the second answer this to questions about the cluster.

    `last`: number of the question whose answer comes when the member is gone. So does that of `halt`, as in Erlang.
    """
    waits = f'[ "$(grep -c "rabbit@b.* eval" "$LOG")" -lt {last} ] || {UNTIL_GONE}'
    control = f"""\
echo "$*" >> "$LOG"
case $* in
*rabbit@b*eval*) {waits}; echo {text} ;;
*rabbit@c*halt*) touch "$HOME/halted"; {UNTIL_GONE} ;;
*) exit 69 ;;
esac
"""
    script(member / "bin", "rabbitmqctl", control)


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


def questions(said: list[str]) -> list[str]:
    """The members that were asked about the cluster."""
    return [line.split("--node ")[1].split()[0] for line in said if " eval " in line]


def test_a_member_with_a_full_disk_ends_while_the_others_go_on(member: Path) -> None:
    with_space(member, 5000, 999)
    answering(member, "true")
    ended = "trap 'echo ended >> \"$LOG\"; exit 0' TERM\n"
    script(member / "bin", "rabbitmq-server", ended + "while true; do sleep 0.1; done\n")
    said = start(member)
    assert said[-1] == "ended"
    assert questions(said) == ["rabbit@a", "rabbit@b"]


def test_a_member_whose_disk_was_full_ends_later_when_the_others_go_on(member: Path) -> None:
    """The log may have failed while the others could not go on without the member."""
    with_space(member, 5000, 999, 5000)
    answering(member, '"$(cat "$HOME/answer" 2>/dev/null || { echo true > "$HOME/answer"; echo false; })"')
    ended = "trap 'echo ended >> \"$LOG\"; exit 0' TERM\n"
    script(member / "bin", "rabbitmq-server", ended + "while true; do sleep 0.1; done\n")
    assert questions(start(member)) == ["rabbit@a", "rabbit@b"] * 2


def test_a_member_that_cannot_end_is_halted(member: Path) -> None:
    with_space(member, 5000, 999)
    answering(member, "true")
    until_halted = "trap '' TERM\nuntil [ -e \"$HOME/halted\" ]; do sleep 0.1; done\n"
    script(member / "bin", "rabbitmq-server", until_halted + 'touch "$HOME/gone"\n')
    assert "erlang:halt" in start(member)[-1]


@pytest.mark.parametrize("answer", ["false", ""])
def test_a_member_with_a_full_disk_stays_if_the_others_need_it(member: Path, answer: str) -> None:
    with_space(member, 5000, 999)
    answering(member, answer, last=2)
    asked = 'until [ "$(grep -c "rabbit@b.* eval" "$LOG")" = 2 ]; do sleep 0.1; done; echo served >> "$LOG"\n'
    asked += 'touch "$HOME/gone"\n'
    script(member / "bin", "rabbitmq-server", f'touch "$LOG"\ntrap "echo ended >> $LOG" TERM\n{asked}')
    said = start(member)
    assert "ended" not in said
    assert said[-1] == "served"


def test_a_member_without_space_waits_for_it_before_it_starts(member: Path) -> None:
    with_space(member, 999, 999, 5000)
    answering(member, "true")
    said = start(member)
    assert questions(said) == ["rabbit@a", "rabbit@b"] * 2
    assert said[-1] == "started"


def test_a_member_without_space_starts_if_the_others_need_it(member: Path) -> None:
    with_space(member, 999)
    answering(member, "false")
    assert questions(start(member)) == ["rabbit@a", "rabbit@b"]


def test_a_member_with_space_asks_nobody(member: Path) -> None:
    with_space(member, 1000)
    assert start(member) == ["started"]


def test_a_member_adds_its_replicas_of_streams_until_none_is_lacking(member: Path) -> None:
    """The first question comes before RabbitMQ has started; one of three streams accepts no replica at first."""
    (member / "data/mnesia").mkdir()
    (member / "answers").write_text("\n3\n1\n0\n")
    control = """\
case $* in *--node*rabbit@c*add_replica*) echo asked >> "$LOG" ;; *) exit 69 ;; esac
answer=$(head -n 1 "$HOME/answers"); sed -i 1d "$HOME/answers"
[ "$answer" ] && echo "$answer"
"""
    script(member / "bin", "rabbitmqctl", control)
    script(member / "bin", "rabbitmq-server", 'until [ ! -s "$HOME/answers" ]; do sleep 0.1; done; sleep 1\n')
    assert start(member, settle=0.1) == ["asked"] * 4


@pytest.mark.parametrize(
    ("limit", "least"),
    [
        ("5GB", 5 * 10**9),
        ("5GiB", 5 * 2**30),
        ("3M", 3 * 2**20),
        ("7kB", 7000),
        ("7k", 7168),
        ("10737418240", 10 * 2**30),
    ],
)
def test_a_limit_has_the_units_of_rabbitmq(member: Path, limit: str, least: int) -> None:
    with_space(member, least - 1, least, limit=limit)
    answering(member, "true")
    said = start(member)
    assert questions(said) == ["rabbit@a", "rabbit@b"]
    assert said[-1] == "started"


def test_shellcheck_has_no_objection(tmp_path: Path) -> None:
    assert shellcheck(tmp_path, {"start": scripts.text("rabbitmq_start.sh")}) == ""
