"""What is read of tempest's output."""

from __future__ import annotations

from trials.services import tempest

PASSED = """\
{0} tempest.scenario.test_minimum_basic.TestMinimumBasicScenario.test_minimum_basic_scenario [92.1s] ... ok
======
Totals
======
Ran: 1 tests in 92.1 sec.
 - Passed: 1
 - Skipped: 2
 - Expected Fail: 0
 - Unexpected Success: 0
 - Failed: 0
"""


def test_a_run_without_failures() -> None:
    found = tempest.read(PASSED)
    assert (found.passed, found.failed, found.failure) == (1, 0, "")
    assert found.totals == {"Passed": 1, "Skipped": 2, "Unexpected Success": 0, "Failed": 0}


def test_failed_tests_are_named() -> None:
    text = PASSED.replace("... ok", "... FAILED").replace("Passed: 1", "Passed: 0").replace("Failed: 0", "Failed: 1")
    found = tempest.read(text)
    name = "tempest.scenario.test_minimum_basic.TestMinimumBasicScenario.test_minimum_basic_scenario"
    assert (found.passed, found.failed, found.failure) == (0, 1, name)


def test_a_run_without_tests_is_a_failure() -> None:
    assert tempest.read("tempest: No module").failure == "no test passed:\ntempest: No module"


def test_tests_of_a_run_that_was_stopped_are_counted() -> None:
    assert (
        tempest.ended(f"setting up\n{PASSED.splitlines()[0]}\n{{1}} api.test_b [2.1s] ... FAILED\n{{0}} api.test_c")
        == 2
    )
