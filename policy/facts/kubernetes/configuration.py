"""Configuration that pods read from ConfigMaps of the stack."""

from __future__ import annotations

import configparser
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policy.facts.kubernetes.workload import Workload
from policy.facts.properties import Malformed, Properties
from policy.facts.resource import Resource


@dataclass(frozen=True)
class ConfigMap:
    """A ConfigMap."""

    resource: Resource

    @property
    def title(self) -> str:
        return f"ConfigMap {self.resource.name}"

    def is_read_by(self, workload: Workload) -> bool:
        """Whether the workload's pods mount it."""
        metadata = self.resource.props.at("metadata")
        if not workload.config_maps or workload.namespace != metadata.at("namespace").text("default"):
            return False
        return metadata.at("name").text() in workload.config_maps

    @property
    def files(self) -> Mapping[str, str]:
        """Its texts by their keys."""
        return self.resource.props.at("data").texts()


def config_maps(resources: Iterable[Resource]) -> tuple[ConfigMap, ...]:
    """Every ConfigMap among these resources."""
    return tuple(ConfigMap(each) for each in resources if each.type == "kubernetes:core/v1:ConfigMap")


def read_by(workload: Workload, known: Iterable[ConfigMap]) -> tuple[ConfigMap, ...]:
    """Those that the workload's pods mount."""
    return tuple(each for each in known if each.is_read_by(workload))


def command_line(container: Properties) -> tuple[str, ...]:
    """The words that a container runs: its command and its arguments."""
    return (*container.at("command").words(), *container.at("args").words())


def environment(container: Properties) -> Mapping[str, str]:
    """A container's variables that are written as text; others come from objects of the cluster."""
    variables = (each for each in container.at("env").items() if not each.at("valueFrom").given())
    return {each.at("name").text(): each.at("value").text() for each in variables}


def flat(text: str) -> Mapping[str, str]:
    """Lines of `key = value`, such as rabbitmq.conf's."""
    lines = (line.partition("#")[0].partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in lines if equals}


def sections(text: str) -> configparser.ConfigParser:
    """An OpenStack service's configuration; of an option that is written twice the last counts."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise Malformed(f"a configuration cannot be read: {type(error).__name__}") from None
    return parser
