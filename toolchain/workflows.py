"""`python -m toolchain.workflows`: checks the CI workflows in .github/workflows, as a part of `make lint`.

actionlint reports syntax and type errors, zizmor security problems. The Python environment contains zizmor. actionlint
is built from its Go module into the user's cache, because its Python package would download a program during
installation. If the module cannot be downloaded, a message is printed and only zizmor runs.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from console.errors import UserError
from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain import checksums
from toolchain.engine import Unfinished, cache_directory, finish
from toolchain.go_build import Go, build_error, ensure_go, go_environment, version_of
from toolchain.install import ROOT, VENV, alone

MODULE = ROOT / "toolchain" / "actionlint"
PACKAGE = "github.com/rhysd/actionlint/cmd/actionlint"
GO_LOCK = ROOT / "toolchain" / "engine" / "go.lock"
WORKFLOWS = ROOT / ".github" / "workflows"


def ensure(reporter: Reporter) -> Path:
    """Returns the path of actionlint; builds actionlint if the user's cache does not have it or it is damaged."""
    cache = cache_directory(os.environ)
    with alone(cache / "actionlint", reporter):
        text = (MODULE / "go.mod").read_text(encoding="utf-8")
        go = ensure_go(cache, GO_LOCK, VENV, version_of(re.findall(r"^go (\S+)", text, re.MULTILINE)[0]), reporter)
        home = cache / f"actionlint-{_digest(go)}"
        if not checksums.exist(home) or checksums.damaged(home):
            with Unfinished(home) as partial:
                _build(go, partial / "actionlint", reporter)
                checksums.write(partial, [partial / "actionlint"])
                finish(partial, home)
    return home / "actionlint"


def check(actionlint: Path | None, files: Sequence[Path]) -> int:
    """Runs actionlint (unless it is None) and zizmor on workflow files. Returns 0 if neither reports a problem."""
    # actionlint's optional helpers are disabled, so that the result does not depend on the machine.
    lint = [[actionlint, "-shellcheck=", "-pyflakes=", *files]] if actionlint else []
    audit = [VENV / "bin" / "zizmor", "--offline", "--no-progress", "--quiet", *files]
    codes = [subprocess.run(command, cwd=ROOT, check=False).returncode for command in (*lint, audit)]
    return 1 if any(codes) else 0


def _digest(go: Go) -> str:
    made_from = hashlib.sha256(f"{go.name} {go.system}".encode())
    for path in sorted(MODULE.iterdir()):
        made_from.update(path.read_bytes())
    return made_from.hexdigest()[:16]


def _build(go: Go, output: Path, reporter: Reporter) -> None:
    reporter.begin("Building actionlint from Go modules", "half a minute, once for all clones")
    command = [go.command, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", output, PACKAGE]
    try:
        run(command, directory=MODULE, environment=go_environment(os.environ))
    except ProgramError as failure:
        raise build_error(failure, "actionlint") from None
    reporter.end()


def main(arguments: Sequence[str]) -> int:
    """Checks the workflow files in the arguments, by default all workflows. Returns the exit code."""
    reporter = Reporter()
    actionlint: Path | None = None
    try:
        actionlint = ensure(reporter)
    except (UserError, ProgramError) as reason:
        reporter.say(f"{reason}\nWithout actionlint, only zizmor checks the workflows.")
    return check(actionlint, [Path(each) for each in arguments] or sorted(WORKFLOWS.glob("*.yml")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
