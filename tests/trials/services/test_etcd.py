"""Real members of etcd with the rendered settings: their history is linearizable, whatever loses power."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trials.services.judge import judge
from trials.services import etcd, stalls


def test_etcd_keeps_what_it_acknowledged(
    root: Path, rendered_etcd: etcd.RenderedEtcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stalls, "LENGTH", 10.0)  # seconds; long enough for another leader
    judge(etcd.prove(root, rendered_etcd, (*etcd.CUTS, etcd.paused, etcd.full_disk)))
