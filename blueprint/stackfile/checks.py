"""Checks settings of a stack file that do not depend on its servers or its architecture.

The Pulumi components build a plan without checks. This module finds settings that a component could not build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from blueprint import domain_template
from blueprint.hypervisor_types import SYSTEM_CONTAINERS, VIRTUAL_MACHINES
from blueprint.openstack import options
from blueprint.openstack.projects.records import stack_records
from blueprint.problems import Problem
from blueprint.releases import DISTRO_VERSIONS, KUBERNETES_MINORS
from blueprint.stackfile import (
    bare_metal,
    certificate_generations,
    cloud_content,
    environment_options,
    external_ceph,
    further_clusters,
    given_secrets,
    network_backend,
    physical_networks,
    preparation_settings,
    secret_versions,
    sriov,
    ssh,
    virt,
)
from blueprint.stackfile.settings import KUBERNETES, Options, Override, Settings
from formats.waiver_limits import refusals, today
from text.suggestion import did_you_mean

OF_NODES = ("nginx", "coredns")
"""Images of the proxy to the API servers and of the nodes' DNS servers, which no record of a project has."""
CONFIG_LIMIT = 1024 * 1024
"""Maximum size of a ConfigMap's data in bytes (Kubernetes documentation, ConfigMaps)."""

_CONFIG_NAME = re.compile(r"(?!\.\.)[-._a-zA-Z0-9]{1,253}")
"""Matches valid keys of a ConfigMap (Kubernetes API, IsConfigMapKey)."""
_KOLLA_OWN = re.compile(r"(.+\.)?config\.json|config\.yaml")
"""Matches names of files with instructions for Kolla's start script, which only Quorate writes. From 2026.2 on, the
script reads config.yaml, if there is one, instead of config.json."""


def problems(settings: Settings) -> list[Problem]:
    """Returns a problem for each setting that Quorate cannot build, independent of servers and architecture."""
    return [
        *_target(settings),
        *_release(settings),
        *_digests(settings),
        *_kubernetes(settings),
        *domain_template.problems(settings.template),
        *ssh.problems(settings),
        *(problem for name, override in settings.services.items() for problem in _service(name, override)),
        *([] if stack_records(settings.projects.records)[1] else _of_projects(settings)),
        *cloud_content.problems(settings.bootstrap),
        *external_ceph.problems(settings),
        *network_backend.problems(settings),
        *physical_networks.problems(settings),
        *sriov.problems(settings),
        *bare_metal.problems(settings),
        *preparation_settings.problems(settings.prepare, has_existing_machines=settings.has_existing_machines),
        *_virt(settings),
        *_waivers(settings),
    ]


def _of_projects(settings: Settings) -> Iterator[Problem]:
    """Yields the problems of settings that name projects, which are unknown if a record is wrong."""
    yield from _options(settings)
    yield from environment_options.problems(settings)
    yield from further_clusters.problems(settings)
    yield from _probes(settings)
    yield from secret_versions.problems(settings)


def _target(settings: Settings) -> Iterator[Problem]:
    existing = settings.has_existing_machines
    if settings.is_live and existing and settings.cluster is None:
        yield Problem("quorate:cluster", "is missing; write the kubeconfig's context, such as {context: cloud-1}")
    if settings.cluster and not existing:
        yield Problem("quorate:cluster", "names a running cluster; write machines: existing too, or remove it")
    if existing and "cni" in settings.model_fields_set:
        yield Problem(
            "quorate:cni", "installs a network plugin; the cluster has one: with machines: existing, remove it"
        )
    if existing and "kubernetes" in settings.model_fields_set:
        yield Problem("quorate:kubernetes", "is for a new cluster; with machines: existing, remove it")
    if existing and settings.api_servers:
        yield Problem("quorate:apiServers", "is for masters of a new cluster; with machines: existing, remove it")
    if existing and "certificates" in settings.model_fields_set:
        yield Problem(certificate_generations.KEY, "is for a new cluster; with machines: existing, remove it")
    for name, each in settings.certificates.by_name.items():
        key = f"{certificate_generations.KEY}.{name}"
        if each.uses not in each.trusts:
            yield Problem(
                f"{key}.uses",
                f"is {each.uses}, which no server would accept; write it in trusts, or one of {list(each.trusts)} here",
            )
        if list(each.trusts) != sorted({*each.trusts}):
            yield Problem(f"{key}.trusts", "is not in ascending order, each generation once")
    if settings.template and existing:
        yield Problem(
            "quorate:template", "defines virtual machines that Quorate makes; with machines: existing, remove it"
        )


def _virt(settings: Settings) -> Iterator[Problem]:
    if settings.virt is None:
        return
    if settings.has_existing_machines:
        yield Problem(virt.KEY, "makes virtual machines; with machines: existing, remove it")
    else:
        hypervisors = {server.hypervisor for server in settings.servers if server.vms}
        images = (
            ("image", settings.virt.image, VIRTUAL_MACHINES),
            ("rootFilesystem", settings.virt.root_filesystem, SYSTEM_CONTAINERS),
        )
        for name, image, fitting in images:
            if image and hypervisors.isdisjoint(fitting):
                advice = f"add vms to a server with hypervisor {' or '.join(fitting)}, or remove it"
                yield Problem(f"{virt.KEY}.{name}", f"no machine starts from it; {advice}")
    yield from virt.problems(settings.virt, settings.networks.management, reads_images=settings.is_live)


def _release(settings: Settings) -> Iterator[Problem]:
    if settings.release not in DISTRO_VERSIONS:
        known = ", ".join(DISTRO_VERSIONS)
        yield Problem("quorate:release", f"{settings.release} has no Kolla images; write one of: {known}")
    elif settings.images.distro not in (distros := DISTRO_VERSIONS[settings.release]):
        problem = f"Kolla has no images of {settings.release} for {settings.images.distro}"
        yield Problem("quorate:images.distro", f"{problem}; write one of: {', '.join(distros)}")


def _digests(settings: Settings) -> Iterator[Problem]:
    processes = settings.records.processes.values()
    known = {*OF_NODES, *(container.image for process in processes for container in process.containers)}
    for name in settings.images.digests:
        if name not in known:
            problem = f"no service has this image{did_you_mean(name, known)}"
            advice = "write its name without registry and tag, such as nova-api, or remove it"
            yield Problem(f"quorate:images.digests.{name}", f"{problem}; {advice}")


def _kubernetes(settings: Settings) -> Iterator[Problem]:
    minor = int(settings.kubernetes.split(".")[1])
    if minor not in KUBERNETES_MINORS:
        known = ", ".join(f"1.{each}" for each in KUBERNETES_MINORS)
        yield Problem(
            "quorate:kubernetes",
            f"{settings.kubernetes} is not supported; write a version of {known}, such as {KUBERNETES}",
        )


def _service(name: str, override: Override) -> Iterator[Problem]:
    key = f"quorate:services.{name}"
    for file in override.config:
        if not _CONFIG_NAME.fullmatch(file):
            advice = "write letters, digits, '-', '.' and '_'"
            yield Problem(f"{key}.config.{file}", f"is not a valid name of a file; {advice}")
        elif _KOLLA_OWN.fullmatch(file):
            problem = "is a file with instructions for Kolla's start script, which Quorate writes; write another name"
            yield Problem(f"{key}.config.{file}", problem)
    for wrong, problem in override.resources.contradictions():
        yield Problem(f"{key}.resources.{wrong}", problem)
    size = sum(len(text.encode()) for text in override.config.values())
    if size > CONFIG_LIMIT:
        yield Problem(f"{key}.config", f"its files have {size} bytes together; write {CONFIG_LIMIT} or less")


def _probes(settings: Settings) -> Iterator[Problem]:
    for name, override in settings.services.items():
        if process := settings.records.processes.get(further_clusters.process(settings, name)):
            for kind, message in override.probes.without_effect(process):
                yield Problem(f"quorate:services.{name}.probes.{kind}", message)


def _options(settings: Settings) -> Iterator[Problem]:
    if settings.release not in DISTRO_VERSIONS:
        return
    known, plain = options.files_by_project(settings.records), options.plain_by_project(settings.records)
    named = [name for name in settings.records.by_name if name in known or name in plain]
    named += settings.records.not_asked_for
    for name in settings.projects.overrides:
        if name not in named:
            hint, all_known = did_you_mean(name, named), ", ".join(named)
            yield Problem(f"quorate:projects.{name}", f"is not a project with options{hint}; write one of: {all_known}")
    for key, project, files in _given_options(settings):
        unlisted = dict(plain.get(project, {}))
        if key.startswith("quorate:nodes."):  # values of single nodes are oslo.config's
            unlisted.clear()
            for where, _ in given_secrets.in_options(key, files):
                yield Problem(where, "is a secret, which all nodes share; write it for the project or the service")
        listed = {file: sections for file, sections in files.items() if file not in unlisted}
        yield from options.problems(key, project, (*known.get(project, ()), *unlisted), settings.release, listed)
        for file in files.keys() & unlisted.keys():
            yield from options.plain_problems(f"{key}.{file}", unlisted[file], files[file])


def option_warnings(settings: Settings) -> Iterator[str]:
    """Yields a warning for each OpenStack option in the stack file that a later OpenStack release removes."""
    known = options.files_by_project(settings.records)
    for key, project, files in _given_options(settings):
        yield from options.warnings(key, known.get(project, ()), settings.release, files)


def _given_options(settings: Settings) -> Iterator[tuple[str, str, Options]]:
    """Yields the OpenStack options in a stack file (key, project, options) for projects, services and single nodes."""
    records, known = settings.records, options.files_by_project(settings.records)
    for name, override in settings.projects.overrides.items():
        if name in known or name in options.plain_by_project(records):
            yield f"quorate:projects.{name}.options", name, override.options
    for name, override in settings.services.items():
        # The name of a further cluster, such as neutron-mysqld, begins like that of a project.
        process = further_clusters.process(settings, name)
        if process in records.without:
            continue  # blueprint/plan/refusals.py reports it
        yield f"quorate:services.{name}.options", records.project_of(process), override.options
    for pattern, values in settings.nodes.items():
        for name, given in values.services.items():
            # blueprint/plan/single_nodes.py reports services that have no options.
            if (project := records.project_of(name)) in known:
                yield f"quorate:nodes.{pattern}.services.{name}.options", project, given.options


def _waivers(settings: Settings) -> Iterator[Problem]:
    for index, each in enumerate(settings.waivers):
        for refusal in refusals(each, today()):
            key = f"quorate:waivers[{index}].{refusal.key} ({each.rule})"
            yield Problem(key, f"{refusal.actual}; write {refusal.expected}")
