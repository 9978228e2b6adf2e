"""proof.md: the document of a proof for people. Says what was expected and seen, and what each loss did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Document = dict[str, Any]


def markdown(document: Document) -> str:
    """The whole report."""
    return "\n".join(_lines(document)) + "\n"


def summary(documents: Sequence[Document]) -> str:
    """A line for each stack: the README's table."""
    head = [
        "| architecture | stack | nodes | pods | dedicated nodes | servers lost, one by one | quorums held | "
        "rollouts | drains | time | verdict |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    return "\n".join([*head, *(_summary_line(document) for document in documents)]) + "\n"


def _summary_line(document: Document) -> str:
    held = [quorum["holds"] for loss in document["losses"] for quorum in loss["quorums"]]
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
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _lines(document: Document) -> Iterator[str]:
    counts = document["counts"]
    yield f"# Proof of {document['stack']}: {'it holds' if document['verdict'] == 'pass' else 'it does not hold'}"
    yield ""
    yield (
        f"Architecture {document['architecture']}, {counts['objects']} objects on a real Kubernetes "
        f"{document['kubernetes']} with {counts['nodes']} simulated nodes on {counts['servers']} servers: "
        f"{counts['pods']} pods. Judged from the live cluster, never from the plan."
    )
    yield from _findings(document)
    yield from _rows(document)
    yield from _losses(document)
    yield from _trials(document)
    yield from _figures(document)


def _findings(document: Document) -> Iterator[str]:
    if not document["findings"]:
        return
    yield from ("", "## What does not hold", "", "| check | what | why |", "| --- | --- | --- |")
    for finding in document["findings"]:
        yield f"| {finding['check']} | {finding['subject']} | {_cell(finding['message'])} |"


def _rows(document: Document) -> Iterator[str]:
    dedicated = document["dedicated"]
    yield from ("", "## Rows", "", f"Dedicated nodes: {dedicated['seen']}, expected {dedicated['expected']}.", "")
    yield from ("| row | expected | seen | dedicated nodes | stands on |", "| --- | ---: | ---: | ---: | --- |")
    for row in document["rows"]:
        where = "every node of its pools" if row["everywhere"] else ", ".join(row["nodes"])
        own = f"{row['dedicatedSeen']} of {row['dedicatedExpected']}" if row["dedicatedExpected"] else "–"
        mark = " (quorum)" if row["quorum"] else ""
        yield f"| {row['row']}{mark} | {row['expected']} | {row['seen']} | {own} | {where} |"


def _losses(document: Document) -> Iterator[str]:
    if not document["losses"]:
        return
    telling = [loss for loss in document["losses"] if loss["quorums"] or loss["below"] or loss["elsewhere"]]
    plain = [loss for loss in document["losses"] if loss not in telling]
    yield from ("", "## Servers lost", "")
    if plain:
        yield (
            f"The loss of any of {len(plain)} servers took nothing but what runs on every node: no service fell below "
            "its count."
        )
    if not telling:
        return
    yield from ("", "| lost | quorums | below their count | came back elsewhere |", "| --- | --- | --- | --- |")
    for loss in telling:
        quorums = ", ".join(
            f"{each['row']} {each['left']}/{each['members']} {'holds' if each['holds'] else '**lost**'}"
            for each in loss["quorums"]
        )
        below = ", ".join(f"{each['row']} {each['left']}/{each['wanted']}" for each in loss["below"])
        back = ", ".join(f"{each['row']} on {each['node']}" for each in loss["elsewhere"])
        yield f"| {' + '.join(loss['servers'])} | {quorums or '–'} | {below or '–'} | {back or '–'} |"


def _trials(document: Document) -> Iterator[str]:
    if document["rollouts"]:
        yield from ("", "## Rollouts", "", "| workload | instances | down at once | ended | seconds |")
        yield "| --- | ---: | ---: | --- | ---: |"
        for each in document["rollouts"]:
            down = "–" if each["workload"].startswith("DaemonSet") else each["mostDown"]
            ended = "yes" if each["ended"] else "**no**"
            yield f"| {each['workload']} | {each['instances']} | {down} | {ended} | {each['seconds']} |"
    if document["drains"]:
        busy = [each for each in document["drains"] if each["evicted"]]
        yield from ("", "## Drains", "")
        yield f"{len(document['drains'])} nodes, one at a time; {len(busy)} had more than daemons to give away."
        yield from ("", "| node | evicted | second member refused (429) |", "| --- | ---: | --- |")
        for each in busy:
            yield f"| {each['node']} | {each['evicted']} | {', '.join(each['secondMemberRefused']) or '–'} |"
    if document["overreaches"]:
        yield from ("", "## Too many instances", "", "| row | asked | nodes | pending | what the plan says |")
        yield "| --- | ---: | ---: | ---: | --- |"
        for each in document["overreaches"]:
            said = _cell(each["plan"]) or "**lets it pass**"
            yield f"| {each['row']} | {each['asked']} | {each['eligible']} | {each['pending']} | {said} |"


def _figures(document: Document) -> Iterator[str]:
    yield from ("", "## Figures", "", "| what | |", "| --- | ---: |")
    for what, seconds in document["seconds"].items():
        yield f"| {what} | {seconds} s |"
    yield f"| control plane's memory, peaks summed | {document['controlPlaneMemory']} MiB |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
