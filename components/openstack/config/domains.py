"""Names under which services are reached from outside of the cluster: a subdomain of the stack's domain for each.

The subdomains are Fuel-CCP's (004, 1.6.2); placement and cloudformation are additions.
"""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.stackfile.settings import Ingress

SUBDOMAINS = {
    "keystone": "identity",
    "glance-api": "image",
    "placement-api": "placement",
    "neutron-server": "network",
    "nova-api": "compute",
    "nova-novncproxy": "console",
    "cinder-api": "volume",
    "heat-api": "orchestration",
    "heat-api-cfn": "cloudformation",
    "radosgw": "object-store",
    "horizon": "horizon",
}
"""Subdomains by process."""
HTTPS = 443


def host(ingress: Ingress, process: str) -> str:
    """Returns the name of a process outside of the cluster."""
    return f"{SUBDOMAINS[process]}.{ingress.domain}"


def hosts(ingress: Ingress, processes: Iterable[str]) -> dict[str, str]:
    """Returns the name of each of these processes that is reached from outside of the cluster."""
    present = set(processes)
    return {process: host(ingress, process) for process in SUBDOMAINS if process in present}


def url(ingress: Ingress, process: str, path: str = "") -> str:
    """Returns the URL of a process outside of the cluster."""
    port = "" if ingress.port == HTTPS else f":{ingress.port}"
    return f"https://{host(ingress, process)}{port}{path}"
