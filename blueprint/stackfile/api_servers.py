"""How clients reach the Kubernetes API: names in API servers' certificates, and times of the proxy on each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StringConstraints
from pydantic.alias_generators import to_camel

from blueprint.stackfile.values import HOST, Strict

KEY = "quorate:apiServers"
PROXY = "api-proxy"
"""The name of the proxy's pod, and of its configuration in `quorate config`."""


@dataclass(frozen=True)
class ProxyTime:
    """A time in the proxy's nginx.conf."""

    option: str
    value: str
    """As nginx reads it, such as 10m."""
    source: str
    """The origin of the value, as `quorate config` prints it."""


class ApiProxy(Strict):
    """Times of the nginx on every machine except the masters. It forwards connections to the API servers."""

    # With nginx's default, watches were interrupted so often that the API servers used ten times the CPU.
    timeout_seconds: Annotated[
        int, Field(ge=1, le=86400, description="seconds without a byte until a connection is closed")
    ] = 600
    # "This timeout cannot usually exceed 75 seconds" (nginx, ngx_http_proxy_module, proxy_connect_timeout).
    connect_timeout_seconds: Annotated[
        int, Field(ge=1, le=75, description="seconds to connect to an API server before the next is tried")
    ] = 1
    fail_timeout_seconds: Annotated[
        int,
        Field(ge=1, le=3600, description="seconds without new connections to an API server that failed twice in them"),
    ] = 3

    def times(self) -> tuple[ProxyTime, ...]:
        """Returns the times with their options of nginx.conf."""
        given = self.model_fields_set

        def time(option: str, seconds: int, name: str, source: str) -> ProxyTime:
            value = f"{seconds}s" if seconds % 60 else f"{seconds // 60}m"
            key = f"{KEY}.proxy.{to_camel(name)}"
            return ProxyTime(option, value, f"stack: {key}" if name in given else f"project: {source}")

        return (
            time("proxy_timeout", self.timeout_seconds, "timeout_seconds", "source 004, 5.5.8"),
            time("proxy_connect_timeout", self.connect_timeout_seconds, "connect_timeout_seconds", "project figure"),
            time("fail_timeout", self.fail_timeout_seconds, "fail_timeout_seconds", "project figure"),
        )


class ApiServers(Strict):
    """How clients reach the Kubernetes API. Nodes reach every master through their own proxy."""

    names: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=HOST)], ...],
        Field(
            min_length=1,
            description="further names and addresses in the certificates of new API servers, such as those of a load "
            "balancer or a virtual IP",
        ),
    ] = ()
    proxy: ApiProxy = ApiProxy()
