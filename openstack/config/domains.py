"""DNS names by which clients outside of the cluster reach services: subdomains of the domain in the stack file."""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.openstack.projects.records import processes as all_processes
from blueprint.stackfile.settings import Ingress

SUBDOMAINS = {name: process.subdomain for name, process in all_processes().items() if process.subdomain}
"""Subdomain of each process that clients outside of the cluster can reach."""
HTTPS = 443


def host(ingress: Ingress, process: str) -> str:
    """Returns the DNS name by which clients outside of the cluster reach a process, such as identity.example.org."""
    return f"{SUBDOMAINS[process]}.{ingress.domain}"


def hosts(ingress: Ingress, processes: Iterable[str]) -> dict[str, str]:
    """Returns the DNS names outside of the cluster, by process. Processes without a subdomain are left out."""
    present = set(processes)
    return {process: host(ingress, process) for process in SUBDOMAINS if process in present}


def url(ingress: Ingress, process: str, path: str = "") -> str:
    """Returns the HTTPS URL by which clients outside of the cluster reach a process."""
    port = "" if ingress.port == HTTPS else f":{ingress.port}"
    return f"https://{host(ingress, process)}{port}{path}"
