"""Options of the stack file: a layer for a project, and a layer for a single service, which overrides it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.openstack import options
from blueprint.stackfile.settings import Settings
from components.openstack.config.layers import ConfigFile, Layer, Level, Repeated, Section, Value, WrittenFile


def with_options(file: WrittenFile, settings: Settings, project: str, service: str | None) -> WrittenFile:
    """Returns the file with the stack file's options. `service` is None for jobs, which belong only to a project."""
    if not isinstance(file, ConfigFile):
        return file
    return file.with_layers(*_layers(file.name, settings, project, service))


def _layers(file: str, settings: Settings, project: str, service: str | None) -> Iterator[Layer]:
    holders = (
        (f"quorate:projects.{project}.options", settings.projects.get(project)),
        (f"quorate:services.{service}.options", settings.services.get(service) if service else None),
    )
    for source, holder in holders:
        if holder and file in holder.options:
            known = options.listed(settings.release, file)
            given = holder.options[file]
            sections = {name: _section(given[name], known.get(name, {})) for name in given}
            yield Layer(Level.STACK, source, sections)


def _section(given: Mapping[str, options.Value], known: Mapping[str, options.Option]) -> Section:
    names = {name: options.canonical(name) for name in given}
    return {names[name]: _value(value, known.get(names[name])) for name, value in given.items()}


def _value(value: options.Value, option: options.Option | None) -> Value:
    """Returns the value for its kind of option: `multi` is written once per value, other lists as one line."""
    if option and option.kind == "multi":
        return Repeated(value if isinstance(value, tuple) else (value,))
    return value
