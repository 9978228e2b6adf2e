"""Layers that come after a project's own: options of the stack file, and values of a service on single nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.openstack import options
from blueprint.openstack.given_secret import GivenSecret
from blueprint.stackfile.service_options import node_names
from blueprint.stackfile.settings import Options, Settings
from openstack.config import class_addresses, sriov_devices, tenants_room
from openstack.config.layers import ConfigFile, Layer, Origin, Repeated, Scalar, Secret, Section, Value, WrittenFile
from openstack.config.wiring import Wiring


def with_options(file: WrittenFile, settings: Settings, project: str, service: str | None) -> WrittenFile:
    """Returns a configuration file with the stack file's options for the project and the service; None for a job."""
    if not isinstance(file, ConfigFile):
        return file
    return file.with_layers(*_layers(file.name, settings, project, service))


def _layers(file: str, settings: Settings, project: str, service: str | None) -> Iterator[Layer]:
    holders = (
        (f"quorate:projects.{project}.options", settings.projects.overrides.get(project)),
        (f"quorate:services.{service}.options", settings.services.get(service) if service else None),
    )
    for source, holder in holders:
        if holder and file in holder.options:
            yield _layer(Origin.STACK, source, settings.release, file, holder.options)


def node_layers(file: str, around: Wiring, settings: Settings, service: str, node: str) -> Iterator[Layer]:
    """Yields the layers of a service's file for one node: what it keeps from tenants, its addresses, the stack file's.

    Patterns of node names apply in lexicographic order (source 004, 1.3).
    """
    yield from tenants_room.node_layers(file, around, settings, service, node)
    yield from class_addresses.node_layers(file, around, service, node)
    yield from sriov_devices.node_layers(file, around, service, node)
    for pattern, values in sorted(settings.nodes.items()):
        override = values.services.get(service)
        if override and file in override.options and node in node_names(pattern):
            source = f"quorate:nodes.{pattern}.services.{service}.options"
            yield _layer(Origin.NODE, source, settings.release, file, override.options)


def _layer(level: Origin, source: str, release: str, file: str, given: Options) -> Layer:
    if not options.is_listed(release, file):  # of a program with names of its own
        return Layer(level, source, {name: _section(each, {}) for name, each in given[file].items()})
    known = options.listed(release, file)
    sections = {name: _section(given[file][name], known.get(name, {})) for name in given[file]}
    return Layer(level, source, sections)


def _section(given: Mapping[str, options.Value], known: Mapping[str, options.Option]) -> Section:
    names = {name: options.canonical(name) if known else name for name in given}
    return {names[name]: _value(value, known.get(names[name])) for name, value in given.items()}


def _value(value: options.Value, option: options.Option | None) -> Value:
    """Returns a value in the form of its option: Repeated for the kind `multi`, otherwise unchanged."""
    written: Scalar | tuple[Scalar, ...] = _secret(value) if isinstance(value, GivenSecret) else value
    if option and option.kind == "multi":
        return Repeated(written if isinstance(written, tuple) else (written,))
    return written


def _secret(given: GivenSecret) -> Secret:
    """Returns the secret of another system as a value of oslo.config, which replaces $name in values."""
    return Secret(given.key, encode=lambda text: text.replace("$", "$$"))
