"""Detects calls of programs that stop services of quorum members, change their packages or stop the machine.

Each reader gets a program's arguments and returns the effect in words, or "" if there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from policy.shell.arguments import arguments
from policy.shell.member_traces import is_container, is_package, is_unit
from policy.shell.syntax import Unreadable, is_known

STOPS = "stops or restarts a service"
HALTS = "restarts or stops the machine"
UPGRADES = "upgrades the machine's software"
REMOVES_SOFTWARE = "removes a member's software"
LEAVES = "takes a member away"
DRIFTS = "lets the clock drift from those of the other members"

_CLOCKS = re.compile(r"(chronyd?|ntpd?|ntpsec|systemd-timesyncd|openntpd)(\.service)?")
"""Units that synchronise the clock. A restart of one is harmless."""
_UNIT_VERBS = frozenset(
    {
        *("stop", "restart", "kill", "disable", "mask", "try-restart", "reload-or-restart", "try-reload-or-restart"),
        *("condrestart", "force-restart", "freeze", "isolate"),
    }
)
_MACHINE_VERBS = frozenset({"reboot", "poweroff", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate"})
_CONTAINER_VERBS = frozenset(["restart", "stop", "stopp", "kill", "rm", "rmp", "remove", "delete", "pause", "down"])
_GROUPS = frozenset(["container", "pod", "compose", "stack", "service", "tasks", "task", "containers", "c", "t"])


def _systemctl(words: Sequence[str]) -> str:
    given = arguments(words, ("-H", "--host", "-M", "--machine", "-t", "--type", "-s", "--signal", "-p", "--property"))
    _known(given.verb, "what it tells systemd")
    if given.verb in _MACHINE_VERBS:
        return HALTS
    if given.verb == "isolate" or (given.verb in _UNIT_VERBS and any(is_unit(unit) for unit in given.operands[1:])):
        return STOPS
    if given.verb in ("stop", "disable", "mask") and any(_CLOCKS.fullmatch(unit) for unit in given.operands[1:]):
        return DRIFTS
    return ""


def _timedatectl(words: Sequence[str]) -> str:
    given = arguments(words)
    off = given.operands[:1] == ("set-ntp",) and given.operands[1:2] in (("false",), ("0",), ("no",))
    return DRIFTS if off or given.verb == "set-time" else ""


def _service(words: Sequence[str]) -> str:
    given = arguments(words)
    unit, verb = [*given.operands, "", ""][:2]
    return STOPS if verb in _UNIT_VERBS and is_unit(unit) else ""


def _containers(words: Sequence[str]) -> str:
    valued = ("-n", "--namespace", "-H", "--host", "-c", "--context", "-t", "--time", "-p", "--project-name")
    given = arguments(words, (*valued, "-f", "--file") if "compose" in words else valued)
    operands = list(given.operands)
    composed = bool(operands) and operands[0] in ("compose", "stack")
    while operands and operands[0] in _GROUPS:
        operands.pop(0)
    if not operands:
        return ""
    verb, *names = operands
    _known(verb, "what it does to containers")
    if verb not in _CONTAINER_VERBS:
        return ""
    if composed and not names:
        raise Unreadable("which containers a compose file has is not known")
    return STOPS if any(is_container(name) for name in names) else ""


def _kill(words: Sequence[str]) -> str:
    targets = [word for word in words if not word.startswith("-")]
    if words[:1] in (["-l"], ["-0"]):
        return ""
    for target in targets:
        if not is_known(target):
            raise Unreadable("the process that it kills is not known")
    return (
        STOPS if any(target not in ("$!",) and not target.isdigit() and _process(target) for target in targets) else ""
    )


def _pkill(words: Sequence[str]) -> str:
    given = arguments(words, ("-u", "--euid", "-s", "--signal", "-P", "-g", "-G", "-t", "-U"))
    return STOPS if any(_process(name) for name in given.operands) else ""


def _process(name: str) -> bool:
    return is_container(name.strip("^$"))


def _shutdown(words: Sequence[str]) -> str:
    return "" if arguments(words).has("-c", "--show", "-k") else HALTS


def _halt(words: Sequence[str]) -> str:
    return "" if arguments(words).has("--help", "--version", "-w", "--wtmp-only") else HALTS


def _init(words: Sequence[str]) -> str:
    return HALTS if words and words[0] in ("0", "1", "6", "s", "S") else ""


def _kexec(words: Sequence[str]) -> str:
    return HALTS if arguments(words).has("-e", "--exec") else ""


def _ipmitool(words: Sequence[str]) -> str:
    verbs = {"off", "cycle", "reset", "soft"}
    return HALTS if "power" in words and verbs & set(words) else ""


def _packages(words: Sequence[str]) -> str:
    given = arguments(words, ("-o", "-t", "--target-release", "-c", "--enablerepo", "--disablerepo", "--repo"))
    verb, names = given.verb, given.operands[1:]
    _known(verb, "what it does to packages")
    if given.has("--dry-run", "--simulate", "-s", "--just-print", "--download-only", "-d"):
        return ""
    if verb in ("remove", "purge", "erase", "autoremove", "del"):
        return REMOVES_SOFTWARE if any(_package(name) for name in names) else ""
    if verb in ("upgrade", "dist-upgrade", "full-upgrade", "dup") and not names:
        return UPGRADES
    if verb in ("install", "upgrade", "reinstall", "downgrade", "add", "in", "full-upgrade", "dist-upgrade"):
        return UPGRADES if any(_package(name) for name in names) else ""
    return ""


def _rpm_packages(words: Sequence[str]) -> str:
    """Reader for dnf and yum, whose verb `update` means `upgrade`."""
    given = arguments(words, ("-c", "--enablerepo", "--disablerepo", "--repo"))
    if given.verb in ("update", "distro-sync") and not given.has("--downloadonly"):
        names = given.operands[1:]
        return UPGRADES if not names or any(_package(name) for name in names) else ""
    return _packages(words)


def _package_files(words: Sequence[str]) -> str:
    """Reader for dpkg and rpm, which install and remove package files."""
    given = arguments(words)
    names = [name for name in given.operands if _package(name)]
    if not names:
        return ""
    if given.has("-i", "-U", "-F", "--install", "--upgrade", "--unpack"):
        return UPGRADES
    return REMOVES_SOFTWARE if given.has("-r", "-P", "-e", "--remove", "--purge", "--erase") else ""


def _package(name: str) -> bool:
    _known(name, "a package")
    return is_package(name)


def _known(word: str, what: str) -> None:
    if not is_known(word):
        raise Unreadable(f"{what} is not known")


def _uninstalls(_words: Sequence[str]) -> str:
    return LEAVES


READERS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "systemctl": _systemctl,
    "timedatectl": _timedatectl,
    **dict.fromkeys(("service", "rc-service", "invoke-rc.d"), _service),
    **dict.fromkeys(("docker", "podman", "nerdctl", "crictl", "ctr", "docker-compose"), _containers),
    "kill": _kill,
    **dict.fromkeys(("pkill", "killall"), _pkill),
    "shutdown": _shutdown,
    **dict.fromkeys(("reboot", "poweroff", "halt"), _halt),
    **dict.fromkeys(("init", "telinit"), _init),
    "kexec": _kexec,
    "ipmitool": _ipmitool,
    **dict.fromkeys(("apt", "apt-get", "aptitude", "apk", "zypper", "snap"), _packages),
    **dict.fromkeys(("dnf", "yum", "microdnf"), _rpm_packages),
    **dict.fromkeys(("dpkg", "rpm"), _package_files),
    **dict.fromkeys(("k3s-uninstall.sh", "k3s-killall.sh", "rke2-uninstall.sh", "rke2-killall.sh"), _uninstalls),
}
