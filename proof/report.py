"""Renders proof.json as proof.md: expected and actual numbers of instances, and the effect of each server failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from text.plural import pluralize
from text.quoting import in_markdown

Document = dict[str, Any]

LONGEST = 10_000
"""Maximum length of a message, or of a list of nodes or servers, in a table cell."""


def markdown(document: Document) -> str:
    """Returns the content of proof.json as a report in Markdown."""
    return "\n".join(_lines(document)) + "\n"


def summary(documents: Sequence[Document]) -> str:
    """Returns a Markdown table with a line for the proof of each stack, as in docs/proof.md."""
    head = [
        "| architecture | stack | nodes | pods | dedicated nodes | servers failed, one at a time | quorums held | "
        "rollouts | drains | time | verdict |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    return "\n".join([*head, *(_summary_line(document) for document in documents)]) + "\n"


def _summary_line(document: Document) -> str:
    held = [quorum["holds"] for loss in document["losses"] for quorum in loss["quorums"] if quorum["mustHold"]]
    ended = [rollout["ended"] for rollout in document["rollouts"]]
    single = sum(len(loss["servers"]) == 1 for loss in document["losses"])
    minutes = document["seconds"].get("total", 0) / 60
    dedicated = document["dedicated"]
    cells = [
        document["architecture"],
        document["stack"],
        document["counts"]["nodes"],
        document["counts"]["pods"],
        f"{dedicated['seen']} of {dedicated['expected']}",
        single,
        f"{sum(held)} of {len(held)}",
        f"{sum(ended)} of {len(ended)}",
        len(document["drains"]),
        f"{minutes:.1f} min",
        document["verdict"],
    ]
    return "| " + " | ".join(in_markdown(str(cell)) for cell in cells) + " |"


def _lines(document: Document) -> Iterator[str]:
    counts = document["counts"]
    yield f"# Proof of {in_markdown(document['stack'])}: {'passed' if document['verdict'] == 'pass' else 'failed'}"
    yield ""
    yield (
        f"Architecture {in_markdown(document['architecture'])}, {counts['objects']} objects on a real Kubernetes "
        f"{document['kubernetes']} with {pluralize(counts['nodes'], 'simulated node')} on "
        f"{pluralize(counts['servers'], 'server')}: {counts['pods']} pods. The checks read the cluster, never the plan."
    )
    yield from _findings(document)
    yield from _rows(document)
    yield from _losses(document)
    yield from _trials(document)
    yield from _figures(document)


def _findings(document: Document) -> Iterator[str]:
    if not document["findings"]:
        return
    yield from ("", "## Findings", "", "| check | subject | message |", "| --- | --- | --- |")
    for finding in document["findings"]:
        yield f"| {finding['check']} | {in_markdown(finding['subject'])} | {in_markdown(finding['message'], LONGEST)} |"


def _rows(document: Document) -> Iterator[str]:
    dedicated = document["dedicated"]
    yield from ("", "## Rows", "", f"Dedicated nodes: {dedicated['seen']}, expected {dedicated['expected']}.", "")
    yield from ("| row | expected | ready | dedicated nodes | runs on |", "| --- | ---: | ---: | ---: | --- |")
    for row in document["rows"]:
        where = "every node of its pools" if row["everywhere"] else _names(row["nodes"])
        own = f"{row['dedicatedSeen']} of {row['dedicatedExpected']}" if row["dedicatedExpected"] else "–"
        mark = " (quorum)" if row["quorum"] else ""
        yield f"| {in_markdown(row['row'])}{mark} | {row['expected']} | {row['seen']} | {own} | {where} |"


def _losses(document: Document) -> Iterator[str]:
    if not document["losses"]:
        return
    telling = [loss for loss in document["losses"] if loss["quorums"] or loss["below"] or loss["elsewhere"]]
    plain = [loss for loss in document["losses"] if loss not in telling]
    yield from ("", "## Failed servers", "")
    if plain:
        yield (
            f"The failure of any of {pluralize(len(plain), 'server')} removed only pods that run on every node: no "
            "service fell below its count."
        )
    if sentence := expected_loss(document):
        yield in_markdown(sentence, LONGEST)
    if not telling:
        return
    yield from ("", "| failed | quorums | below their count | recovered elsewhere |", "| --- | --- | --- | --- |")
    for loss in telling:
        quorums = ", ".join(
            f"{in_markdown(each['row'])} {each['left']}/{each['members']} {_outcome(each)}" for each in loss["quorums"]
        )
        below = _names(f"{each['row']} {each['left']}/{each['wanted']}" for each in loss["below"])
        back = _names(f"{each['row']} on {each['node']}" for each in loss["elsewhere"])
        yield f"| {in_markdown(' + '.join(loss['servers']))} | {quorums or '–'} | {below or '–'} | {back or '–'} |"


def expected_loss(document: Document) -> str:
    """Returns a sentence about losses that are expected because a quorum or the stack is too small; "" for none."""
    losses = document["losses"]
    if all_lost := [server for loss in losses if loss["everything"] for server in loss["servers"]]:
        return (
            f"The stack runs on one server: the failure of {all_lost[0]} stops the cloud and loses all its data. "
            "This is expected of one server and is not a finding."
        )
    lost = {each["row"] for loss in losses for each in loss["quorums"] if not (each["holds"] or each["mustHold"])}
    if not lost:
        return ""
    return (
        f"Too few members to tolerate a failure: {', '.join(sorted(lost))}. Each stops with the server of a member. "
        "This is expected of so few members and is not a finding."
    )


def _outcome(quorum: Document) -> str:
    if quorum["holds"]:
        return "holds"
    return "**lost**" if quorum["mustHold"] else "lost (expected)"


def _trials(document: Document) -> Iterator[str]:
    if document["rollouts"]:
        yield from ("", "## Rollouts", "", "| workload | instances | down at once | ended | seconds |")
        yield "| --- | ---: | ---: | --- | ---: |"
        for each in document["rollouts"]:
            down = "–" if each["workload"].startswith("DaemonSet") else each["mostDown"]
            ended = "yes" if each["ended"] else "**no**"
            yield f"| {in_markdown(each['workload'])} | {each['instances']} | {down} | {ended} | {each['seconds']} |"
    if document["drains"]:
        busy = [each for each in document["drains"] if each["evicted"]]
        yield from ("", "## Drains", "")
        nodes = pluralize(len(document["drains"]), "node")
        yield f"{nodes}, one at a time; {len(busy)} ran pods other than those of DaemonSets."
        yield from ("", "| node | evicted | eviction of a second member rejected (429) |", "| --- | ---: | --- |")
        for each in busy:
            refused = _names(each["secondMemberRefused"])
            yield f"| {in_markdown(each['node'])} | {each['evicted']} | {refused or '–'} |"
    if document["overreaches"]:
        yield from ("", "## Scaling", "", "| row | replicas | eligible nodes | pending | error of the plan |")
        yield "| --- | ---: | ---: | ---: | --- |"
        for each in document["overreaches"]:
            error = in_markdown(each["plan"], LONGEST) or "**none**"
            yield f"| {in_markdown(each['row'])} | {each['asked']} | {each['eligible']} | {each['pending']} | {error} |"


def _figures(document: Document) -> Iterator[str]:
    yield from ("", "## Figures", "", "| figure | |", "| --- | ---: |")
    for what, seconds in document["seconds"].items():
        yield f"| {what} | {seconds} s |"
    yield f"| sum of the peak memory of the control plane's programs | {document['controlPlaneMemory']} MiB |"


def _names(names: Iterable[str]) -> str:
    return in_markdown(", ".join(names), LONGEST)
