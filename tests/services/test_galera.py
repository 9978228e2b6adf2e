"""Real members of Galera with the rendered container: no acknowledged write is lost, whatever fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from proof.services import galera, galera_backup
from proof.services.containers import Container
from tests.services.judge import judge


def test_galera_keeps_what_it_acknowledged(root: Path, containers: Mapping[str, Container]) -> None:
    judge(galera.prove(root, containers["mysqld/mariadb"], galera.QUICK))


@pytest.mark.heavy
def test_a_backup_is_restored_after_all_data_was_destroyed(root: Path, containers: Mapping[str, Container]) -> None:
    judge(galera_backup.prove(root, containers))


@pytest.mark.heavy
def test_galera_survives_a_lost_donor_a_stuck_member_and_growth(
    root: Path, containers: Mapping[str, Container]
) -> None:
    judge(galera.prove(root, containers["mysqld/mariadb"], galera.HEAVY))
