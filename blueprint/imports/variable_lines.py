"""What the variables of an inventory's hosts and groups become."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from blueprint.imports.ansible_inventory import ALL, AnsibleInventory
from blueprint.imports.import_lines import ImportLine
from blueprint.imports.import_rules import InventoryRules, KeyRule, becomes, rule_of
from blueprint.topology import StackSetting
from files import yaml_reader
from text.quoting import first_of

_NAMED = 5
_PLAIN = re.compile(r"0|[1-9][0-9]{0,8}|true|false", re.IGNORECASE)


@dataclass(frozen=True)
class EffectiveVariables:
    """The variables of each host, with those of its groups."""

    by_host: Mapping[str, Mapping[str, object]]
    sources: Mapping[str, Sequence[str]]
    """Where the file writes a variable: hosts and groups."""

    @classmethod
    def of(cls, inventory: AnsibleInventory) -> EffectiveVariables:
        """Returns the variables of an inventory. A group overrides those that contain it, and a host its groups."""
        found: dict[str, dict[str, object]] = {host: {} for host in inventory.variables}
        sources: dict[str, list[str]] = defaultdict(list)
        with_variables = [name for name, group in inventory.groups.items() if group.variables]
        for name in sorted(with_variables, key=lambda name: (name != ALL, -inventory.depth(name))):
            own = {key: _plain(value) for key, value in inventory.groups[name].variables.items()}
            for host in inventory.members(name):
                found[host] |= own
            for key in own:
                sources[key].append(f"[{name}:vars]")
        for host, variables in inventory.variables.items():
            found[host] |= {key: _plain(value) for key, value in variables.items()}
            for key in variables:
                sources[key].append(host)
        return cls(found, sources)

    def of_host(self, host: str) -> Mapping[str, object]:
        """Returns the variables of a host."""
        return self.by_host[host]


def variable_lines(
    variables: EffectiveVariables, rules: InventoryRules, servers: Mapping[str, str]
) -> Iterator[ImportLine]:
    """Yields what each variable became, but those with addresses and labels.

    `servers`: the names of the hosts that become servers, by their names in the inventory.
    """
    values: dict[str, dict[str, object]] = defaultdict(dict)
    for host in servers:
        for name, value in variables.of_host(host).items():
            values[name][host] = value
    for name, sources in variables.sources.items():
        if name not in (*rules.addresses, rules.labels_variable):
            key = f"{name} ({first_of(sources, _NAMED)})"
            yield from _variable(key, name, values.get(name, {}), rules, servers)


def _variable(
    key: str, name: str, values: Mapping[str, object], rules: InventoryRules, servers: Mapping[str, str]
) -> Iterator[ImportLine]:
    rule = rule_of(rules.variables, (name,))
    if rule is None:
        yield ImportLine(
            key, "unknown", f"not a variable that Quorate knows of {rules.title}; nothing of it is taken over"
        )
    elif not values:
        yield ImportLine(key, "left out", rule.left_out or "none of its hosts becomes a server")
    elif _agree(values) and (not rule.on_node or len(values) == len(servers)):
        yield rule.line(key, (name,), next(iter(values.values())))
    elif rule.on_node:
        yield _on_nodes(key, name, rule, values, servers)
    elif rule.gives:
        yield ImportLine(
            key,
            "left out",
            f"{becomes(_settings(rule, name, values), '')} is one for all servers; these differ: write one",
        )
    else:
        lines = {rule.line(key, (name,), value) for value in values.values()}
        yield from sorted(lines, key=lambda line: line.fate)


def _settings(rule: KeyRule, name: str, values: Mapping[str, object]) -> tuple[StackSetting, ...]:
    return rule.line("", (name,), next(iter(values.values()))).settings


def _on_nodes(
    key: str, name: str, rule: KeyRule, values: Mapping[str, object], servers: Mapping[str, str]
) -> ImportLine:
    settings = [
        setting for host, value in values.items() for setting in rule.line(key, (name,), value, servers[host]).settings
    ]
    more = f" and {len(settings) - 1} more" if len(settings) > 1 else ""
    return ImportLine(key, "becomes", f"{settings[0].place}{more}", tuple(settings))


def _agree(values: Mapping[str, object]) -> bool:
    first = next(iter(values.values()))
    return all(value == first for value in values.values())


def _plain(value: object) -> object:
    """Returns a variable's value as Ansible reads it: numbers and truths from text, and mappings in braces."""
    if not isinstance(value, str):
        return value
    if _PLAIN.fullmatch(value) or value.startswith(("{", "[")):
        try:
            return yaml_reader.load(value.lower() if _PLAIN.fullmatch(value) else value)
        except yaml_reader.YamlError:
            return value
    return value
