"""DNS names by which clients outside of the cluster reach services: subdomains of the domain in the stack file."""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.openstack.projects.records import Records
from blueprint.stackfile.settings import Ingress

HTTPS = 443


def host(ingress: Ingress, records: Records, process: str) -> str:
    """Returns the DNS name by which clients outside of the cluster reach a process, such as identity.example.org."""
    return f"{records.processes[process].subdomain}.{ingress.domain}"


def hosts(ingress: Ingress, records: Records, processes: Iterable[str]) -> dict[str, str]:
    """Returns the DNS names outside of the cluster, by process. Processes without a subdomain are left out."""
    present = set(processes)
    return {
        name: host(ingress, records, name)
        for name, process in records.processes.items()
        if process.subdomain and name in present
    }


def url(ingress: Ingress, records: Records, process: str, path: str = "") -> str:
    """Returns the HTTPS URL by which clients outside of the cluster reach a process."""
    port = "" if ingress.port == HTTPS else f":{ingress.port}"
    return f"https://{host(ingress, records, process)}{port}{path}"
