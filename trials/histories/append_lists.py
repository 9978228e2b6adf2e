"""Finds what transactions on lists must not show, by the method of Elle (Kingsbury and Alvaro, VLDB 2020).

Transactions append unique numbers to lists and read whole lists. A read shows the order of all earlier appends, so
that the dependencies of transactions follow: ww (appended after), wr (read what was appended), rw (did not read what
was appended next). Cycles are named as Elle names them:

- G0: of ww alone. G1c: of ww and wr. G-single: with one rw. G2-item: with several.
- G1a: a read of what a rejected transaction appended. G1b: a read of a transaction's work between two of its appends.
- incompatible-order: two reads that no single order of appends explains.
- lost-append: what an acknowledged transaction appended is missing in a read of the final state.

The value of an operation is a list of steps: ["append", list, number] or ["r", list, numbers].
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trials.histories.operation import Anomaly, ClientOperation

Graph = dict[int, set[int]]
"""Transactions that depend on a transaction, by its place in the history."""


def anomalies(history: Sequence[ClientOperation], final: Mapping[int, Sequence[int]] | None = None) -> list[Anomaly]:
    """Returns the anomalies of transactions, one for each kind. `final`: lists that were read after all of them."""
    lists = _Lists(history)
    found = [*_reads(lists), *_lost(lists, final or {}), *_cycles(lists)]
    kinds: dict[str, list[str]] = defaultdict(list)
    for name, example in found:
        kinds[name].append(example)
    return [Anomaly(name, examples[0], len(examples)) for name, examples in kinds.items()]


@dataclass
class _Lists:
    history: Sequence[ClientOperation]
    writer: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """Place of the transaction that appended a number to a list."""
    appended: dict[tuple[int, int], list[int]] = field(default_factory=dict[tuple[int, int], list[int]])
    """What a transaction appended to a list, by its place and the list."""
    order: dict[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    """The longest read of each list."""

    def __post_init__(self) -> None:
        for place, each in enumerate(self.history):
            for action, key, said in each.value:
                if action == "append":
                    self.writer[key, said] = place
                    self.appended.setdefault((place, key), []).append(said)
                elif each.outcome == "ok" and len(said) >= len(self.order.get(key, ())):
                    self.order[key] = said

    def reads(self) -> Iterator[tuple[int, int, list[int]]]:
        """Yields the reads of acknowledged transactions: place of the transaction, list and numbers.

        What the transaction itself has appended before is left out.
        """
        for place, each in enumerate(self.history):
            own: dict[int, int] = defaultdict(int)
            for action, key, said in each.value:
                if action == "append":
                    own[key] += 1
                elif each.outcome == "ok":
                    yield place, key, said[: len(said) - own[key]] if own[key] else said


def _reads(lists: _Lists) -> Iterator[tuple[str, str]]:
    for place, each in enumerate(lists.history):
        done: dict[int, list[int]] = defaultdict(list)
        for action, key, said in each.value:
            if action == "append":
                done[key].append(said)
            elif each.outcome == "ok" and done[key] and said[-len(done[key]) :] != done[key]:
                yield "internal", f"transaction {place} appended {done[key]} to list {key} and read {said[-3:]}"
    for place, key, numbers in lists.reads():
        if len(set(numbers)) < len(numbers):
            yield "duplicate-elements", f"list {key}: {_tail(numbers)}"
        longest = lists.order[key]
        if list(longest[: len(numbers)]) != list(numbers):
            yield "incompatible-order", f"list {key}: {_tail(numbers)} and {_tail(longest[: len(numbers)])}"
        for number in numbers:
            writer = lists.writer.get((key, number))
            if writer is None:
                yield "unexpected-element", f"{number} in list {key}"
            elif lists.history[writer].outcome == "no":
                yield "G1a", f"{number} in list {key}, of a rejected transaction"
        writer = lists.writer.get((key, numbers[-1])) if numbers else None
        if writer is not None and writer != place and lists.appended[writer, key][-1] != numbers[-1]:
            yield "G1b", f"list {key} ends with {numbers[-1]}, and its transaction appended more"


def _lost(lists: _Lists, final: Mapping[int, Sequence[int]]) -> Iterator[tuple[str, str]]:
    there = {key: set(numbers) for key, numbers in final.items()}
    for (key, number), place in lists.writer.items():
        if key in there and lists.history[place].outcome == "ok" and number not in there[key]:
            yield "lost-append", f"{number} in list {key}"


def _cycles(lists: _Lists) -> Iterator[tuple[str, str]]:
    ww, wr, rw = _dependencies(lists)
    for group in _components(ww):
        yield "G0", _named(lists, group)
    reads = _merged(ww, wr)
    for group in _components(reads):
        if not _components(_within(ww, group)):
            yield "G1c", _named(lists, group)
    for group in _components(_merged(reads, rw)):
        inside = _within(reads, group)
        edges = [(reader, writer) for reader in group for writer in rw.get(reader, set()) & group]
        single = [edge for edge in edges if _leads(inside, edge[1], edge[0])]
        if single:
            yield "G-single", f"{_named(lists, single[0])}: the first did not read what it depends on"
        elif not _components(inside):
            yield "G2-item", _named(lists, group)


def _dependencies(lists: _Lists) -> tuple[Graph, Graph, Graph]:
    ww, wr, rw = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for key, numbers in lists.order.items():
        writers = [lists.writer.get((key, number)) for number in numbers]
        for one, other in itertools.pairwise(writers):
            if one is not None and other is not None and one != other:
                ww[one].add(other)
    for reader, key, numbers in lists.reads():
        writer = lists.writer.get((key, numbers[-1])) if numbers else None
        if writer is not None and writer != reader:
            wr[writer].add(reader)
        longest = lists.order.get(key, ())
        following = lists.writer.get((key, longest[len(numbers)])) if len(longest) > len(numbers) else None
        if following is not None and following != reader:
            rw[reader].add(following)
    return ww, wr, rw


def _merged(one: Graph, other: Graph) -> Graph:
    return {place: one.get(place, set()) | other.get(place, set()) for place in one.keys() | other.keys()}


def _within(graph: Graph, group: set[int]) -> Graph:
    return {place: graph.get(place, set()) & group for place in group}


def _components(graph: Graph) -> list[set[int]]:
    """Returns the groups of transactions that depend on each other in cycles: Tarjan's algorithm."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    found: list[set[int]] = []
    for start in graph:
        open_ = [(start, iter(graph[start]))] if start not in index else []
        while open_:
            place, followers = open_[-1]
            if place not in index:
                index[place] = low[place] = len(index)
                path.append(place)
            for follower in followers:
                if follower not in index:
                    open_.append((follower, iter(graph.get(follower, ()))))
                    break
                low[place] = min(low[place], low[follower])
            else:
                open_.pop()
                if open_:
                    low[open_[-1][0]] = min(low[open_[-1][0]], low[place])
                if low[place] == index[place]:
                    group = set(path[path.index(place) :])
                    del path[-len(group) :]
                    low |= dict.fromkeys(group, len(graph) + len(index))  # no longer a way back
                    if len(group) > 1:
                        found.append(group)
    return found


def _leads(graph: Graph, start: int, end: int) -> bool:
    """Whether a way leads from a transaction to another."""
    seen, open_ = {start}, [start]
    while open_:
        place = open_.pop()
        if place == end:
            return True
        fresh = graph.get(place, set()) - seen
        seen |= fresh
        open_ += fresh
    return False


def _named(lists: _Lists, places: Iterable[int]) -> str:
    names = [
        str(next((said for action, _, said in lists.history[place].value if action == "append"), f"at {place}"))
        for place in sorted(places)
    ]
    return f"transactions {', '.join(names[:5])}"


def _tail(numbers: Iterable[int]) -> str:
    return f"… {', '.join(map(str, list(numbers)[-3:]))}"
