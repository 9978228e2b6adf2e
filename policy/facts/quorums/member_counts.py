"""Settings of quorum members that depend on the number of members: member lists, counts, required votes.

Read from commands, environment variables and files of the pods. Values with an unexpanded variable are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from policy.facts.kubernetes.configuration import Written, written
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import MemberGroup, majority
from policy.facts.stack import Facts


@dataclass(frozen=True)
class Mismatch:
    """A setting of a quorum that does not match the quorum's number of members, in words of a finding."""

    actual: str
    expected: str


_PEERS = re.compile(
    r"(?:--initial-cluster|^ETCD_INITIAL_CLUSTER|^initial-cluster:)[=\s]\s*[\"']?([^\s\"']+)", re.MULTILINE
)
_SERVER = re.compile(r"\bserver\.(\d+)\s*=\s*[^\s;,]+(:observer)?")
_BOOTSTRAP = re.compile(r"-{1,2}bootstrap-expect[= ](\d+)|\bbootstrap_expect\"?\s*[=:]\s*(\d+)")
_MONITOR = re.compile(r"^\s*sentinel\s+monitor\s+\S+\s+\S+\s+\d+\s+(\d+)", re.MULTILINE)


def mismatches(facts: Facts, group: MemberGroup) -> Iterator[Mismatch]:
    """Yields the settings of one quorum's pods (`group`) that do not match the quorum's number of members.

    Raises NotKnown if a preview does not know a configuration text.
    """
    size = group.size(facts)
    texts = [_text(each) for one in group.workloads for each in written(one, facts.config_maps)]
    read = _READERS.get(group.kind)
    for text in texts:
        yield from _sentinel(text, size)
        if read:
            yield from read(text, size)


def _text(each: Written) -> str:
    """Returns a configuration text, as NAME=text if it is the value of an environment variable."""
    return f"{each.name}={each.read()}" if each.name.isupper() else each.read()


def _etcd(text: str, size: int) -> Iterator[Mismatch]:
    for peers in _PEERS.findall(text):
        pairs = [pair.partition("=") for pair in peers.split(",") if pair]
        if "$" in peers or not all(equals for _, equals, _ in pairs):
            continue
        names, urls = {name for name, _, _ in pairs}, [url for _, _, url in pairs]
        yield from _listed("initial-cluster", len(names), size)
        if len(set(urls)) < len(urls):
            yield Mismatch("initial-cluster has two members with one URL", "a URL for each member")


def _zookeeper(text: str, size: int) -> Iterator[Mismatch]:
    servers: dict[str, str] = dict(_SERVER.findall(text))
    if servers and not any(servers.values()):
        yield from _listed("the list of servers", len(servers), size)


def _consul(text: str, size: int) -> Iterator[Mismatch]:
    for flag, key in _BOOTSTRAP.findall(text):
        yield from _votes("bootstrap_expect", int(flag or key), size)


def _sentinel(text: str, size: int) -> Iterator[Mismatch]:
    for votes in _MONITOR.findall(text):
        yield from _votes("the quorum of sentinel monitor", int(votes), size)


def _listed(what: str, members: int, size: int) -> Iterator[Mismatch]:
    if members != size:
        yield Mismatch(f"{what} has {members} members of {size}", f"the {size} members")


def _votes(what: str, votes: int, size: int) -> Iterator[Mismatch]:
    if not majority(size) <= votes <= size:
        yield Mismatch(f"{what} is {votes} of {size} members", f"{majority(size)} to {size}")


_READERS: dict[QuorumKind | None, Callable[[str, int], Iterator[Mismatch]]] = {
    QuorumKind.ETCD: _etcd,
    QuorumKind.ZOOKEEPER: _zookeeper,
    QuorumKind.CONSUL: _consul,
}
