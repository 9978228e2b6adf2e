"""Galera's state by recorded answers of three real members of MariaDB 11.8, and by answers changed from them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from operations.living import galera
from operations.living.answers import Answer, parsed, script
from operations.living.quorum import LivingQuorum
from tests.operations.living.recorded_answers import answers, dead, garbage

NAMES = ("mysqld-0", "mysqld-1", "mysqld-2")


def read(found: dict[str, Answer]) -> LivingQuorum:
    return galera.read("mysqld", NAMES, found)


def changed(member: str, **variables: str) -> dict[str, Answer]:
    found = answers("galera-whole")
    rows = dict(line.split("\t", 1) for line in found[member].text("replication").splitlines())
    assert variables.keys() <= rows.keys()
    text = "".join(f"{name}\t{value}\n" for name, value in (rows | variables).items())
    return found | {member: Answer({**found[member].parts, "replication": text})}


def test_a_whole_cluster() -> None:
    found = read(answers("galera-whole"))
    assert (found.standing, found.counting, found.needed) == ("whole", 3, 2)
    assert found.figures == ("primary component of 3", "receive queue 0")
    assert {member.says for member in found.members} == {"Synced"}


def test_the_size_is_that_of_the_member_with_the_most_data() -> None:
    found = answers("galera-whole")
    for member, kibibytes in zip(NAMES, ("1024", "", "4096"), strict=True):
        found[member] = Answer({**found[member].parts, "size": f"{kibibytes}\t/var/lib/mysql\n"})
    cluster = read(found)
    assert (cluster.size, cluster.figures[-1]) == (4 * 2**20, "4 MiB on disk")
    assert read(answers("galera-whole")).size is None


def test_a_size_that_takes_long_to_find_keeps_no_answer_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answers("galera-whole")["mysqld-0"]
    (tmp_path / "said").write_text(whole.text("replication"), encoding="utf-8")
    slow = "exec sleep 600"
    for program, does in {"mariadb": f"cat {tmp_path}/said", "df": "echo full 100%", "du": slow}.items():
        (tmp_path / program).write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    asked = ["sh", "-c", script(galera.QUESTIONS)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    found = read(dict.fromkeys(NAMES, parsed(done.stdout, done.stderr)))
    assert (found.counting, found.size) == (3, None)
    assert found.members[0].troubles == ("its disk is 100 % full",)


@pytest.mark.parametrize("state", ["galera-one-lost", "galera-paused"])
def test_a_member_that_is_lost_or_paused(state: str) -> None:
    found = read(answers(state))
    assert (found.standing, found.serves, found.counting) == ("reduced", True, 2)
    assert [member.name for member in found.members if not member.counts] == ["mysqld-2"]
    assert found.figures[0] == "primary component of 2"


def test_a_member_that_goes_on_after_a_pause() -> None:
    """Seen: 3 s after a pause of 20 s it is Synced and Primary by its own word, in a view that is over."""
    found = read(answers("galera-thawed"))
    assert (found.standing, found.counting) == ("reduced", 2)
    assert found.members[2].says == "Synced, in another view of the cluster than the others"


def test_a_lost_majority() -> None:
    found = read(answers("galera-two-lost"))
    assert (found.standing, found.serves, found.counting) == ("lost", False, 0)
    assert "in a component without a majority" in found.members[0].says


def test_members_that_cannot_be_asked() -> None:
    assert read(dead(*NAMES)).standing == "unknown"


def test_garbage_is_no_answer() -> None:
    assert read(garbage(*NAMES)).standing == "unknown"


def test_a_member_that_joins_does_not_count_yet() -> None:
    found = read(changed("mysqld-1", wsrep_local_state="1", wsrep_local_state_comment="Joining", wsrep_ready="OFF"))
    assert (found.standing, found.serves, found.counting) == ("reduced", True, 2)
    assert found.members[1].says == "Joining: it has not all data yet"


def test_a_donor_counts() -> None:
    assert read(changed("mysqld-1", wsrep_local_state="2", wsrep_local_state_comment="Donor/Desynced")).counting == 3


def test_a_member_that_pauses_all_writers() -> None:
    found = read(changed("mysqld-2", wsrep_flow_control_requested="true", wsrep_local_recv_queue="311"))
    assert found.standing == "reduced"
    expected = "it pauses all writers by flow control: 311 transactions wait in its receive queue"
    assert found.members[2].troubles == (expected,)


def test_past_pauses_are_a_note() -> None:
    found = read(changed("mysqld-2", wsrep_flow_control_paused="0.43"))
    assert found.standing == "whole"
    assert found.notes == ("flow control has paused writers for 43% of the time since mysqld-2 started",)


def test_two_clusters_are_a_split() -> None:
    found = read(changed("mysqld-2", wsrep_cluster_state_uuid="another", wsrep_cluster_conf_id="1"))
    assert (found.standing, found.counting) == ("reduced", 2)
    assert "several clusters" in found.troubles[0]
    assert found.members[2].says == "Synced, in another view of the cluster than the others"
