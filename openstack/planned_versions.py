"""The versions that a plan deploys: of OpenStack, Kubernetes, databases, brokers and Ceph."""

from __future__ import annotations

from blueprint.plan.plan import Plan
from blueprint.version_steps import AUTHORITY, BACKEND, BROKER, CEPH, DATABASE, KUBERNETES, OPENSTACK
from formats import image_reference
from openstack import images, project_definitions

_PARTS = {"mysqld": DATABASE, "rabbitmq": BROKER, "ceph-mon": CEPH}
"""The part of the cloud whose version the image of a process is."""


def planned_versions(plan: Plan) -> dict[str, str]:
    """Returns the versions that a plan deploys, in the form of blueprint/version_steps.py."""
    settings = plan.settings
    found = {OPENSTACK: settings.release}
    if not settings.has_existing_machines:
        found[KUBERNETES] = settings.kubernetes
        found |= {f"{AUTHORITY} {name}": each for name, each in settings.certificates.recorded.items()}
    if settings.has_ovn:
        found[BACKEND] = "ovn"
    for service in plan.processes:
        if service.instances and (part := _PARTS.get(service.process)):
            container = project_definitions.processes(settings.records)[service.process].containers[0]
            reference = images.reference(container, settings, service.override, main=True)
            found[f"{part} {service.name}"] = image_reference.parse(reference).version
    return found
