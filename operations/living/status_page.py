"""The living state as one self-contained HTML page, with the look of the audit's: quorums, and a map of the servers.

The page has no script. Its content security policy allows only its own style, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from audit import chart
from audit import html as audit_page
from audit.losses import natural
from operations.living import beside_quorums
from operations.living.cloud import LivingCloud
from operations.living.leaving import Leave, in_order
from operations.living.quorum import LivingQuorum, Standing, different_versions
from operations.living.status_text import exit_code
from operations.under_way import NO_OPERATION, UnderWay

_TEMPLATES = Path(__file__).resolve().parent / "page"
_DASH = "          - "
KINDS = {
    "etcd": "etcd",
    "galera": "mysqld",
    "rabbitmq": "rabbitmq",
    "ceph": "ceph-mon",
    "opensearch": "elasticsearch-kibana",
    "ovn": "quorum",
}
"""The letter and shape of the audit's map for the program of a quorum."""


class _Look(NamedTuple):
    sign: str
    word: str


_WORDS: dict[Standing, _Look] = {
    "whole": _Look("✓", "whole"),
    "reduced": _Look("!", "reduced"),
    "lost": _Look("✗", "lost"),
    "unknown": _Look("?", "not asked"),
}


class _PageVerdict(NamedTuple):
    look: str
    sign: str
    says: str


_VERDICTS = {
    0: _PageVerdict("good", "✓", "every quorum is whole"),
    3: _PageVerdict("warn", "!", "every quorum has its majority, not every one is whole"),
    1: _PageVerdict("bad", "✗", "a quorum has no majority, or could not be asked"),
}
"""By the exit code."""


class _QuorumView(NamedTuple):
    quorum: LivingQuorum
    kind: str
    wrong: tuple[str, ...]
    """What keeps it from being whole."""


class _MemberView(NamedTuple):
    name: str
    kind: str
    counts: bool
    says: str


class _NodeView(NamedTuple):
    name: str
    members: tuple[_MemberView, ...]


class _ServerView(NamedTuple):
    leave: Leave
    nodes: tuple[_NodeView, ...]
    """Its machines with members."""
    others: str
    """Its other machines, in words."""


@dataclass
class _RackView:
    name: str
    servers: list[_ServerView] = field(default_factory=list[_ServerView])
    plain: list[str] = field(default_factory=list[str])
    """Servers without members that may go and of which nothing else is to be said."""


@dataclass
class _Part:
    """A sentence, and what it names."""

    says: str
    named: list[str] = field(default_factory=list[str])


def write(stack: str, cloud: LivingCloud, found: Sequence[Leave], operation: UnderWay = NO_OPERATION) -> str:
    """Returns the page about a stack. `found`: whether each of its servers may go."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (audit_page.PAGE / "page.css").read_text(encoding="utf-8") + (_TEMPLATES / "status.css").read_text(
        encoding="utf-8"
    )
    quorums = [_QuorumView(each, _kind(each), tuple(_wrong(each))) for each in cloud.quorums]
    going = in_order(found)
    code = exit_code(cloud)
    return environment.get_template("status.html").render(
        stack=stack,
        when=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
        exit=code,
        verdict=_VERDICTS[code],
        words=_WORDS,
        tally=Counter(each.standing for each in cloud.quorums),
        problems=cloud.problems,
        operation=list(_parts(operation.lines())),
        quorums=quorums,
        voters=sum(len(each.voters) for each in cloud.quorums),
        leaves=found,
        going=going,
        ordered=[each.server for each in going if each.members],
        racks=_racks(cloud, found),
        kinds=[kind for kind in chart.QUORUMS if kind in {each.kind for each in quorums}],
        letters=chart.QUORUMS,
        alerts=list(_parts(beside_quorums.alerts(cloud))),
        beside=list(_parts(beside_quorums.lines(cloud))),
        style=Markup(style),  # noqa: S704 - our own files
        style_hash=f"sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}",
    )


def _kind(quorum: LivingQuorum) -> str:
    return KINDS.get(quorum.kind, "quorum")


def _wrong(quorum: LivingQuorum) -> Iterator[str]:
    for member in quorum.members:
        says = () if member.counts else (member.says,)
        if said := (*says, *member.troubles):
            yield f"{member.name}: {'; '.join(said)}"
    if versions := different_versions(quorum):
        yield f"its members have different versions: {', '.join(versions)}"
    yield from quorum.troubles


def _racks(cloud: LivingCloud, found: Sequence[Leave]) -> list[_RackView]:
    machines = (*(node.machine for node in cloud.plan.machines), *cloud.plan.hosts)
    rack_of = {each.server: each.rack or "" for each in machines}
    members = _members(cloud)
    racks: dict[str, _RackView] = {}
    for leave in sorted(found, key=lambda each: natural(each.server)):
        name = rack_of.get(leave.server, "")
        rack = racks.setdefault(name, _RackView(name))
        if leave.may_go and not leave.members and not leave.effects:
            rack.plain.append(leave.server)
        else:
            rack.servers.append(_server(leave, members))
    return sorted(racks.values(), key=lambda rack: natural(rack.name))


def _server(leave: Leave, members: dict[str, list[_MemberView]]) -> _ServerView:
    nodes = tuple(_NodeView(node, tuple(members[node])) for node in leave.nodes if node in members)
    others = [node for node in leave.nodes if node not in members and node != leave.server]
    return _ServerView(leave, nodes, f"and {', '.join(others)}" if others else "")


def _members(cloud: LivingCloud) -> dict[str, list[_MemberView]]:
    """Returns the members by the node that carries them."""
    found: dict[str, list[_MemberView]] = defaultdict(list)
    for quorum in cloud.quorums:
        for member in quorum.members:
            if node := cloud.places.get((quorum.name, member.name)):
                name = quorum.name if member.name == node else member.name
                found[node].append(_MemberView(name, _kind(quorum), member.counts, member.says))
    return dict(found)


def _parts(lines: Iterable[str]) -> Iterator[_Part]:
    """Yields the sentences of a text for a terminal, each with the lines below it that begin with a dash."""
    part = _Part("")
    for line in lines:
        if line.startswith(_DASH):
            part.named.append(line.removeprefix(_DASH))
        else:
            if part.says or part.named:
                yield part
            part = _Part(line)
    if part.says or part.named:
        yield part
