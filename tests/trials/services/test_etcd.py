"""Real members of etcd with the rendered settings: their history is linearizable, whatever loses power."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import templates
from components.k8s_master import etcd as component
from console.progress import Reporter
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.stacks import STACKS
from tests.trials.services.judge import judge
from toolchain import cluster_programs
from trials.services import etcd, stalls


def test_etcd_keeps_what_it_acknowledged(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "LENGTH", 10.0)  # seconds; long enough for another leader
    members = plan(load_file(STACKS["dev"])).members
    files = templates.fill(component.parts(members[0], members, CERTIFICATES).plain_files, {})
    program = cluster_programs.ensure(Reporter()) / "etcd"
    judge(
        etcd.prove(
            root, etcd.RenderedEtcd(program, files["/etc/etcd/etcd.env"]), (*etcd.CUTS, etcd.paused, etcd.full_disk)
        )
    )
