"""The pack behind a proxy of SDK 3.259.0, which passes `ConfigureStack` on to no pack."""

import importlib
import sys
from pathlib import Path

from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import PolicyPack

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent.parent.parent)

pack = importlib.import_module("policy.engine.pack")
analyzer = importlib.import_module("policy.engine.analyzer")


def unheard(*_call: object) -> analyzer_pb2.AnalyzerStackConfigureResponse:
    return analyzer_pb2.AnalyzerStackConfigureResponse()


analyzer.Analyzer.ConfigureStack = unheard
analyzer.install()

PolicyPack(pack.NAME, pack.policies(), description=pack.DESCRIPTION)  # serves, and never returns
