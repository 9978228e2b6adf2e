"""OpenStack's services start from rendered configuration and do their work, also while members fail."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.trials.services.judge import judge
from trials.services import openstack_trials
from trials.services.containers import TriedContainer


@pytest.mark.heavy
def test_a_server_boots_and_no_acknowledged_write_is_lost(
    root: Path, programs: Path, containers: Mapping[str, TriedContainer]
) -> None:
    judge(openstack_trials.prove(openstack_trials.Programs(root, programs), containers))
