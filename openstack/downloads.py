"""What the machines and pods of a stack download: every image and every archive, found in its plan.

Images are named by the functions that components call for their pods. `images.mirror` replaces the registry of all of
them, so each has a source too: the place outside from which a mirror is filled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from blueprint import node_software
from blueprint.node_software import PinnedArchive
from blueprint.plan.plan import Plan
from blueprint.stackfile.settings import Settings
from formats import image_reference
from openstack import images, project_definitions
from openstack.config.wiring import ENVIRONMENT, wiring

KUBEADM, WORKERS, NODES, CALICO = "kubeadm", "api-proxy", "node-dns", "calico"
"""Users of images that belong to no project."""


@dataclass(frozen=True)
class NeededImage:
    """An image of a stack."""

    reference: str
    """As pods and machines name it: in the stack's mirror, if it has one."""
    source: str
    """The image outside of a mirror, by its tag; without digest unless the stack file names the whole reference."""
    users: tuple[str, ...]
    """Processes, jobs and parts of nodes that run it."""

    @property
    def digest(self) -> str:
        """Its digest, such as sha256:…; empty if the stack does not pin it."""
        return image_reference.parse(self.reference).digest


def needed_images(plan: Plan) -> tuple[NeededImage, ...]:
    """Returns the images of a plan, ordered by source."""
    settings = plan.settings
    outside = settings.images.model_copy(update={"mirror": None, "digests": {}})
    sources = _used(plan, settings.model_copy(update={"images": outside}))
    users: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for (user, reference), (_, source) in zip(_used(plan, settings), sources, strict=True):
        users[source, reference][user] = None
    return tuple(NeededImage(reference, source, tuple(users[source, reference])) for source, reference in sorted(users))


def needed_archives(plan: Plan) -> tuple[PinnedArchive, ...]:
    """Returns the files other than images that a plan's machines and jobs download. Packages are not among them."""
    settings, found = plan.settings, list[PinnedArchive]()
    if settings.prepare.is_done:
        if settings.prepare.uses_etcds_release:
            found += node_software.etcd_archives()
        found += (PinnedArchive(name, each.url, each.sha256) for name, each in settings.prepare.archives.items())
    if settings.installs_calico:
        manifest = settings.calico.manifest or node_software.calico_manifest(len(plan.nodes))
        found.append(PinnedArchive(CALICO, manifest.url, manifest.sha256))
    if settings.bootstrap and (image := settings.bootstrap.image):
        found.append(PinnedArchive(image.name, image.url, image.sha256))
    return tuple(found)


def unlisted_manifest(plan: Plan) -> str | None:
    """Returns the URL of a manifest of Calico whose images are not known, because the stack file names it."""
    settings = plan.settings
    return settings.calico.manifest.url if settings.installs_calico and settings.calico.manifest else None


def _used(plan: Plan, settings: Settings) -> Iterator[tuple[str, str]]:
    """Yields pairs of a user and the image's reference by `settings`, which are the plan's but for their images."""
    yield from _of_projects(plan, settings)
    if not settings.has_existing_machines:
        yield from _of_nodes(plan, settings)


def _of_projects(plan: Plan, settings: Settings) -> Iterator[tuple[str, str]]:
    known = project_definitions.processes(settings.records)
    for name, placement in plan.workloads:
        containers = known[placement.process].containers
        for container in containers:
            main = container is containers[0]
            yield name, images.reference(container, settings, placement.override, main=main)
    around = wiring(plan, ENVIRONMENT)
    for project in project_definitions.of_plan(plan):
        for job in (*project.jobs(around), *(action.job for action in project.actions(around))):
            yield job.name, images.kolla_reference(job.image, settings)


def _of_nodes(plan: Plan, settings: Settings) -> Iterator[tuple[str, str]]:
    placed = settings.images
    for image in node_software.of_kubeadm(settings.kubernetes):
        yield KUBEADM, placed.located(image)
    if any(node not in plan.masters for node in plan.nodes):
        yield WORKERS, placed.of_nodes(node_software.NGINX)
    yield NODES, placed.of_nodes(node_software.COREDNS)
    if settings.installs_calico and not settings.calico.manifest:
        for image in node_software.calico_images(len(plan.nodes)):
            yield CALICO, placed.located(image)
