"""Reads the sections of a Fuel-CCP configuration file that affect a stack: nodes, roles, replicas, services, configs.

Other sections (builder, registry, repositories, …) are allowed and not read. The sections are described in source
document 004, 1.4 Configuration key types. place.py applies them to real nodes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

from blueprint.openstack.projects.records import Records, own_records
from blueprint.problems import shown
from blueprint.topology.definitions import Catalogue, catalogue
from blueprint.topology.document import Section, as_section, read_document
from blueprint.topology.node_pattern import MOST_WAYS, PatternError, compiled
from blueprint.topology.shapes import NamedService, NodeKey, Topology, TopologyError, TopologyFinding
from text.suggestion import closest, did_you_mean

_PLACING = ("nodes", "roles", "replicas", "services")


def read_topology(path: Path, records: Records | None = None) -> Topology:
    """Reads a topology file with its includes. `records`: those of the stack's projects; None for Quorate's own ones.

    Raises TopologyError with all findings if one of them is an error. The exception's `topology` contains the readable
    part of the file.
    """
    content, findings = read_document(path)
    known = catalogue(records or own_records())
    reader = _Sections(content, findings, known)
    topology = Topology(
        path=path,
        known=known,
        namespace=reader.namespace(),
        nodes=reader.nodes(),
        roles=reader.roles(),
        replicas=reader.replicas(),
        services=reader.services(),
        configs=reader.mapping("configs"),
        secret_configs=reader.mapping("secret_configs"),
        unread=tuple(str(name) for name in content if known.configs.section(str(name))),
        findings=tuple(reader.checked()),
    )
    if any(finding.severity == "error" for finding in topology.findings):
        raise TopologyError(topology.findings, topology)
    return topology


@dataclass
class _Sections:
    """Converts the contents of a configuration file to the parts of a Topology.

    Each method returns the valid part of a section, and adds a finding for each invalid part.
    """

    content: Section
    findings: list[TopologyFinding]
    known: Catalogue
    broken: bool = field(init=False)
    """Whether a part of the file could not be read, so that a missing section is not reported."""
    ways: int = 0
    """How many ways to match one name the expressions under `nodes` can try, as counted so far (node_pattern.py)."""

    def __post_init__(self) -> None:
        self.broken = any(finding.severity == "error" for finding in self.findings)

    def checked(self) -> list[TopologyFinding]:
        """Returns the findings of all sections, after it has added those about unknown sections."""
        self._check_names()
        return list(dict.fromkeys(self.findings))

    def namespace(self) -> str:
        name = self.mapping("kubernetes").get("namespace", "ccp")
        if isinstance(name, str) and name:
            return name
        self._error("bad-namespace", "kubernetes.namespace", f"is {shown(name)}; write a name such as ccp")
        return "ccp"

    def nodes(self) -> dict[str, NodeKey]:
        nodes: dict[str, NodeKey] = {}
        for text, value in self._required("nodes", "a key per pattern of node names, with roles: under it").items():
            key = f"nodes.{text}"
            pattern, entry = self._pattern(text, key), as_section(value)
            if entry is None:
                self._error("bad-node", key, f"is {shown(value)}; write roles: and the list of its roles under it")
            elif pattern is not None:
                self._check_keys(entry, key, ("roles", "configs"))
                configs = self._configs(entry, key)
                roles = self._names(entry.get("roles"), f"{key}.roles", "role")
                nodes[pattern.pattern] = NodeKey(pattern, roles, configs)
        return nodes

    def roles(self) -> dict[str, tuple[str, ...]]:
        section = self._required("roles", "a key per role, with the list of its services under it")
        return {
            role: self._names(value, f"roles.{role}", "service")
            for role, value in section.items()
            if self._is_name(role, f"roles.{role}")
        }

    def replicas(self) -> dict[str, int]:
        replicas: dict[str, int] = {}
        for service, count in self.mapping("replicas").items():
            key = f"replicas.{service}"
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                advice = "write a whole number of 1 or more, or leave it out for 1"
                self._error("bad-replicas", key, f"is {shown(count)}; {advice}")
            elif self._is_name(service, key):
                replicas[service] = count
        return replicas

    def services(self) -> dict[str, NamedService]:
        services: dict[str, NamedService] = {}
        for name, value in self.mapping("services").items():
            key = f"services.{name}"
            entry = as_section(value) or {}
            definition = entry.get("service_def")
            if not isinstance(definition, str) or not definition:
                advice = "write service_def: and the definition behind it, such as galera"
                self._error("bad-service", f"{key}.service_def", f"is {shown(definition)}; {advice}")
            elif self._is_name(name, key):
                self._check_keys(entry, key, ("service_def", "mapping", "configs"))
                services[name] = NamedService(definition, self._mapping(entry, key), self._configs(entry, key))
        return services

    def mapping(self, section: str) -> Section:
        """Returns an optional section of the file; {} if it is missing or empty.

        Reports a value that is not a mapping.
        """
        value = self.content.get(section)
        found = as_section(value)
        if found is None and value is not None:
            self._error("bad-section", section, f"is {shown(value)}; write keys and their values under it")
        return found or {}

    def _required(self, section: str, shape: str) -> Section:
        found = self.mapping(section)
        if not found and not self.broken and not self._has_error(section):
            hint = " (deploy_config is not followed: !include that file)" if "deploy_config" in self.content else ""
            self._error("missing-section", section, f"is missing or empty{hint}; write {section}: and {shape}")
        return found

    def _pattern(self, text: object, key: str) -> re.Pattern[str] | None:
        wrong = f"is {shown(text)}, not text" if not isinstance(text, str) else "is empty"
        if isinstance(text, str) and text:
            try:
                pattern, ways = compiled(text)
            except PatternError as error:
                wrong = str(error)
            else:
                self.ways += ways
                if self.ways <= MOST_WAYS:
                    return pattern
                wrong = "repeats or chooses too often, and matching would take too long"
        self._error("bad-pattern", key, f"{wrong}; write a regular expression such as node[1-3]$")
        return None

    def _names(self, value: object, key: str, what: str) -> tuple[str, ...]:
        if not isinstance(value, list):
            advice = f"write a list of {what}s, one '- {what}' a line, [] for none"
            self._error("bad-list", key, f"is {shown(value)}; {advice}")
            return ()
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        for item in items:
            if not isinstance(item, str) or not item:
                self._error("bad-list", key, f"holds {shown(item)}; write the name of a {what} as plain text")
        return tuple(item for item in items if isinstance(item, str) and item)

    def _mapping(self, entry: Section, key: str) -> dict[str, str]:
        value = entry.get("mapping", {})
        section = as_section(value) or {}
        mapping = {name: to for name, to in section.items() if isinstance(name, str) and isinstance(to, str)}
        if as_section(value) is None or len(mapping) < len(section):
            advice = "write lines such as database: keystone-db"
            self._error("bad-service", f"{key}.mapping", f"does not map names to names of services; {advice}")
        return mapping

    def _configs(self, entry: Section, key: str) -> Section:
        value = entry.get("configs", {})
        found = as_section(value)
        if found is None:
            self._error("bad-configs", f"{key}.configs", f"is {shown(value)}; write keys and their values under it")
        return found or {}

    def _check_keys(self, entry: Section, key: str, known: tuple[str, ...]) -> None:
        for extra in [str(part) for part in entry if part not in known]:
            advice = f"write one of: {', '.join(known)}"
            self._error("unknown-key", f"{key}.{extra}", f"is not read{did_you_mean(extra, known)}; {advice}")

    def _check_names(self) -> None:
        """Reports unknown sections of the file."""
        for name in self.content:
            text = str(name)
            if text in self.known.configs.section_names:
                continue
            close = closest(text, _PLACING, cutoff=0.85)
            advice = "write it under configs:" if name in self.known.configs.keys else "remove it"
            advice = f"write {close}" if close else advice
            self._error("unknown-key", text, f"is not a section of a CCP file; {advice}")

    def _is_name(self, name: object, key: str) -> TypeGuard[str]:
        if isinstance(name, str) and name:
            return True
        self._error("bad-name", key, f"has {shown(name)} for a name; write it in quotes")
        return False

    def _has_error(self, key: str) -> bool:
        return any(finding.key == key and finding.severity == "error" for finding in self.findings)

    def _error(self, rule: str, key: str, message: str) -> None:
        self.findings.append(TopologyFinding(rule, "error", key, message))
