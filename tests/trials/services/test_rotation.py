"""Real MariaDB and RabbitMQ with rendered jobs: an account is replaced, and nothing that uses it notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from blueprint.stackfile.settings import SecretVersion
from tests.trials.services.judge import judge
from tests.trials.services.stack import documents
from trials.services import rotation
from trials.services.containers import TriedContainer, read

pytestmark = pytest.mark.waits

KEPT, REMOVED = SecretVersion(generation=2), SecretVersion(generation=2, previous="removed")


@pytest.fixture(scope="module")
def renderings(containers: Mapping[str, TriedContainer]) -> Sequence[Mapping[str, TriedContainer]]:
    """The containers of three renderings: generation 1; generation 2 with generation 1 valid; generation 2 alone."""
    names = ("keystone/database", "nova/messaging")
    replaced = (dict.fromkeys(names, version) for version in (KEPT, REMOVED))
    return (containers, *(read(documents("dev", secrets=versions)) for versions in replaced))


def test_an_account_of_mariadb_is_replaced(root: Path, renderings: Sequence[Mapping[str, TriedContainer]]) -> None:
    jobs = [each["keystone-databases/keystone-databases"] for each in renderings]
    judge([rotation.database(root, renderings[0]["mysqld/mariadb"], jobs)])


def test_an_account_of_rabbitmq_is_replaced(root: Path, renderings: Sequence[Mapping[str, TriedContainer]]) -> None:
    jobs = [each["nova-messaging/nova-messaging"] for each in renderings]
    judge([rotation.messaging(root, renderings[0]["rabbitmq/rabbitmq"], jobs)])
