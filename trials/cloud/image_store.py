"""containerd's store with the lab's images: made once by a real containerd, then shared by all machines."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from console.errors import UserError

IMPORT = Path(__file__).parent / "import_images.sh"
_LAYERS = "io.containerd.snapshotter.v1.overlayfs/snapshots"
_LIMIT = 1800
"""Timeout of an import in seconds."""


def create(store: Path, machine_root: Path, archives: Sequence[Path]) -> None:
    """Imports archives, all of one directory, into a new store. Raises UserError if containerd refuses one."""
    shutil.rmtree(store, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="store-", dir=store.parent) as name:
        scratch = Path(name)
        for part in ("root", "work", "store"):
            (scratch / part).mkdir()
        words = [scratch, machine_root, archives[0].parent, *(archive.name for archive in archives)]
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", IMPORT, *map(str, words)],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
        if done.returncode:
            raise UserError(
                f"containerd could not import the lab's images:\n{done.stderr.strip()[-2000:]}\n"
                "Run the same command again to repeat the import."
            )
        (scratch / "store").rename(store)


def link(store: Path, target: Path, mounted: str) -> None:
    """Makes `target` a store of its own with the same images, for a machine that has `store` mounted at `mounted`.

    A layer's files are a symbolic link into the mounted store: a copy of 50 layers would be 100,000 files, and the
    kernel follows links when containerd mounts layers. Blobs are hard links, databases copies.
    """
    skipped = {store / _LAYERS / number / "fs" for number in _layers(store)}
    for directory, names, files in os.walk(store):
        here = Path(directory)
        names[:] = [name for name in names if here / name not in skipped]
        place = target / here.relative_to(store)
        place.mkdir(parents=True, exist_ok=True)
        for name in files:
            if name.endswith(".db"):
                shutil.copy2(here / name, place / name)
            else:
                os.link(here / name, place / name)
    for number in _layers(store):
        (target / _LAYERS / number / "fs").symlink_to(f"{mounted}/{_LAYERS}/{number}/fs")


def _layers(store: Path) -> list[str]:
    return [path.name for path in (store / _LAYERS).iterdir() if path.is_dir()]
