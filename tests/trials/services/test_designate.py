"""Designate and BIND start from rendered configuration, and no zone is lost with a pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.stackfile.settings import Projects
from tests.trials.services.judge import judge
from tests.trials.services.stack import documents
from trials.services import designate_trials
from trials.services.containers import read
from trials.services.openstack_trials import Programs


@pytest.mark.heavy
def test_no_zone_is_lost_with_a_pod(root: Path, programs: Path, bind_root: Path) -> None:
    containers = read(documents("dev", projects=Projects.model_validate({"designate": {}})))
    judge(designate_trials.prove(Programs(root, programs), bind_root, containers))
