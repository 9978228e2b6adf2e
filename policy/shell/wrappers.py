"""Reads calls of programs that run other programs, such as sudo, ssh, xargs and kubectl exec."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from policy.shell.syntax import UNKNOWN

MANY = f"several machines{UNKNOWN}"
"""The host of a program that runs on several machines at once."""
IN_PODS = "a pod"
IN_CONTAINERS = "a container"

_SSH_VALUED = re.compile(r"-[BbcDEeFIiJLlmOoPpQRSWw]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.S)
_DURATION = re.compile(r"[\d.]+[smhd]?")


@dataclass(frozen=True)
class Inner:
    """The program that a wrapper such as sudo or ssh runs: words that are run directly, or text for a shell."""

    words: tuple[str, ...] = ()
    text: str = ""
    host: str = ""
    """The machine on which the inner program runs; "" for the machine of the wrapper."""
    stdin: str | None = None


def inner(name: str, words: Sequence[str], text: str | None) -> list[Inner]:
    """Returns the programs that the program `name` runs with these arguments; [] if it is not a wrapper.

    `text`: standard input of the program, None if unknown.
    """
    if name in _PLAIN:
        rest = _skip(words, _PLAIN[name])
        return [Inner(tuple(rest), stdin=text)] if rest else []
    reader = _READERS.get(name)
    return reader(words, text) if reader else []


def _skip(words: Sequence[str], valued: str) -> Sequence[str]:
    """Returns the words without leading options, assignments and durations. `valued`: options with a separate value."""
    index = 0
    while index < len(words):
        word = words[index]
        if word == "--":
            return words[index + 1 :]
        if word.startswith("-") and word in valued.split():
            index += 2
        elif word.startswith("-") or _ASSIGNMENT.fullmatch(word) or _DURATION.fullmatch(word):
            index += 1
        else:
            break
    return words[index:]


_PLAIN: Mapping[str, str] = {
    "sudo": "-u --user -g --group -h --host -p --prompt -C -D --chdir -r -t -U",
    "doas": "-u -C",
    "env": "-u --unset -C --chdir",
    "nohup": "",
    "exec": "-a",
    "command": "",
    "builtin": "",
    "time": "-f -o",
    "timeout": "-k --kill-after -s --signal",
    "nice": "-n --adjustment",
    "ionice": "-c -n -p",
    "chrt": "-T -P -D",
    "setsid": "",
    "stdbuf": "-i -o -e",
    "unbuffer": "",
    "systemd-run": "-u --unit -p --property --on-active --on-calendar --slice --uid --gid -M",
    "busybox": "",
    "strace": "-o -e -p",
    "nsenter": "-t --target -S -G",
    "retry": "",
}


def _ssh(words: Sequence[str], text: str | None) -> list[Inner]:
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 2 if _SSH_VALUED.fullmatch(words[index]) else 1
    if index >= len(words):
        return []
    host = words[index].rpartition("@")[2]
    command = " ".join(words[index + 1 :])
    if command:
        # The remote shell parses the joined words again, so they are passed as text. A call of a shell or of sudo
        # is passed as words if its standard input is known: the input may be its script.
        shell = words[index + 1] in ("sh", "bash", "sudo") and text is not None
        return [Inner(tuple(words[index + 1 :]) if shell else (), "" if shell else command, host, text)]
    return [Inner(("sh", "-s"), host=host, stdin=text)] if text is not None else []


def _sshpass(words: Sequence[str], text: str | None) -> list[Inner]:
    rest = _skip(words, "-p -f -d -P")
    return [Inner(tuple(rest), stdin=text)]


def _many(words: Sequence[str], _text: str | None) -> list[Inner]:
    """Reader for pdsh, clush and pssh, whose options are followed by the words of a command for several machines."""
    rest = _skip(words, "-w -x -g -R -l -h -H -t -p -o -e -A --hosts --host")
    return [Inner(text=" ".join(rest), host=MANY)] if rest else []


def _ansible(words: Sequence[str], _text: str | None) -> list[Inner]:
    texts = [words[index + 1] for index, word in enumerate(words[:-1]) if word in ("-a", "--args")]
    module = next((words[index + 1] for index, word in enumerate(words[:-1]) if word in ("-m", "--module-name")), "")
    if module.rpartition(".")[2] == "reboot":
        texts = ["reboot"]
    if module.rpartition(".")[2] in ("service", "systemd") and texts:
        given = {name: value for part in texts[0].split() for name, _, value in [part.partition("=")]}
        verb = {"stopped": "stop", "restarted": "restart", "reloaded": "reload"}.get(given.get("state", ""), "start")
        texts = [f"systemctl {verb} {given.get('name', '')}"]
    return [Inner(text=each, host=MANY) for each in texts]


def _xargs(words: Sequence[str], text: str | None) -> list[Inner]:
    rest = list(_skip(words, "-n -L -I -P -d -a -s -E --max-args --max-procs --replace --arg-file --delimiter"))
    if not rest:
        return []
    parallel = any(word.startswith(("-P", "--max-procs")) for word in words)
    given = UNKNOWN if text is None else text.strip()
    place = next((words[index + 1] for index, word in enumerate(words[:-1]) if word == "-I"), "")
    place = place or next((word[2:] for word in words if word.startswith("-I")), "")
    host = MANY if parallel else ""
    each_by_itself = place or any(re.fullmatch(r"-[nL]1?|--max-args=1", word) for word in words)
    values = given.split() if each_by_itself else [given]
    if place:
        return [Inner(tuple(word.replace(place, value) for word in rest), host=host) for value in values]
    return [Inner((*rest, *value.split()), host=host) for value in values]


def _parallel(words: Sequence[str], _text: str | None) -> list[Inner]:
    """Reader for GNU parallel, which appends each value to a command that has no place for it."""
    rest = list(_skip(words, "-j --jobs -S --sshlogin -a --arg-file -n"))
    command = " ".join(rest[: rest.index(":::")] if ":::" in rest else rest)
    if not command:
        return []
    return [Inner(text=(command if "{" in command else f"{command} {{}}").replace("{}", UNKNOWN), host=MANY)]


def _find(words: Sequence[str], _text: str | None) -> list[Inner]:
    paths = _paths_of_find(words)
    found: list[Inner] = []
    for index, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            command = words[index + 1 :]
            end = next((at for at, each in enumerate(command) if each in (";", "+")), len(command))
            place = paths[0] if paths else "."
            found.append(Inner(tuple(each.replace("{}", place) for each in command[:end])))
        if word == "-delete":
            found.append(Inner(("rm", "-r", "--", *(f"{path}/*" for path in paths or ["."]))))
    return found


def _paths_of_find(words: Sequence[str]) -> list[str]:
    paths: list[str] = []
    for word in words:
        if word.startswith(("-", "(", "!")):
            break
        paths.append(word)
    return paths


def _su(words: Sequence[str], text: str | None) -> list[Inner]:
    return [Inner(text=words[index + 1]) for index, word in enumerate(words[:-1]) if word in ("-c", "--command")] or (
        [Inner(("sh", "-s"), stdin=text)] if text is not None else []
    )


def _flock(words: Sequence[str], text: str | None) -> list[Inner]:
    rest = list(_skip(words, "-w --timeout -E -c"))[1:]
    if "-c" in words:
        return [Inner(text=words[words.index("-c") + 1])]
    return [Inner(tuple(rest), stdin=text)] if rest else []


def _chroot(words: Sequence[str], text: str | None) -> list[Inner]:
    rest = tuple(_skip(words, ""))[1:]
    return [Inner(rest, stdin=text)] if rest else []


def _kubectl(words: Sequence[str], text: str | None) -> list[Inner]:
    if "exec" in words and "--" in words:
        return [Inner(tuple(words[words.index("--") + 1 :]), host=IN_PODS, stdin=text)]
    return []


def _container(words: Sequence[str], text: str | None) -> list[Inner]:
    if not words or words[0] not in ("exec", "run"):
        return []
    rest = _skip(words[1:], "-u --user -e --env -w --workdir --name -v --volume --network --net -p --entrypoint")[1:]
    return [Inner(tuple(rest), host=IN_CONTAINERS, stdin=text)] if rest else []


def _later(_words: Sequence[str], text: str | None) -> list[Inner]:
    """Reader for at and batch, which run the text on their standard input later."""
    return [Inner(("sh", "-s"), stdin=text)] if text is not None else []


def _crontab(words: Sequence[str], text: str | None) -> list[Inner]:
    if "-" not in words or text is None:
        return []
    lines = [re.sub(r"^\s*(@\w+|(\S+\s+){5})", "", line) for line in text.splitlines() if line.strip("# \t")]
    return [Inner(text="\n".join(line for line in lines if UNKNOWN not in line))]


def _watch(words: Sequence[str], _text: str | None) -> list[Inner]:
    rest = _skip(words, "-n --interval")
    return [Inner(text=" ".join(rest))] if rest else []


_READERS: Mapping[str, Callable[[Sequence[str], str | None], list[Inner]]] = {
    "ssh": _ssh,
    "sshpass": _sshpass,
    "pdsh": _many,
    "clush": _many,
    "pssh": _many,
    "parallel-ssh": _many,
    "dsh": _many,
    "ansible": _ansible,
    "xargs": _xargs,
    "parallel": _parallel,
    "find": _find,
    "su": _su,
    "runuser": _su,
    "flock": _flock,
    "chroot": _chroot,
    "kubectl": _kubectl,
    "oc": _kubectl,
    "docker": _container,
    "podman": _container,
    "nerdctl": _container,
    "crictl": _container,
    "at": _later,
    "batch": _later,
    "crontab": _crontab,
    "watch": _watch,
}
