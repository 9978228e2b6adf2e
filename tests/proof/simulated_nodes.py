"""A real control plane whose nodes are objects only: no kubelet runs a pod, and pods that are deleted end at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.cache import object_cache
from proof.control_plane import ControlPlane, control_plane
from proof.termination import terminate_pods


@contextmanager
def plane_without_kubelets(binaries: Path) -> Generator[ControlPlane]:
    with (
        control_plane(binaries) as found,
        object_cache(found.api, found.check) as cache,
        terminate_pods(found.api, cache),
    ):
        yield found


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def node_object(name: str) -> dict[str, Any]:
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": capacity, "allocatable": capacity},
    }
