"""The workloads of a lab, and the Services that its clients use."""

from __future__ import annotations

from dataclasses import dataclass

import contract
from cluster.objects import Object, listed, name, number, text, texts
from trials.cloud import client, masters
from trials.cloud.lab_machines import Lab

HTTP_PORTS = ("api", "http", "vnc")
"""Names of the Services' ports that clients of OpenStack use."""


@dataclass(frozen=True)
class DrilledWorkload:
    """A Deployment, StatefulSet or DaemonSet."""

    title: str
    """Kind and name as kubectl writes them, such as `statefulset/mysqld`."""
    name: str
    """The name of the service, which its pods' label has too."""
    pods: int
    """How many pods it should have."""


def expected(lab: Lab) -> list[DrilledWorkload]:
    """Returns the workloads of OpenStack's namespace."""
    return [
        DrilledWorkload(
            title=f"{text(each, 'kind').lower()}/{name(each)}",
            name=texts(each, "metadata", "labels").get(contract.NAME, name(each)),
            pods=number(each, "spec", "replicas") or number(each, "status", "desiredNumberScheduled"),
        )
        for each in of_openstack(lab, "deployments,statefulsets,daemonsets")
    ]


def apis(lab: Lab) -> dict[str, str]:
    """Returns the URL of every Service that clients of OpenStack use, by the Service's name.

    Services without an address of their own are the way by which members of a quorum find each other.
    """
    return {
        name(service): f"http://{name(service)}.{client.NAMESPACE}.svc:{number(port, 'port')}/"
        for service in of_openstack(lab, "services")
        if text(service, "spec", "clusterIP") != "None"
        for port in listed(service, "spec", "ports")
        if text(port, "name") in HTTP_PORTS
    }


def of_openstack(lab: Lab, kinds: str) -> list[Object]:
    """Returns the objects of OpenStack's namespace. Raises UserError if no API server lists them."""
    return masters.objects(lab, kinds, client.NAMESPACE)
