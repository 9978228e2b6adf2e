"""`make cloud`, every drill of the whole stack `dev`, and `make verify`, twice in a row: 7 hours on two cores.

The report of the drills remains in build/dev-cloud/.
"""

from __future__ import annotations

import subprocess

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.trials import lab_stack
from tests.stacks import ROOT, STACKS
from tests.trials.machines import by_hand
from trials.cloud import network
from trials.cloud.lab_machines import lab_of

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

STACK = "dev"


@pytest.fixture(scope="module", autouse=True)
def _able() -> None:
    """Skips the tests on a host that cannot run the whole stack, or already runs one."""
    by_hand.skip_beside_another_lab()
    by_hand.skip_unless_able(lab_of(STACK, plan(load_file(STACKS[STACK])), ROOT))


@pytest.mark.parametrize("turn", ["first", "second"])
def test_the_whole_cloud_passes_every_drill(turn: str) -> None:
    try:
        _make("cloud")  # ends with a server that is ACTIVE
        _make("drill", "ALL=1")  # fails if a drill fails
        _verify()
    finally:
        _make("cloud-down")
    by_hand.require_nothing_left()


def _make(*words: str) -> None:
    subprocess.run(["make", *words, f"STACK={STACK}"], cwd=ROOT, check=True)


def _verify() -> None:
    """Compares the cluster with the stack, in the network where it is reached."""
    quorate = [ROOT / ".venv/bin/quorate", "verify", "--stack", lab_stack.name_of(STACK)]
    environment = lab_stack.environment(ROOT, STACK)
    subprocess.run(network.in_switch([*map(str, quorate)]), cwd=ROOT, env=environment, check=True)
