"""Which trials `quorate services` runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.trials.services import prove_services
from console.errors import UserError
from tests.stacks import ROOT
from tests.trials.services.stack import documents
from trials.services.containers import read
from trials.services.etcd import RenderedEtcd
from trials.services.openstack_trials import Programs
from trials.services.run import Kind, trials


def test_an_unknown_kind_is_an_error_that_names_the_known() -> None:
    with pytest.raises(UserError, match=r"--kind is x; it may be cuts or stalls\."):
        prove_services(ROOT, "dev", "x")


@pytest.mark.parametrize("kind", ["cuts", "stalls"])
def test_a_kind_of_fault_is_of_the_services_that_keep_data_in_a_quorum(kind: Kind) -> None:
    root = Path("/nothing")
    found = trials(Programs(root, root), root, read(documents("dev")), RenderedEtcd(root, ""), kind)
    assert list(found) == ["etcd", "Galera", "RabbitMQ", "Ceph"]
