"""Real members of OVN's northbound database with the rendered container: no acknowledged write is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.stackfile.settings import Networks
from tests.trials.services.judge import judge
from tests.trials.services.stack import documents
from trials.services import ovn
from trials.services.containers import read

pytestmark = [pytest.mark.waits, pytest.mark.heavy]


def test_ovn_keeps_what_it_acknowledged(ovn_root: Path) -> None:
    judge(ovn.prove(ovn_root, read(documents("dev", networks=Networks(backend="ovn")))))
