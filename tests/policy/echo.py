"""A provider that gives back what it is given, for packages whose own plugin a test does not need.

The engine speaks to it instead of to a plugin (PULUMI_DEBUG_PROVIDERS), so that a program may use their real classes.
"""
# ruff: noqa: N802, ARG002 - names and arguments are the protocol's

from __future__ import annotations

from collections.abc import Generator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc


class Echo(provider_pb2_grpc.ResourceProviderServicer):
    """A provider with only the calls that a preview makes. It returns the inputs of resources as their outputs."""

    def Handshake(self, request: Any, context: Any) -> provider_pb2.ProviderHandshakeResponse:
        return provider_pb2.ProviderHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version="0.0.0")

    def Attach(self, request: Any, context: Any) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def CheckConfig(self, request: Any, context: Any) -> provider_pb2.CheckResponse:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> provider_pb2.DiffResponse:
        return provider_pb2.DiffResponse()

    def Configure(self, request: Any, context: Any) -> provider_pb2.ConfigureResponse:
        return provider_pb2.ConfigureResponse(supportsPreview=True, acceptSecrets=True, acceptResources=True)

    def Check(self, request: Any, context: Any) -> provider_pb2.CheckResponse:
        return provider_pb2.CheckResponse(inputs=request.news)

    def Create(self, request: Any, context: Any) -> provider_pb2.CreateResponse:
        return provider_pb2.CreateResponse(id="" if request.preview else "made", properties=request.properties)


@contextmanager
def serving(*packages: str) -> Generator[str]:
    """Serves a provider for these packages. Yields the value for PULUMI_DEBUG_PROVIDERS."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Echo(), server)  # pyright: ignore[reportUnknownMemberType]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield ",".join(f"{package}:{port}" for package in packages)
    finally:
        server.stop(grace=None)
