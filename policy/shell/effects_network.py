"""Detects calls of programs that cut the network between quorum members: packet filters, links, routes, packet loss.

Each reader gets a program's arguments and returns the effect in words, or "" if there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from policy.shell.arguments import arguments
from policy.shell.member_traces import PORTS

CUTS = "cuts members off from the network"

_PORT = re.compile(r"(?<![\w.])(\d+)(?:[:-](\d+))?(?![\w.])")


def _names_member_port(text: str) -> bool:
    for first, last in _PORT.findall(text):
        low, high = int(first), int(last or first)
        if any(low <= port <= high for port in PORTS):
            return True
    return False


def _iptables(words: Sequence[str]) -> str:
    if "-P" in words or "--policy" in words:
        return CUTS if "DROP" in words else ""
    target = next((words[index + 1] for index, word in enumerate(words[:-1]) if word in ("-j", "--jump")), "")
    adds = any(word in ("-A", "-I", "-R", "--append", "--insert", "--replace") for word in words)
    if not adds or target not in ("DROP", "REJECT"):
        return ""
    ports = [
        words[at + 1] for at, word in enumerate(words[:-1]) if re.fullmatch(r"--(d|s)?(port|ports)|--[ds]ports?", word)
    ]
    return CUTS if not ports or any(map(_names_member_port, ports)) else ""


def _nft(words: Sequence[str]) -> str:
    text = " ".join(words)
    if not re.search(r"\b(add|insert|replace)\b", text) or not re.search(r"\b(drop|reject)\b", text):
        return ""
    ports = re.search(r"\b[ds]port\b(.*)", text)
    return CUTS if not ports or _names_member_port(ports[1]) else ""


def _firewall_cmd(words: Sequence[str]) -> str:
    text = " ".join(words)
    if "--panic-on" in text or re.search(r"--set-(default-zone|target)=(drop|DROP|block|REJECT)", text):
        return CUTS
    closes = "--remove-port" in text or (
        re.search(r"--add-(rich-)?rule", text) and re.search(r"\b(drop|reject|DROP|REJECT)\b", text)
    )
    if not closes:
        return ""
    return CUTS if _names_member_port(text) or "port" not in text else ""


def _ufw(words: Sequence[str]) -> str:
    text = " ".join(words)
    if re.search(r"\bdefault\s+(deny|reject)(\s+(incoming|routed))?\b", text):
        return CUTS
    closes = re.search(r"\b(deny|reject)\b|\bdelete\s+allow\b", text)
    return CUTS if closes and (_names_member_port(text) or not re.search(r"\b\d+(/(tcp|udp))?$|\bport\b", text)) else ""


def _ip(words: Sequence[str]) -> str:
    given = arguments(words, ("-n", "-netns"))
    area, verb = [*given.operands, "", ""][:2]
    if "link".startswith(area or "-"):
        return CUTS if verb in ("delete", "del") or (verb == "set" and "down" in given.operands) else ""
    if area.startswith("a") and "address".startswith(area[:4]):
        return CUTS if verb in ("flush", "del", "delete") else ""
    if area in ("r", "ro", "route"):
        return (
            CUTS if verb in ("flush", "del", "delete") or {"blackhole", "unreachable", "prohibit"} & set(words) else ""
        )
    return ""


def _down(words: Sequence[str]) -> str:
    return CUTS if "down" in words else ""


def _nmcli(words: Sequence[str]) -> str:
    return CUTS if {"down", "disconnect", "delete", "off"} & set(words) else ""


def _tc(words: Sequence[str]) -> str:
    return CUTS if {"add", "change", "replace"} & set(words) and {"loss", "delay", "netem", "drop"} & set(words) else ""


def _always(_words: Sequence[str]) -> str:
    return CUTS


READERS: Mapping[str, Callable[[Sequence[str]], str]] = {
    **dict.fromkeys(("iptables", "ip6tables", "iptables-nft", "iptables-legacy"), _iptables),
    "nft": _nft,
    "firewall-cmd": _firewall_cmd,
    "ufw": _ufw,
    "ip": _ip,
    "ifdown": _always,
    **dict.fromkeys(("ifconfig", "networkctl"), _down),
    "nmcli": _nmcli,
    "tc": _tc,
}
ACCEPTS = re.compile(r"\b(ACCEPT|accept|allow|--add-port)\b")


def accepts(words: Sequence[str]) -> bool:
    """Whether a call of a packet filter program opens a port of quorum members. `words`: program and arguments."""
    text = " ".join(words)
    return bool(ACCEPTS.search(text)) and _names_member_port(text)


def names_port(words: Sequence[str]) -> bool:
    """Whether a call of a packet filter program names a port of quorum members. `words`: program and arguments."""
    return _names_member_port(" ".join(words))
