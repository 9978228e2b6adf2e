"""Runs `quorate restore mysqld` for the small lab, where its machines are reachable.

The command refuses the stack "dev", which is rendered: here, its objects were applied to real machines. Words: the
directory with build/dev/kubeconfig, and the source as `--from` takes it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from commands import stack
from commands.live import galera_restore
from commands.live.restore_request import RestoreRequest
from console.errors import UserError
from tests.stacks import ROOT
from tests.trials.machines.small_lab import STACK


def main(root: str, source: str) -> int:
    """Restores the Galera. Returns the command's exit code; prints the reason if it refuses or stops."""
    try:
        request = RestoreRequest("mysqld", source, confirm=STACK)
        return galera_restore.run(Path(root), stack.load(ROOT, STACK), request)
    except UserError as refusal:
        print(refusal, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
