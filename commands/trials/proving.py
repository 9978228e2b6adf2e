"""`quorate prove`: proves stacks on a real Kubernetes control plane and writes the results."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.api import ApiError, Unreachable
from commands import build_directory, stack
from commands.engine.operation import interrupted_by_termination
from commands.engine.temporary_rendering import rendered
from commands.stack import ValidStack
from console.errors import UserError
from console.progress import Reporter, duration
from proof import proof_file as documents
from proof import report
from proof.prove import TRIALS, ProvedStack, prove
from proof.simulation import read
from toolchain import cluster_programs

STACKS = {"100": "ra100", "300": "prod", "500": "ra500", "1000": "ra1000"}
"""Name of a sample stack for each reference architecture, by its number of computes."""


@dataclass(frozen=True)
class Request:
    """The arguments of `quorate prove`."""

    stack: str
    architecture: str = ""
    """Reference architecture whose sample stack is proved instead of `stack`; `all` for every sample stack."""
    trials: tuple[str, ...] = TRIALS
    """Names of the trials to run, such as the failure of each server."""
    tree: Path | None = None
    """A rendered tree to prove; None to render the stack."""
    binaries: Path | None = None
    """A directory with the control plane's programs; None to install them."""


def prove_stacks(root: Path, request: Request) -> int:
    """Proves stacks and writes build/<stack>/proof/. Returns 0 if all proofs pass, otherwise 1."""
    names = _stacks(request)
    unknown = [name for name in request.trials if name not in TRIALS]
    if unknown:
        raise UserError(f"There is no trial {', '.join(unknown)}; the trials are {', '.join(TRIALS)}.")
    reporter = Reporter()
    try:
        with interrupted_by_termination():
            binaries = request.binaries or cluster_programs.ensure(reporter)
            results = [_prove(root, name, request, binaries, reporter) for name in names]
    except (ApiError, Unreachable) as error:
        raise UserError(str(error)) from None
    if len(results) > 1:
        path = documents.write(root / "build", "proof.md", report.summary(results))
        print(f"\n{report.summary(results)}\nWritten to {path.relative_to(root)}")
    return 0 if all(each["verdict"] == "pass" for each in results) else 1


def _stacks(request: Request) -> list[str]:
    if not request.architecture:
        return [request.stack]
    if request.architecture == "all":
        return list(STACKS.values())
    if request.architecture not in STACKS:
        raise UserError(f"{request.architecture!r} is not a reference architecture; write {', '.join(STACKS)} or all.")
    return [STACKS[request.architecture]]


def _prove(root: Path, name: str, request: Request, binaries: Path, reporter: Reporter) -> documents.Document:
    found = stack.load(root, name)
    with _tree(root, found, request.tree, reporter) as tree:
        subject = ProvedStack(name, found.settings, read(tree))
    reporter.begin(f"Proving {name}: {len(subject.rendered.machines)} nodes")
    proof = prove(subject, binaries, reporter.tick, request.trials)
    reporter.end("proved" if proof.holds else f"{len(proof.findings)} findings")
    document = documents.document(proof, cluster_programs.kubernetes_version())
    directory = build_directory.of_stack(root, name) / "proof"
    documents.write(directory, "proof.json", documents.to_json(document))
    path = documents.write(directory, "proof.md", report.markdown(document))
    for finding in proof.findings[:20]:
        print(f"  {finding}", file=sys.stderr)
    if sentence := report.expected_loss(document):
        print(f"  {sentence}", flush=True)
    verdict = "passed" if proof.holds else "failed"
    print(f"Proof of {name} {verdict} ({duration(proof.seconds['total'])}): {path.relative_to(root)}", flush=True)
    return document


@contextmanager
def _tree(root: Path, found: ValidStack, given: Path | None, reporter: Reporter) -> Generator[Path]:
    if given:
        yield given
        return
    reporter.begin(f"Rendering {found.name} with Pulumi in a temporary state")
    with rendered(root, found) as tree:
        reporter.end()
        yield tree
