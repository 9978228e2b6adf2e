"""The script of questions, run by a real shell, and what is read from its output."""

from __future__ import annotations

import subprocess

import pytest

from operations.living.answers import Answer, Unanswered, disk_use, late, parsed, script


def asked(**questions: str) -> Answer:
    done = subprocess.run(["sh", "-c", script(questions)], capture_output=True, text=True, check=False)
    return parsed(done.stdout, done.stderr)


def test_each_question_has_its_answer() -> None:
    found = asked(one="echo 1; echo 2", two="printf '{\"a\": 1}'")
    assert found.text("one") == "1\n2"
    assert found.document("two") == {"a": 1}


def test_a_question_that_fails_ends_no_other() -> None:
    found = asked(one="echo half; false", two="echo 2")
    assert found.text("two") == "2"
    with pytest.raises(Unanswered, match="no answer to the question for its one"):
        found.text("one")


def test_a_question_reads_no_input() -> None:
    assert asked(one="cat; echo end").text("one") == "end"


def test_a_member_that_answers_nothing_says_why() -> None:
    found = asked(one="echo 'Connection refused' >&2; exit 1", disk="echo 99%")
    with pytest.raises(Unanswered, match="Connection refused"):
        found.text("one")
    assert disk_use(found) == ("its disk is 99 % full",)
    assert parsed("").problem == "its program said nothing"


def test_what_the_machine_answers_is_no_answer_of_its_member() -> None:
    found = asked(status="exit 1", certificates="echo a", disk="exit 3")
    assert found.problem
    assert found.is_down
    assert found.parts["certificates"].strip() == "a"
    assert not asked(status="no-such-program-here", certificates="echo a").is_down


def test_what_was_answered_in_time_counts() -> None:
    assert late("\n@@ one\n1\n\n@@ size\n").text("one") == "1"
    found = late("\n@@ disk\n99%\n\n@@ one\n")
    assert (found.problem, found.is_down) == ("no answer within 15 s", False)
    assert disk_use(found) == ("its disk is 99 % full",)


@pytest.mark.parametrize("said", ["<html>", "", "[1", "\x00"])
def test_what_is_not_json_is_no_answer(said: str) -> None:
    with pytest.raises(Unanswered):
        Answer({"one": said}).json("one")


def test_a_list_is_no_document() -> None:
    with pytest.raises(Unanswered, match="not a JSON object"):
        Answer({"one": "[]"}).document("one")


@pytest.mark.parametrize(("said", "named"), [("84%", False), ("85%", True), ("-", False), ("", False)])
def test_a_disk_is_named_from_its_limit_on(said: str, named: bool) -> None:
    assert bool(disk_use(Answer({"disk": said}))) == named
