"""Reads a text file that the user names: a regular file in UTF-8, of limited size.

Named pipes and devices are rejected, because reading them could block or never end.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISREG

LARGEST = 4 * 1024 * 1024
"""Maximum size of a file in bytes. A stack file with 10,000 servers, each in a separate entry, has about 2 MiB."""

_KINDS = (
    (S_ISDIR, "it is a directory"),
    (S_ISFIFO, "it is a named pipe"),
    (S_ISCHR, "it is a device"),
    (S_ISBLK, "it is a device"),
)


class UnreadableError(Exception):
    """A file that cannot be read. The message is the reason, such as `it is a directory`."""


class NotTextError(UnreadableError):
    """A file that is not UTF-8 text."""


def read(path: Path, largest: int = LARGEST) -> str:
    """Returns the text of a file. Raises UnreadableError if it cannot be read or has more than `largest` bytes.

    The error's message is the reason, and quotes no content of the file.
    """
    try:
        # Without O_NONBLOCK, opening a named pipe would wait until another process opens it for writing.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            if not S_ISREG(mode):
                reason = next((reason for is_kind, reason in _KINDS if is_kind(mode)), "it is not a regular file")
                raise UnreadableError(reason)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(largest + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UnreadableError(_reason(error)) from None
    except ValueError:  # a null character, or half of a surrogate pair
        raise UnreadableError("the path has a character that no path can have") from None
    if len(content) > largest:
        raise UnreadableError(f"it has more than {largest} bytes")
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise NotTextError(f"it is not UTF-8 text: line {line} has the byte 0x{content[error.start]:02x}") from None


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "its symbolic links form a loop"
    if error.errno == errno.ENXIO:
        return "it is a socket or a device without a driver"
    return os.strerror(error.errno).lower() if error.errno else "the operating system refuses it"
