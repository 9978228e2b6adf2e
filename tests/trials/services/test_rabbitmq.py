"""Real members of RabbitMQ with the rendered container: no confirmed message is lost, whatever fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.stacks import full_size, parsed, two_brokers
from tests.trials.services.judge import judge
from tests.trials.services.stack import objects
from trials.services import rabbitmq as proof
from trials.services import rabbitmq_survivor
from trials.services.containers import TriedContainer, read

pytestmark = pytest.mark.waits


def test_rabbitmq_keeps_what_it_confirmed(root: Path, containers: Mapping[str, TriedContainer]) -> None:
    judge(proof.prove(root, containers["rabbitmq/rabbitmq"], proof.QUICK))


@pytest.mark.heavy
def test_one_of_three_goes_on_after_two_were_lost_for_good(
    root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    judge(rabbitmq_survivor.prove(root, containers["rabbitmq/rabbitmq"]))


@pytest.mark.heavy
def test_a_further_cluster_goes_on_without_the_first(root: Path) -> None:
    containers = read(objects(parsed(full_size("100", **two_brokers())), "brokers"))
    judge(proof.prove_beside(root, containers["rabbitmq/rabbitmq"], containers["neutron-rabbitmq/rabbitmq"]))


@pytest.mark.heavy
def test_rabbitmq_survives_a_lost_disk_and_a_power_cut(root: Path, containers: Mapping[str, TriedContainer]) -> None:
    judge(proof.prove(root, containers["rabbitmq/rabbitmq"], proof.HEAVY))
