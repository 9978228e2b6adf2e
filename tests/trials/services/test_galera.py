"""Real members of Galera with the rendered container: no acknowledged write is lost, whatever fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.stacks import full_size, own_galera, parsed
from tests.trials.services.judge import judge
from tests.trials.services.stack import objects
from trials.services import galera, galera_backup, galera_survivor, two_galeras
from trials.services.containers import TriedContainer, read

pytestmark = pytest.mark.waits


def test_galera_keeps_what_it_acknowledged(root: Path, containers: Mapping[str, TriedContainer]) -> None:
    judge(galera.prove(root, containers["mysqld/mariadb"], galera.QUICK))


@pytest.mark.heavy
def test_a_backup_is_restored_after_all_data_was_destroyed(
    root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    judge(galera_backup.prove(root, containers))


@pytest.mark.heavy
def test_galera_survives_a_lost_donor_a_stuck_member_and_growth(
    root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    judge(galera.prove(root, containers["mysqld/mariadb"], galera.HEAVY))


@pytest.mark.heavy
def test_one_of_three_goes_on_after_two_were_lost_for_good(
    root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    judge(galera_survivor.prove(root, containers["mysqld/mariadb"]))


@pytest.mark.heavy
def test_a_further_galera_is_a_cluster_apart(root: Path) -> None:
    containers = read(objects(parsed(full_size("100", **own_galera())), "galeras"))
    users = {"mysqld": "keystone", "neutron-mysqld": "neutron"}
    judge(two_galeras.prove(root, containers, "neutron-mysqld", users))
