"""Computes the files that programs write: sed -i, cp, install, tee, scp and the like, and what programs print.

Where the text cannot be computed, it is UNKNOWN.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from policy.shell.arguments import arguments
from policy.shell.sed import Uncomputed, sed_call
from policy.shell.syntax import UNKNOWN, is_known

MOUNTS = "mount command"
"""Stands for the path of a file with what `mount` mounts, in the form of /etc/fstab."""
MANAGER = "systemctl set-environment"
"""Stands for the path of a file with the variables that systemd gives to all units."""
COMMAND_LINE = "etcd command line"
"""Stands for the path of a file with the words that start etcd."""

_STDIN = ("/dev/stdin", "-", "/dev/fd/0")


@dataclass(frozen=True)
class Edit:
    """A file that a program writes."""

    path: str
    text: str
    appends: bool = False
    """Whether the text is appended to the file."""
    host: str = ""
    """The machine that the program copies the file to; "" for its own machine."""


@dataclass(frozen=True)
class Surroundings:
    """What a program can read."""

    stdin: str | None
    """Its standard input; None if it has none."""
    read: Callable[[str], str | None]
    """Returns the text of a file by its path; None if the file is not known."""
    paths: Callable[[], Sequence[str]]
    """Returns the paths of the known files."""

    def text(self, path: str) -> str:
        """Returns the text of a file, or of standard input; UNKNOWN if it is not known."""
        text = self.stdin if path in _STDIN else self.read(path)
        return UNKNOWN if text is None else text

    def matching(self, path: str) -> list[str]:
        """Returns the known files that a path with wildcards names; the path itself if it has none."""
        if not any(each in path for each in "*?["):
            return [path]
        return [each for each in self.paths() if fnmatchcase(each, path)]

    def is_directory(self, path: str) -> bool:
        """Whether a path is written like a directory, or is one of a known file."""
        return path.endswith(("/", ".d")) or any(each.startswith(f"{path}/") for each in self.paths())


def edits(words: Sequence[str], around: Surroundings) -> list[Edit]:
    """Returns the files that a program writes. `words`: its name and its arguments."""
    reader = _READERS.get(words[0].rpartition("/")[2])
    return list(reader(words[1:], around)) if reader else []


def output(words: Sequence[str], around: Surroundings) -> str | None:
    """Returns what a program prints; None if it cannot be computed."""
    program = words[0].rpartition("/")[2]
    if program == "cat":
        operands = arguments(words[1:]).operands or ("-",)
        return "".join(around.text(each) for each in operands)
    if program == "sed":
        try:
            call = sed_call(words[1:])
            return None if call.in_place else call.of("".join(around.text(each) for each in call.files or ("-",)))
        except Uncomputed:
            return None
    return None


def _sed(words: Sequence[str], around: Surroundings) -> Iterator[Edit]:
    try:
        call = sed_call(words)
    except Uncomputed:
        operands = arguments(words, ("-e", "--expression", "-f", "--file")).operands
        yield from (Edit(each, UNKNOWN) for each in operands)
        return
    for path in call.files if call.in_place else ():
        for each in around.matching(path):
            try:
                yield Edit(each, call.of(around.text(each)))
            except Uncomputed:
                yield Edit(each, UNKNOWN)


def _tee(words: Sequence[str], around: Surroundings) -> Iterator[Edit]:
    given = arguments(words)
    for path in given.operands:
        yield Edit(path, around.text("-"), given.has("-a", "--append"))


def _copies(*valued: str) -> Callable[[Sequence[str], Surroundings], Iterator[Edit]]:
    """Makes a reader for cp, mv and install. `valued`: options with a separate value."""

    def read(words: Sequence[str], around: Surroundings) -> Iterator[Edit]:
        given = arguments(words, ("-t", "--target-directory", "-S", "--suffix", *valued))
        if given.has("-d", "--directory") and valued:
            return
        directory = given.value("-t", "--target-directory")
        sources = [*given.operands] if directory else [*given.operands[:-1]]
        target = directory or (given.operands[-1] if sources else "")
        into = bool(directory) or len(sources) > 1 or around.is_directory(target)
        for source in sources:
            for each in around.matching(source):
                name = posixpath.basename(each.rstrip("/"))
                yield Edit(posixpath.join(target, name) if into else target, around.text(each))

    return read


def _link(words: Sequence[str], around: Surroundings) -> Iterator[Edit]:
    """Reader for ln, of links to known files only: units are linked to enable them."""
    for each in _copies()(words, around):
        if each.text != UNKNOWN:
            yield each


def _remote_copies(words: Sequence[str], around: Surroundings) -> Iterator[Edit]:
    """Reader for scp and rsync to another machine."""
    valued = ("-i", "-o", "-P", "-F", "-J", "-l", "-e", "--rsh", "--rsync-path", "--exclude", "--chmod", "--chown")
    *sources, target = [*arguments(words, valued).operands, ""][:-1] or [""]
    host, colon, path = target.rpartition("@")[2].partition(":")
    for source in sources if colon and "/" not in host else ():
        name = posixpath.basename(source.rstrip("/"))
        into = path.endswith(("/", ".d")) or len(sources) > 1 or not path
        yield Edit(posixpath.join(path, name) if into else path, around.text(source), host=host)


def _fetched(letter: str, option: str) -> Callable[[Sequence[str], Surroundings], Iterator[Edit]]:
    """Makes a reader for a program that writes what it fetches to the file that an option names.

    `letter`: the short form of `option`, which may follow other letters, as in `-sLo FILE`.
    """
    names = re.compile(rf"-[A-Za-z]*{letter}|{option}")

    def read(words: Sequence[str], _around: Surroundings) -> Iterator[Edit]:
        following = [words[index + 1] for index, word in enumerate(words[:-1]) if names.fullmatch(word)]
        following += [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]
        yield from (Edit(path, UNKNOWN) for path in following if path not in _STDIN)

    return read


def _dd(words: Sequence[str], around: Surroundings) -> Iterator[Edit]:
    given = {name: value for word in words for name, _, value in [word.partition("=")]}
    if "of" in given:
        yield Edit(given["of"], around.text(given.get("if", "-")), "append" in given.get("oflag", ""))


def _crudini(words: Sequence[str], _around: Surroundings) -> Iterator[Edit]:
    given = arguments(words)
    path, _section, *pair = [*given.operands, "", ""]
    if given.has("--set") and pair[0]:
        yield Edit(path, f"{pair[0]}={pair[1]}\n", appends=True)


def _systemctl(words: Sequence[str], around: Surroundings) -> Iterator[Edit]:
    given = arguments(words, ("--drop-in", "-H", "--host", "-M", "--machine"))
    verb, *names = [*given.operands, ""]
    names = [name for name in names if name]
    if verb == "set-environment":
        yield Edit(MANAGER, "".join(f"{name}\n" for name in names), appends=True)
    for name in names if verb == "edit" else ():
        unit = name if "." in name else f"{name}.service"
        file = given.value("--drop-in") or "override.conf"
        path = unit if given.has("--full") else f"{unit}.d/{file}"
        root = "/run" if given.has("--runtime") else "/etc"
        yield Edit(f"{root}/systemd/system/{path}", around.text("-"))


def _mount(words: Sequence[str], _around: Surroundings) -> Iterator[Edit]:
    given = arguments(words, ("-t", "--types", "-o", "--options", "-L", "-U"))
    if not given.operands:
        return
    device, directory = ("none", *given.operands)[-2:]
    kind = given.value("-t", "--types") or "auto"
    options = [
        value for each in given.options for name, _, value in [each.partition("=")] if name in ("-o", "--options")
    ]
    if given.has("-B", "--bind", "-R", "--rbind"):
        options.append("bind")
    yield Edit(MOUNTS, f"{device} {directory} {kind} {','.join(options) or 'defaults'} 0 0\n", appends=True)


def _etcd(words: Sequence[str], _around: Surroundings) -> Iterator[Edit]:
    if any(word.startswith("-") and is_known(word) for word in words):
        yield Edit(COMMAND_LINE, f"etcd {' '.join(words)}\n", appends=True)


_READERS: Mapping[str, Callable[[Sequence[str], Surroundings], Iterator[Edit]]] = {
    "sed": _sed,
    "tee": _tee,
    "cp": _copies(),
    "mv": _copies(),
    "install": _copies("-m", "--mode", "-o", "--owner", "-g", "--group"),
    "ln": _link,
    "scp": _remote_copies,
    "rsync": _remote_copies,
    "curl": _fetched("o", "--output"),
    "wget": _fetched("O", "--output-document"),
    "dd": _dd,
    "crudini": _crudini,
    "systemctl": _systemctl,
    "mount": _mount,
    "etcd": _etcd,
}
