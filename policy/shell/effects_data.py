"""Detects calls of programs that delete data of quorum members: files in data directories, disks and volumes.

Each reader gets a program's arguments and returns the effect in words, or "" if there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from policy.shell.arguments import arguments
from policy.shell.effects_cluster import CHANGES, DELETES
from policy.shell.member_traces import holds_data, in_data, is_disk, is_state
from policy.shell.syntax import Unreadable, is_known

ERASES = "erases a disk"


def _rm(words: Sequence[str]) -> str:
    given = arguments(words)
    deletes = holds_data if given.has("-r", "-R", "--recursive") else in_data
    return DELETES if any(deletes(path) for path in given.operands) else ""


def _files(words: Sequence[str]) -> str:
    """Reader for unlink, truncate, shred and srm, which delete or overwrite each file among their operands."""
    operands = arguments(words, ("-s", "--size", "-n", "-r", "-o", "-l")).operands
    if any(in_data(path) for path in operands):
        return DELETES
    return ERASES if any(is_disk(path) for path in operands) else ""


def _sed(words: Sequence[str]) -> str:
    """Reader for sed: in-place edits of a member's state, such as Galera's grastate.dat.

    Edits of settings are allowed.
    """
    given = arguments(words, ("-e", "--expression", "-f", "--file"))
    in_place = any(
        option.startswith(("-i", "--in-place")) or option in ("-ni", "-ri", "-Ei") for option in given.options
    )
    return CHANGES if in_place and any(is_state(path) for path in given.operands) else ""


def _mv(words: Sequence[str]) -> str:
    sources = arguments(words, ("-S", "--suffix")).operands
    sources = sources if "-t" in words else sources[:-1]
    return DELETES if any(holds_data(path) for path in sources) else ""


def _rsync(words: Sequence[str]) -> str:
    given = arguments(words, ("-e", "--rsh", "--exclude", "--include", "-f", "--filter"))
    if not any(option.startswith("--del") for option in given.options) or not given.operands:
        return ""
    return DELETES if holds_data(given.operands[-1].rpartition(":")[2]) else ""


def _dd(words: Sequence[str]) -> str:
    target = next((word[3:] for word in words if word.startswith("of=")), "")
    if target and not is_known(target):
        raise Unreadable("what it overwrites is not known")
    return ERASES if is_disk(target) else DELETES if target and in_data(target) else ""


def _disk(*harmless: str) -> Callable[[Sequence[str]], str]:
    """Makes a reader for a program that erases the disks among its operands, unless an option in `harmless` is set."""

    def read(words: Sequence[str]) -> str:
        given = arguments(words)
        if given.has("--help", "--version", *harmless):
            return ""
        if any(not is_known(word) for word in given.operands):
            raise Unreadable("the disk that it erases is not known")
        return ERASES if any(is_disk(word) for word in given.operands) else ""

    return read


def _wipefs(words: Sequence[str]) -> str:
    given = arguments(words, ("-t", "--types", "-o", "--offset"))
    erases = given.has("-a", "--all", "-o", "--offset") and not given.has("-n", "--no-act")
    return _disk()([*words]) if erases else ""


def _sgdisk(words: Sequence[str]) -> str:
    erasing = ("-Z", "--zap-all", "-z", "--zap", "-o", "--clear", "-d", "--delete")
    return _disk()(words) if arguments(words).has(*erasing) else ""


def _parted(words: Sequence[str]) -> str:
    return ERASES if {"rm", "mklabel", "mktable"} & set(words) else ""


def _verbs(*verbs: str) -> Callable[[Sequence[str]], str]:
    """Makes a reader for a program that erases a disk or a volume if one of these verbs or options is given."""
    return lambda words: ERASES if set(verbs) & {word.partition("=")[0] for word in words} else ""


def _always(words: Sequence[str]) -> str:
    return "" if arguments(words).has("-t", "--test", "--help") else ERASES


def _umount(words: Sequence[str]) -> str:
    return DELETES if any(in_data(path) for path in arguments(words, ("-t", "-O")).operands) else ""


_FILE_SYSTEMS = ("mkfs", "mkfs.ext4", "mkfs.ext3", "mkfs.xfs", "mkfs.btrfs", "mke2fs", "mkswap")

READERS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "rm": _rm,
    **dict.fromkeys(("unlink", "truncate", "shred", "srm"), _files),
    "mv": _mv,
    "sed": _sed,
    "rsync": _rsync,
    "dd": _dd,
    **dict.fromkeys(_FILE_SYSTEMS, _disk("-n", "-N")),
    "blkdiscard": _disk(),
    "wipefs": _wipefs,
    "sgdisk": _sgdisk,
    "parted": _parted,
    **dict.fromkeys(("lvremove", "vgremove", "pvremove"), _always),
    "lvm": _verbs("lvremove", "vgremove", "pvremove"),
    "cryptsetup": _verbs("luksFormat", "erase", "luksErase", "reencrypt"),
    "mdadm": _verbs("--zero-superblock", "--stop", "-S"),
    **dict.fromkeys(("zpool", "zfs"), _verbs("destroy", "rollback", "labelclear")),
    "nvme": _verbs("format", "sanitize", "write-zeroes"),
    "hdparm": _verbs("--security-erase", "--trim-sector-ranges"),
    "ceph-volume": _verbs("zap"),
    "umount": _umount,
}
