"""Serves the policy pack; `pulumi preview --policy-pack policy` starts this program.

Pulumi runs the folder policy/ as a program, so `sys.path` starts with this folder. The root of the repository replaces
the folder there, so that modules are imported as `policy.…` and do not shadow other modules.
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
