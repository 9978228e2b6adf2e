"""containerd's store with the lab's images: made once by a real containerd, then copied to every machine.

Contents and layers are hard links, since containerd never writes them again. Its databases are copies.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from toolchain.progress import UserError, run

IMPORT = Path(__file__).parent / "import_images.sh"
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
            raise UserError(f"containerd could not import the lab's images: {done.stderr.strip()[-2000:]}")
        (scratch / "store").rename(store)


def copy(store: Path, target: Path) -> None:
    """Makes `target` a store of its own with the same images."""
    shutil.rmtree(target, ignore_errors=True)
    run(["cp", "-al", store, target])
    for database in target.glob("*/*.db"):
        copied = database.with_name(database.name + ".copy")
        shutil.copy2(database, copied)
        copied.replace(database)
