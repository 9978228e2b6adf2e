"""Tests that the policy SDK has the private names which the pack's server uses, and of the message if it has not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pulumi.runtime.proto import analyzer_pb2_grpc
from pulumi_policy import policy as sdk

from policy.engine import sdk_server


def test_the_installed_sdk_fits() -> None:
    """If this test fails after an upgrade of pulumi-policy, adapt policy/engine/sdk_server.py to the new SDK."""
    assert sdk_server.differences() == []


class Renamed(sdk._PolicyAnalyzerServicer):  # pyright: ignore[reportPrivateUsage]
    _get_enforcement_level: Any = None


@pytest.mark.parametrize(
    ("module", "protocol", "message"),
    [
        (SimpleNamespace(__name__="pulumi_policy.policy"), analyzer_pb2_grpc, "has no _PolicyAnalyzerServicer"),
        (sdk, SimpleNamespace(__name__="analyzer_pb2_grpc"), "analyzer_pb2_grpc has no add_AnalyzerServicer_to_server"),
        (
            SimpleNamespace(__name__="new", _PolicyAnalyzerServicer=Renamed),
            analyzer_pb2_grpc,
            "_PolicyAnalyzerServicer._get_enforcement_level has the parameters (); expected ('self', 'policy')",
        ),
    ],
)
def test_another_sdk_is_named(module: Any, protocol: Any, message: str) -> None:
    (found,) = sdk_server.differences(module, protocol)
    assert message in found


def test_a_pack_with_another_sdk_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_PolicyAnalyzerServicer", Renamed)
    with pytest.raises(RuntimeError, match=r"pulumi-policy \S+ does not fit .* Install the version that"):
        sdk_server.serve_with(sdk_server.PolicyServer, frozenset())
