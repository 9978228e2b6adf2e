"""Serves the policy pack: `pulumi preview --policy-pack policy` starts this.

The engine runs the folder as a program of its own, so the project's root is put on the path first, in place of this
folder, whose file names must not stand in for other modules.
"""

import gc
import importlib
import sys
from pathlib import Path

from pulumi_policy import PolicyPack

gc.disable()  # the process ends with the run; garbage collection took a tenth of its time

sys.path[0] = str(Path(__file__).resolve().parent.parent)

pack = importlib.import_module("policy.engine.pack")
importlib.import_module("policy.engine.analyzer").install()

PolicyPack(pack.NAME, pack.policies(), description=pack.DESCRIPTION)  # serves, and never returns
