"""The pack, which also keeps what the engine sends: the requests that tests/policy/requests.py evaluates again."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from pulumi_policy import PolicyPack

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent.parent.parent)

pack = importlib.import_module("policy.engine.pack")
analyzer = importlib.import_module("policy.engine.analyzer")


def kept(method: Any) -> Any:
    """Returns a method of the protocol that also writes its request to a file named after the method."""

    def answer(server: Any, request: Any, context: Any) -> Any:
        path = Path(os.environ["QUORATE_REQUESTS"]) / f"{method.__name__}.bin"
        path.write_bytes(request.SerializeToString())
        return method(server, request, context)

    return answer


for name in ("ConfigureStack", "AnalyzeStack"):
    setattr(analyzer.Analyzer, name, kept(getattr(analyzer.Analyzer, name)))
analyzer.install()

PolicyPack(pack.NAME, pack.policies(), description=pack.DESCRIPTION)  # serves, and never returns
