"""Explains an error of the operating system in one line: the path, the cause and the fix."""

from __future__ import annotations

import errno
import os
from pathlib import Path

EXPLAINED = {
    errno.ENOSPC: ("no space left on the disk", "Free some space"),
    errno.EDQUOT: ("the disk quota is exceeded", "Free some space"),
    errno.EROFS: ("the file system is read-only", "Mount it writable, or use a clone on another disk"),
    errno.EACCES: ("permission denied", "Give your user access to it"),
    errno.EPERM: ("not permitted", "Give your user access to it"),
    errno.EEXIST: ("exists, but is not a directory", "Move it away"),
    errno.ENOTDIR: ("a part of the path is not a directory", "Move that file away"),
    errno.EISDIR: ("is a directory; expected a file", "Move it away"),
    errno.ENOENT: ("no such file or directory", "Restore it"),
    errno.ENOEXEC: ("the program is damaged or built for another kind of machine", "Run `make setup`"),
    errno.EMFILE: ("too many open files", "Raise the limit (ulimit -n)"),
    errno.EIO: ("the disk reports an error", "Check the disk"),
}
NO_INODES = ("no inodes left: the file system holds too many files", "Delete files on it")


def explain(error: OSError) -> str:
    """Returns one line that explains an error of the operating system to the user.

    For an error without a known fix, the line contains the path and the system's text.
    """
    path = str(error.filename) if isinstance(error.filename, str | Path) else ""
    place = path or "A file"
    known = EXPLAINED.get(error.errno or 0)
    if known is None or (error.errno == errno.ENOENT and not path):
        return f"{place}: {error.strerror or error}." if path else f"{error.strerror or error}."
    reason, remedy = NO_INODES if error.errno == errno.ENOSPC and _has_no_inodes(Path(place)) else known
    return f"{place}: {reason}. {remedy}, then run the same command again."


def _has_no_inodes(path: Path) -> bool:
    """Whether the file system of a path has no free inodes. False if the file system does not count inodes."""
    place = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    system = os.statvfs(place)
    return system.f_files > 0 and system.f_favail == 0
