"""Serves the policy pack: `pulumi preview --policy-pack policy` starts this.

The engine runs this folder as a program, so `sys.path` starts with this folder. The project's root replaces it, so that
file names of this folder do not shadow other modules.
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

PolicyPack(pack.NAME, pack.policies(), description=pack.DESCRIPTION)  # serves until the process ends
