"""`python -m proof`: proves stacks on a real Kubernetes control plane, and writes what it saw.

python -m proof --stack prod
python -m proof --arch 100|300|500|1000|all
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from commands import stack
from proof import proof_file as documents
from proof import report
from proof.api import ApiError, Unreachable
from proof.prove import TRIALS, Subject, prove
from proof.render import rendered
from proof.simulation import read
from toolchain import cluster_programs
from toolchain.progress import ProgramError, Reporter, UserError, duration

ROOT = Path(__file__).resolve().parent.parent
STACKS = {"100": "ra100", "300": "prod", "500": "ra500", "1000": "ra1000"}
"""The stack that shows each architecture at full size."""


def main(arguments: Sequence[str]) -> int:
    """0 where everything holds, 1 where something does not, 130 when interrupted."""
    chosen = _parser().parse_args(arguments)
    os.chdir(ROOT)
    signal.signal(signal.SIGTERM, _interrupt)  # so that a plain kill cleans up as Ctrl-C does
    reporter = Reporter()
    try:
        binaries = Path(chosen.binaries).resolve() if chosen.binaries else cluster_programs.bring(reporter)
        names = [chosen.stack] if chosen.stack else _stacks(chosen.arch)
        seen = [_prove(name, binaries, chosen, reporter) for name in names]
    except KeyboardInterrupt:
        reporter.say("\nInterrupted. Nothing is left running.")
        return 130
    except (UserError, ProgramError, InvalidStackError, ApiError, Unreachable) as trouble:
        reporter.say(str(trouble))
        return 1
    if len(seen) > 1:
        path = documents.write(ROOT / "build" / "proof", "summary.md", report.summary(seen))
        print(f"\n{report.summary(seen)}\nKept in {path.relative_to(ROOT)}")
    return 0 if all(each["verdict"] == "pass" for each in seen) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="proof", description="Prove a stack on a real Kubernetes control plane.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--stack", help="Pulumi.<stack>.yaml or examples/<stack>.yaml")
    which.add_argument("--arch", choices=[*STACKS, "all"], help="the stack of a reference architecture")
    parser.add_argument("--trials", default=",".join(TRIALS), help="some of them only, by comma")
    parser.add_argument("--tree", type=Path, help="a tree that is rendered already")
    parser.add_argument("--binaries", help="a directory with the control plane's programs")
    return parser


def _stacks(architecture: str) -> list[str]:
    return list(STACKS.values()) if architecture == "all" else [STACKS[architecture]]


def _prove(name: str, binaries: Path, chosen: argparse.Namespace, reporter: Reporter) -> documents.Document:
    settings = load_file(stack.find(ROOT, name))
    with _tree(name, chosen.tree, reporter) as tree:
        subject = Subject(name, settings, read(tree))
    reporter.begin(f"Proving {name}: {len(subject.rendered.machines)} nodes")
    trials = [trial for trial in str(chosen.trials).split(",") if trial in TRIALS]
    proof = prove(subject, binaries, reporter.tick, trials)
    reporter.end("proved" if proof.holds else f"{len(proof.findings)} findings")
    seen = documents.document(proof, cluster_programs.kubernetes_version())
    directory = ROOT / "build" / name / "proof"
    documents.write(directory, "proof.json", documents.to_json(seen))
    path = documents.write(directory, "proof.md", report.markdown(seen))
    for finding in proof.findings[:20]:
        print(f"  {finding}")
    verdict = "holds" if proof.holds else "does not hold"
    print(f"{name} {verdict} ({duration(proof.seconds['total'])}): {path.relative_to(ROOT)}", flush=True)
    return seen


@contextmanager
def _tree(name: str, given: Path | None, reporter: Reporter) -> Generator[Path]:
    if given:
        yield given
        return
    reporter.begin(f"Building {name} with the engine, in a throw-away state")
    with rendered(ROOT, name) as tree:
        reporter.end()
        yield tree


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
