"""A rendered stack of architecture 100 that starts in seconds, and control planes to start it in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from blueprint.stackfile.loader import load_file
from commands.engine.temporary_rendering import rendered
from commands.stack import load
from console.progress import Reporter
from proof.expected import expected_state
from proof.prove import ProvedStack
from proof.simulation import Rendered, SimulatedCluster, read, simulated_cluster
from tests.shared import made_once
from tests.stacks import ROOT, SOURCES, full_size, write
from toolchain import cluster_programs
from toolchain.engine import MANIFEST, Engine

StartCluster = Callable[[Rendered], AbstractContextManager[SimulatedCluster]]


@pytest.fixture(scope="session")
def binaries() -> Path:
    """The programs of a control plane: those that QUORATE_CLUSTER points to, or those that the set-up builds."""
    given = os.environ.get("QUORATE_CLUSTER")
    return Path(given) if given else cluster_programs.ensure(Reporter())


@pytest.fixture(scope="session")
def etcd_programs(binaries: Path) -> list[Path]:
    """etcd, etcdctl and etcdutl."""
    node = cluster_programs.ensure(Reporter(), cluster_programs.NODE)
    return [binaries / "etcd", node / "etcdctl", node / "etcdutl"]


@contextmanager
def rendered_tree(root: Path, file: Path) -> Generator[Path]:
    """Renders a stack file with the engine, in a directory of its own."""
    if Engine.load(ROOT / ".venv" / MANIFEST) is None:
        pytest.skip("the engine is not set up: `make setup`")
    for name in (*SOURCES, ".venv"):
        (root / name).symlink_to(ROOT / name)
    stack = stack_of(file)
    if not file.is_relative_to(root):
        (root / f"Pulumi.{stack}.yaml").symlink_to(file)
    with rendered(root, load(root, stack)) as tree:
        yield tree


def stack_of(file: Path) -> str:
    """Returns the name of a stack file's stack."""
    return file.name.removeprefix("Pulumi.").removesuffix(".yaml")


@contextmanager
def rendered_subject(root: Path, file: Path) -> Generator[ProvedStack]:
    """The same as a stack to prove."""
    with rendered_tree(root, file) as tree:
        yield ProvedStack(stack_of(file), load_file(file), read(tree))


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> ProvedStack:
    """Architecture 100 in production with three computes and three storage nodes, rendered by the engine once a run."""

    def render(directory: Path) -> None:
        config = full_size("100")
        config["servers"][1]["pool"] = {"rabbitmq": "ctl[01-03]", "mysqld": "ctl[04-06]"}
        with rendered_tree(directory, write(directory, config, "Pulumi.small.yaml")) as tree:
            shutil.copytree(tree, directory / "tree")

    directory = made_once(tmp_path_factory, "small", render)
    return ProvedStack("small", load_file(directory / "Pulumi.small.yaml"), read(directory / "tree"))


@pytest.fixture
def start_cluster(small: ProvedStack, binaries: Path) -> StartCluster:
    """Starts a (changed) rendering of the small stack in a simulated cluster."""
    return lambda stack: simulated_cluster(stack, expected_state(small.settings), binaries, lambda _said: None)
