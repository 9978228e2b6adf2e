"""Makes servers and settings of an Ansible inventory: of its groups, its hosts and their variables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import get_args

from blueprint.imports import placeholders
from blueprint.imports.ansible_ini import read_ini
from blueprint.imports.ansible_inventory import ALL, UNGROUPED, AnsibleInventory
from blueprint.imports.ansible_yaml import read_yaml
from blueprint.imports.import_lines import ImportLine, ReadFile
from blueprint.imports.import_rules import InventoryRules, becomes, named
from blueprint.imports.server_entries import ImportedServer, entries
from blueprint.imports.variable_lines import EffectiveVariables, variable_lines
from blueprint.patterns import check_name
from blueprint.problems import InvalidStackError, Problem, quoted
from blueprint.stackfile.servers import Role
from blueprint.topology import StackSetting
from blueprint.topology.document import as_section
from text.quoting import first_of

_YAML = (".yaml", ".yml", ".json")
_NAMED = 5
_SERVICES_RUN_ON = "controller"


@dataclass
class _Host:
    """A host of the inventory that becomes a server."""

    name: str
    roles: list[Role]
    address: str | None = None
    rack: str | None = None


@dataclass
class _Import:
    inventory: AnsibleInventory
    rules: InventoryRules
    variables: EffectiveVariables
    hosts: dict[str, _Host] = field(default_factory=dict[str, _Host])
    """The hosts that become servers, by their names in the inventory."""


def import_inventory(path: Path, text: str, rules: InventoryRules) -> ReadFile:
    """Returns what an inventory gives to a stack. Raises InvalidStackError, with every problem, for an invalid one."""
    inventory = (read_yaml if path.suffix.lower() in _YAML else read_ini)(path, text)
    inventory.finish(str(path))
    if inventory.problems:
        raise InvalidStackError(inventory.problems)
    if not inventory.variables:
        raise InvalidStackError([Problem(str(path), "has no host; write one on a line below its group")])
    whole = _Import(inventory, rules, EffectiveVariables.of(inventory))
    labels = {host: _labels(whole, host) for host in inventory.variables}
    roles = _roles(whole, labels)
    for host in inventory.variables:
        if roles[host]:
            whole.hosts[host] = _Host(host.lower().replace("_", "-"), roles[host], rack=_rack(whole, labels[host]))
    problems = [*_name_problems(path, whole)]
    if not any(_SERVICES_RUN_ON in host.roles for host in whole.hosts.values()):
        problems.append(Problem(str(path), f"gives no server the role {_SERVICES_RUN_ON}; {rules.without_roles}"))
    if problems:
        raise InvalidStackError(problems)
    address_lines = tuple(_addresses(whole))
    lines = (
        *_host_lines(whole),
        *address_lines,
        *(_group_line(whole, name) for name in inventory.groups if name not in (ALL, UNGROUPED)),
        *_label_lines(whole, labels),
        *variable_lines(whole.variables, rules, {name: host.name for name, host in whole.hosts.items()}),
        *(
            ImportLine(key, "left out", f"{place} has another value, which Ansible uses")
            for key, place in inventory.repeated.items()
        ),
        *_absent(whole),
    )
    return ReadFile(tuple(entries(_servers(whole))), dict(rules.fixed), lines)


def _roles(whole: _Import, labels: Mapping[str, Mapping[str, str]]) -> dict[str, list[Role]]:
    """Returns the roles of each host: of its groups and labels, and if it has none, of the services in its groups."""
    found: dict[str, set[Role]] = {host: set() for host in whole.inventory.variables}
    rules = whole.rules
    for group in whole.inventory.groups:
        for rule in (each for each in rules.roles if named(each.names, group)):
            for host in whole.inventory.members(group):
                found[host].add(rule.role)
    for host, own in labels.items():
        found[host] |= {role for label, role in rules.label_roles.items() if label in _pairs(own)}
    workers = whole.inventory.members(rules.workers) if rules.workers in whole.inventory.groups else []
    labelled = any(set(_pairs(labels[host])) & set(rules.label_roles) for host in workers)
    for host in workers if not labelled else ():
        found[host] |= set(rules.worker_roles)
    none = {host for host, roles in found.items() if not roles}
    for group in whole.inventory.groups if none else ():
        for rule in (each for each in rules.services if named(each.names, group)):
            for host in none.intersection(whole.inventory.members(group)):
                found[host].add(rule.role)
    order = get_args(Role)
    return {host: sorted(roles, key=order.index) for host, roles in found.items()}


def _labels(whole: _Import, host: str) -> Mapping[str, str]:
    value = whole.variables.of_host(host).get(whole.rules.labels_variable)
    return {str(key): str(each) for key, each in (as_section(value) or {}).items()}


def _pairs(labels: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in labels.items()]


def _rack(whole: _Import, labels: Mapping[str, str]) -> str | None:
    return labels.get(whole.rules.rack_label) if whole.rules.rack_label else None


def _name_problems(path: Path, whole: _Import) -> Iterator[Problem]:
    by_name: dict[str, list[str]] = defaultdict(list)
    for host, server in whole.hosts.items():
        by_name[server.name].append(host)
        try:
            check_name(server.name)
        except ValueError as error:
            yield Problem(f"{path} {host}", str(error))
    for name, hosts in by_name.items():
        if len(hosts) > 1:
            text = f"are both the server {quoted(name)}, in small letters and with - for _; rename one"
            yield Problem(f"{path} {first_of(hosts, _NAMED)}", text)


def _addresses(whole: _Import) -> Iterator[ImportLine]:
    """Gives each server its address, and yields what became of the variables with addresses."""
    said: dict[tuple[str, bool, str], list[str]] = defaultdict(list)
    without: list[str] = []
    for name, host in whole.hosts.items():
        values = whole.variables.of_host(name)
        for variable in [each for each in whole.rules.addresses if each in values]:
            address = _ipv4(values[variable])
            if host.address is None and address:
                host.address = address
                said[variable, True, "the server's address"].append(name)
            elif address and address == host.address:
                said[variable, True, "the server's address, as another variable says too"].append(name)
            else:
                text = "a server has one address, that of its other variable" if host.address else "is no IPv4 address"
                said[variable, False, f"{text}; write the address that all other servers reach"].append(name)
        host.address = host.address or _ipv4(name)
        if host.address is None:
            without.append(name)
    free = placeholders.FIRST_ADDRESS + (0 if _has_masters(whole) else len(placeholders.MASTERS))
    for place, name in enumerate(without):
        whole.hosts[name].address = str(free + place)
    for (variable, taken, text), hosts in said.items():
        yield ImportLine(f"{variable} ({first_of(hosts, _NAMED)})", "becomes" if taken else "left out", text)
    if without:
        variables = " or ".join(whole.rules.addresses)
        text = f"no {variables} is an IPv4 address: 198.18.… is a placeholder; write the server's address"
        yield ImportLine(f"address ({first_of(without, _NAMED)})", "placeholder", text)


def _ipv4(value: object) -> str | None:
    try:
        return str(IPv4Address(value)) if isinstance(value, str) else None
    except AddressValueError:
        return None


def _has_masters(whole: _Import) -> bool:
    return any("master" in host.roles for host in whole.hosts.values())


def _host_lines(whole: _Import) -> Iterator[ImportLine]:
    by_roles: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in whole.inventory.variables:
        host = whole.hosts.get(name)
        by_roles[tuple(host.roles) if host else ()].append(name)
        if host and host.name != name:
            yield ImportLine(name, "becomes", f"the server {host.name}: names are in small letters, with - for _")
    for roles, names in by_roles.items():
        if roles:
            yield ImportLine(
                first_of(names, _NAMED), "becomes", f"{_count(len(names), 'server')} with roles: {', '.join(roles)}"
            )
        else:
            text = "in no group, and without a label, that gives a role; write it under quorate:servers to have it"
            yield ImportLine(", ".join(names), "left out", text)


def _group_line(whole: _Import, name: str) -> ImportLine:
    key, rules, hosts = f"[{name}]", whole.rules, whole.inventory.members(name)
    for rule in rules.others:
        if named(rule.names, name):
            return ImportLine(key, "same", rule.same) if rule.same else ImportLine(key, "left out", rule.left_out)
    if not hosts:
        return ImportLine(key, "left out", "has no host")
    for rule in rules.roles:
        if named(rule.names, name):
            text = f"the role {rule.role} of its hosts"
            return ImportLine(key, "becomes", f"{text}; {rule.note}" if rule.note else text)
    if name == rules.workers:
        text = "the roles of its hosts' labels, or controller and compute if no host has such a label; write one of"
        return ImportLine(key, "becomes", f"{text} the two before production, which refuses both on a machine")
    for rule in rules.services:
        if named(rule.names, name):
            settings = tuple(StackSetting(("services", each, "replicas"), len(hosts)) for each in rule.services)
            return ImportLine(key, "becomes", becomes(settings, ""), settings)
    return ImportLine(key, "unknown", f"not a group of {rules.title}: what it gives its hosts is not taken over")


def _label_lines(whole: _Import, labels: Mapping[str, Mapping[str, str]]) -> Iterator[ImportLine]:
    rules = whole.rules
    found: dict[str, list[str]] = defaultdict(list)
    for host, own in labels.items():
        for key, value in own.items():
            found[key if key == rules.rack_label else f"{key}={value}"].append(host)
    for label, hosts in found.items():
        key = f"{rules.labels_variable} {label} ({first_of(hosts, _NAMED)})"
        if label in rules.label_roles:
            yield ImportLine(key, "becomes", f"the role {rules.label_roles[label]}")
        elif label == rules.rack_label:
            yield ImportLine(key, "becomes", "the server's rack")
        else:
            yield ImportLine(key, "same", "the running cluster keeps its labels")
    odd = [host for host in labels if as_section(whole.variables.of_host(host).get(rules.labels_variable, {})) is None]
    if odd:
        text = "is not a mapping of labels; write it as {label: value}"
        yield ImportLine(f"{rules.labels_variable} ({first_of(odd, _NAMED)})", "left out", text)


def _absent(whole: _Import) -> Iterator[ImportLine]:
    for key, text in whole.rules.absent.items():
        if key != "masters" or not _has_masters(whole):
            yield ImportLine(key, "placeholder" if key in ("masters", "cpu, memory") else "left out", text)


def _servers(whole: _Import) -> Iterator[ImportedServer]:
    if not _has_masters(whole):
        for place, name in enumerate(placeholders.MASTERS):
            yield ImportedServer(name, ["master"], str(placeholders.FIRST_ADDRESS + place))
    for host in whole.hosts.values():
        yield ImportedServer(host.name, host.roles, host.address or "", host.rack)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
