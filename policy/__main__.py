#!/usr/bin/env -S python3 -u
"""Serves the policy pack; Pulumi starts this program in two ways.

`--policy-pack policy`: Pulumi's language host starts it, and puts a proxy between Pulumi and the pack.
`--policy-pack policy/__main__.py`: Pulumi starts it directly, with the first `python3` in PATH, which saves the time of
the proxy (docs/adr/0036-policy-pack-behind-a-proxy.md). Quorate's commands do this.

In both, `sys.path` starts with this folder. The root of the repository replaces the folder there, so that modules are
imported as `policy.…` and do not shadow other modules.
"""

# ruff: noqa: E402 - garbage collection ends before the imports

import gc

gc.disable()  # the process ends with the run; garbage collection took a tenth of its time

import importlib
import os
import signal
import stat
import sys
from pathlib import Path
from threading import Thread

from pulumi_policy import PolicyPack

sys.path[0] = str(Path(__file__).resolve().parent.parent)


def end(*_: object) -> None:
    """Ends this process, for which Pulumi waits. To free its objects one by one would take 70 ms."""
    os._exit(0)


def end_with_pulumi() -> None:
    """Ends this process at the end of standard input: Pulumi has ended, also if it was killed."""
    while os.read(0, 1):
        pass
    end()


signal.signal(signal.SIGINT, end)  # with which Pulumi ends a pack
if stat.S_ISFIFO(os.fstat(0).st_mode):  # started by Pulumi itself; a language host ends the pack in its own way
    Thread(target=end_with_pulumi, daemon=True).start()

pack = importlib.import_module("policy.engine.pack")
importlib.import_module("policy.engine.analyzer").install()

PolicyPack(pack.NAME, pack.policies(), description=pack.DESCRIPTION)  # serves until the process ends
