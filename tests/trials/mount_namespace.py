"""A mount namespace, in which a test mounts disks that this host does not have afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def mount_namespace() -> Generator[int]:
    """Yields the ID of a process in a mount namespace of its own, which ends with it. Only root may make one."""
    holder = ["unshare", "--mount", "sh", "-c", "echo held; exec sleep infinity"]
    with subprocess.Popen(holder, stdout=subprocess.PIPE) as namespace:
        try:
            assert namespace.stdout
            assert namespace.stdout.readline() == b"held\n"
            yield namespace.pid
        finally:
            namespace.kill()
