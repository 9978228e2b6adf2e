#!/usr/bin/env -S python3 -u
"""The pack, with a rule that raises: `galera-size` divides by zero."""

import importlib
import sys
from pathlib import Path

from pulumi_policy import PolicyPack

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent.parent.parent)

catalogue = importlib.import_module("policy.catalogue")


def check(_facts: object, _subject: object) -> float:
    return 1 / 0


object.__setattr__(catalogue.BY_ID["galera-size"], "check", check)
pack = importlib.import_module("policy.engine.pack")
importlib.import_module("policy.engine.analyzer").install()

PolicyPack(pack.NAME, pack.policies(), description=pack.DESCRIPTION)  # serves, and never returns
