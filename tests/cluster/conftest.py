"""A rendered stack of architecture 100 that starts in seconds, and control planes to start it in."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from blueprint.stackfile.loader import load_file
from commands.temporary_rendering import rendered
from proof.expected import expected_state
from proof.prove import Subject
from proof.simulation import Rendered, SimulatedCluster, read, simulated_cluster
from tests.stacks import ROOT, SOURCES, full_size, write
from toolchain import cluster_programs
from toolchain.engine import MANIFEST, Engine
from toolchain.progress import Reporter

StartCluster = Callable[[Rendered], AbstractContextManager[SimulatedCluster]]


@pytest.fixture(scope="session")
def binaries() -> Path:
    """The programs of a control plane: what a developer points to, or what the set-up builds."""
    given = os.environ.get("QUORATE_CLUSTER")
    return Path(given) if given else cluster_programs.ensure(Reporter())


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Generator[Subject]:
    """Architecture 100 in production with three computes and three storage nodes, rendered by the engine."""
    if Engine.load(ROOT / ".venv" / MANIFEST) is None:
        pytest.skip("the engine is not set up: `make setup`")
    root = tmp_path_factory.mktemp("small")
    for name in (*SOURCES, ".venv"):
        (root / name).symlink_to(ROOT / name)
    config = full_size("100")
    config["servers"][1]["pool"] = {"rabbitmq": "ctl[01-03]", "mysqld": "ctl[04-06]"}
    file = write(root, config, "Pulumi.small.yaml")
    with rendered(root, "small") as tree:
        yield Subject("small", load_file(file), read(tree))


@pytest.fixture
def start_cluster(small: Subject, binaries: Path) -> StartCluster:
    """Starts a (changed) rendering of the small stack in a simulated cluster."""
    return lambda stack: simulated_cluster(stack, expected_state(small.settings), binaries, lambda _said: None)
