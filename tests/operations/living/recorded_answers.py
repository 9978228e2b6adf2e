"""Answers of real members, recorded in the test bed of trials/services with the rendered settings.

A file has what the script of a kind's questions printed on each member. RabbitMQ's are without feature flags and
listeners, and Galera's without counters that no reader uses. A member that was paused gave no answer.
"""

from __future__ import annotations

import json
from pathlib import Path

from operations.living.answers import PATIENCE, Answer, parsed

_DIRECTORY = Path(__file__).parent / "recorded"


def answers(name: str) -> dict[str, Answer]:
    """Returns the answers of a recorded state, such as etcd-whole, by member."""
    document = json.loads((_DIRECTORY / f"{name}.json").read_text(encoding="utf-8"))
    return {
        member: parsed(said["output"], said["errors"])
        if "output" in said
        else Answer(problem=f"no answer within {PATIENCE} s")
        for member, said in document.items()
    }


def dead(*members: str) -> dict[str, Answer]:
    """Returns members that cannot be asked."""
    return {member: Answer(problem="it has no pod") for member in members}


def garbage(*members: str) -> dict[str, Answer]:
    """Returns members that answer every question with what no program of a quorum says."""
    questions = ("members", "status", "replication", "cluster", "queues", "monitor", "pools", "tree", "health", "nodes")
    said = ("<html>502</html>", "[]", "{}", "null", '"text"', "\x00\x01")
    return {member: Answer(dict.fromkeys(questions, said[number % len(said)])) for number, member in enumerate(members)}
