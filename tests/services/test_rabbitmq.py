"""Real members of RabbitMQ with the rendered container: no confirmed message is lost, whatever fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from proof.services import rabbitmq as proof
from proof.services.containers import Container
from tests.services.judge import judge


def test_rabbitmq_keeps_what_it_confirmed(root: Path, containers: Mapping[str, Container]) -> None:
    judge(proof.prove(root, containers["rabbitmq/rabbitmq"], proof.QUICK))


@pytest.mark.heavy
def test_rabbitmq_survives_a_lost_disk_and_a_power_cut(root: Path, containers: Mapping[str, Container]) -> None:
    judge(proof.prove(root, containers["rabbitmq/rabbitmq"], proof.HEAVY))
