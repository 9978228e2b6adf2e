"""Warns of what a plan admits, though an engineer may not want it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blueprint.architecture.model import Architecture
from blueprint.plan.nodes import Node
from blueprint.stackfile import checks
from blueprint.stackfile.server_checks import FEATURE
from blueprint.stackfile.settings import Settings
from contract import COMPUTE_POOL, CONTROLLER_POOL, STORAGE_POOL


def warnings(settings: Settings, architecture: Architecture, nodes: Sequence[Node]) -> Iterator[str]:
    """Yields warnings about a plan's options and nodes. Layouts and quorum_limits.py have warnings of their own."""
    yield from checks.option_warnings(settings)
    yield from _excluded(settings)
    if settings.images.mirror and (outside := list(_downloads_outside(settings))):
        yield (
            f"images come from {settings.images.mirror}, but machines download from the internet: {'; '.join(outside)}"
        )
    if FEATURE in settings.features and any(node.virtual for node in nodes):
        yield (
            "reduced footprint: control-plane nodes are virtual machines beside tenants' machines; expect bad "
            "performance and a larger attack surface (source 000, Performance Impact and Security Impact)"
        )
    # Counted by role, because pools of a topology or of a small lab have other names.
    computes = sum(COMPUTE_POOL in node.roles for node in nodes)
    if computes > architecture.computes:
        yield (
            f"{computes} computes outgrow architecture {architecture.name}, meant for {architecture.computes}; "
            "plan the move to the next size"
        )
    if not computes:
        yield "no server has the role compute: nothing will run tenants' machines"
    if unlisted := [
        node.name for node in nodes if STORAGE_POOL in node.roles and not node.machine.disks and not node.virtual
    ]:
        yield f"disks of {', '.join(unlisted)} are not listed: each counts as one disk with one OSD daemon"
    stores_elsewhere = settings.topology or settings.external_ceph
    if not stores_elsewhere and not any(STORAGE_POOL in node.roles for node in nodes):
        yield "no node has the role storage: the Ceph cluster has no OSD and stores nothing"
    spare = [node.name for node in nodes if node.pool == CONTROLLER_POOL]
    if spare and any(node.dedicated_to for node in nodes):
        yield f"controllers beyond the dedicated ones, shared by all that may share: {', '.join(spare)}"


def _excluded(settings: Settings) -> Iterator[str]:
    """Yields a warning for each network card of which Neutron excludes functions: Nova knows no exclusion."""
    for pattern, values in settings.nodes.items():
        for name in (name for name, device in values.sriov.items() if device.exclude):
            yield (
                f"quorate:nodes.{pattern}.sriov.{name}.exclude: Neutron sets these functions up for no port, but Nova "
                "gives them to virtual machines all the same; write the addresses of the others as device_spec in "
                f"quorate:nodes.{pattern}.services.nova-compute.options.nova.conf.pci"
            )


def _downloads_outside(settings: Settings) -> Iterator[str]:
    """Yields what machines download from its maker's site, each with the key that names another place."""
    if settings.installs_calico and not settings.calico.manifest:
        yield "Calico's manifest (write quorate:calico.manifest)"
    if settings.prepare.uses_etcds_release:
        yield "etcd's release (write quorate:prepare.archives.etcd)"
    if settings.prepare.programs == "packages" and "repository" not in settings.prepare.model_fields_set:
        yield "Kubernetes' packages (write quorate:prepare.repository)"
