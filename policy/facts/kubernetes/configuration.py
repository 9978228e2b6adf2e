"""Reads the configuration of pods: commands, environment variables, and files from ConfigMaps of the stack.

Modules that read the settings of one program (galera.py, etcd_settings.py) use this module. A value that a preview does
not know raises NotKnown only when it is read.
"""

from __future__ import annotations

import configparser
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from policy.facts.kubernetes.workload import Workload
from policy.properties import Malformed, Properties
from policy.resource import Resource


@dataclass(frozen=True)
class ConfigMap:
    """A ConfigMap."""

    resource: Resource

    @property
    def title(self) -> str:
        return f"ConfigMap {self.resource.name}"

    @property
    def name(self) -> str:
        """The ConfigMap's metadata.name."""
        return self.resource.props.at("metadata", "name").text()

    @property
    def namespace(self) -> str:
        """The ConfigMap's namespace."""
        return self.resource.props.at("metadata", "namespace").text("default")

    def is_read_by(self, workload: Workload) -> bool:
        """Whether the workload's pods mount this ConfigMap."""
        if not workload.config_maps or workload.namespace != self.namespace:
            return False
        return self.name in workload.config_maps

    @property
    def data(self) -> Properties:
        """The ConfigMap's field `data`."""
        return self.resource.props.at("data")

    @property
    def files(self) -> Mapping[str, str]:
        """The texts in the ConfigMap's field `data`, by key."""
        return self.data.texts()


def config_maps(resources: Iterable[Resource]) -> tuple[ConfigMap, ...]:
    """Every ConfigMap among these resources."""
    return tuple(ConfigMap(each) for each in resources if each.type == "kubernetes:core/v1:ConfigMap")


def read_by(workload: Workload, known: Iterable[ConfigMap]) -> tuple[ConfigMap, ...]:
    """Returns those of the ConfigMaps `known` that the workload's pods mount."""
    return tuple(each for each in known if each.is_read_by(workload))


def command_line(container: Properties) -> tuple[str, ...]:
    """Returns a container's command followed by its arguments, as a list of words."""
    return (*container.at("command").words(), *container.at("args").words())


def environment(workload: Workload, container: Properties, known: Iterable[ConfigMap]) -> Mapping[str, Properties]:
    """Returns a container's environment variables by name: plain values, and values from the ConfigMaps `known`.

    Variables from other sources, such as Secrets, are omitted.
    """
    maps = {each.name: each.data for each in known if each.namespace == workload.namespace}
    found: dict[str, Properties] = {}
    for source in container.at("envFrom").items():
        if data := maps.get(source.at("configMapRef", "name").text()):
            prefix = source.at("prefix").text()
            found |= {prefix + key: data.at(key) for key in data.keys()}  # noqa: SIM118 - cannot be iterated like a dict
    for variable in container.at("env").items():
        reference = variable.at("valueFrom", "configMapKeyRef")
        if not variable.at("valueFrom").given():
            found[variable.at("name").text()] = variable.at("value")
        elif data := maps.get(reference.at("name").text()):
            found[variable.at("name").text()] = data.at(reference.at("key").text())
    return found


@dataclass(frozen=True)
class Written:
    """One configuration text of a workload: a file, an environment variable or a command line."""

    name: str
    """The file's key in its ConfigMap, the name of the environment variable, or COMMAND for a command line."""
    read: Callable[[], str]
    """Returns the text. Raises NotKnown if a preview does not know the text."""


COMMAND = "command"


def written(workload: Workload, known: Iterable[ConfigMap]) -> Iterator[Written]:
    """Yields the texts that configure a workload's containers: mounted ConfigMaps, commands, environment variables.

    `known`: the ConfigMaps of the stack.
    """
    maps = tuple(known)
    for config in read_by(workload, maps):
        yield from (Written(key, config.data.at(key).text) for key in config.files)
    for container in workload.pod.at("containers").items():
        yield Written(COMMAND, lambda container=container: " ".join(command_line(container)))
        for name, value in environment(workload, container, maps).items():
            yield Written(name, value.text)


def flat(text: str) -> Mapping[str, str]:
    """Parses lines of the form `key = value`, as in rabbitmq.conf, into a mapping. Other lines are ignored."""
    lines = (line.partition("#")[0].partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in lines if equals}


def sections(text: str) -> configparser.ConfigParser:
    """Parses configuration in INI format, such as nova.conf or my.cnf.

    If an option is set twice, the last value counts.
    Raises Malformed if the text is not valid.
    """
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise Malformed(f"a configuration cannot be read: {type(error).__name__}") from None
    return parser
