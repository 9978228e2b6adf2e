"""Real members of RabbitMQ with the rendered pod: no confirmed message is lost, whatever fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from proof.services import rabbitmq as proof
from proof.services.lab import Pod
from tests.services.judge import judge


def test_rabbitmq_keeps_what_it_confirmed(root: Path, rabbitmq: Pod) -> None:
    judge(proof.prove(root, rabbitmq, proof.QUICK))


@pytest.mark.heavy
def test_rabbitmq_survives_a_lost_disk_and_a_power_cut(root: Path, rabbitmq: Pod) -> None:
    judge(proof.prove(root, rabbitmq, proof.HEAVY))
