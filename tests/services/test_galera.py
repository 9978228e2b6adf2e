"""Real members of Galera with the rendered pod: no acknowledged write is lost, whatever fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from proof.services import galera
from proof.services.lab import Pod
from tests.services.judge import judge


def test_galera_keeps_what_it_acknowledged(root: Path, mysqld: Pod) -> None:
    judge(galera.prove(root, mysqld, galera.QUICK))


@pytest.mark.heavy
def test_galera_survives_a_lost_donor_a_stuck_member_and_growth(root: Path, mysqld: Pod) -> None:
    judge(galera.prove(root, mysqld, galera.HEAVY))
