"""Converts the configuration keys of a Fuel-CCP topology to settings of a stack, one line for each key with a value.

In CCP, values come from three layers: `configs` of the file, of a service, and of the nodes that a key matches. A stack
has the same layers (quorate:projects, quorate:services, quorate:nodes). config_fates.py has what becomes of each key.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from blueprint.problems import quoted, shown
from blueprint.topology.ceph_keys import ceph_lines
from blueprint.topology.config_fates import Fate, OptionFate, Path
from blueprint.topology.document import as_section
from blueprint.topology.option_values import OptionValueError, option_value
from blueprint.topology.shapes import StackSetting, Topology, TopologyLine
from blueprint.topology.sriov_keys import AGENT, DEVICES, sriov_lines
from blueprint.topology.structures import Parts, left_out, on_nodes, refused, structures
from text.quoting import first_of
from text.suggestion import did_you_mean

NAMED = 6
"""Nodes that a line names."""
_HINTS = 50
"""Unknown keys of a section for which similar keys are looked up, because the search is slow."""
_PLACE_OF_NODE = re.compile(r"^quorate:nodes\..+?\.(?=services\.)")
_UNKNOWN = "write a key of Fuel-CCP's own, or remove it and write in the stack file what it sets"


@dataclass(frozen=True)
class _Written:
    """A known configuration key with a value, as written in the file."""

    key: str
    path: Path
    value: object
    fate: Fate


def config_lines(topology: Topology, hosts: Mapping[str, Sequence[str]]) -> Iterator[TopologyLine]:
    """Yields what became of each configuration key of a topology.

    `hosts`: the nodes of each key under `nodes`.
    """
    for section in ("configs", "secret_configs"):
        written, lines = _read(topology, getattr(topology, section), section)
        yield from lines
        yield from (_of_cloud(each) for each in written if not each.fate.structure)
        yield from structures(_parts(written, ("physical", "bootstrap", "ingress", "routers")))
        yield from ceph_lines(_parts(written, ("ceph",)))
        if cards := _parts(written, ("sriov",)):
            yield from sriov_lines(cards, _hosts_of(AGENT, topology, hosts))
    for name, service in topology.services.items():
        written, lines = _read(topology, service.configs, f"services.{name}.configs")
        yield from lines
        yield from (_of_service(each, topology, name) for each in written)
    for key in sorted(topology.nodes):  # CCP applies them in this order
        written, lines = _read(topology, topology.nodes[key].configs, f"nodes.{key}.configs")
        yield from lines
        yield from (_of_nodes(each, topology, hosts[key]) for each in written)


def _parts(written: Iterable[_Written], names: Collection[str]) -> Parts:
    """Returns the keys that make one of these parts of the stack file."""
    return {each.path: (each.key, each.value) for each in written if each.fate.structure in names}


def _hosts_of(service: str, topology: Topology, hosts: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Returns the nodes on which a service is placed. `hosts`: the nodes of each key under `nodes`."""
    placed = sorted({host for each in hosts.values() for host in each})
    return [host for host in placed if service in map(topology.definition_of, _services_on(topology, host))]


def _read(
    topology: Topology, configs: Mapping[object, object], key: str
) -> tuple[Sequence[_Written], Sequence[TopologyLine]]:
    """Returns the known keys with their values, and lines for those that are unknown or have no value."""
    written: list[_Written] = []
    lines: list[TopologyLine] = []
    _walk(topology, configs, topology.known.configs.keys, key, (), written, lines)
    return written, lines


def _walk(  # noqa: PLR0913, PLR0917 - a recursion with two results
    topology: Topology,
    configs: Mapping[object, object],
    tree: Mapping[object, object],
    key: str,
    above: Path,
    written: list[_Written],
    lines: list[TopologyLine],
) -> None:
    for name, value in configs.items():
        place, path = f"{key}.{name}", (*above, str(name))
        if name not in tree:
            hint = did_you_mean(str(name), [str(each) for each in tree]) if len(lines) < _HINTS else ""
            lines.append(_unknown(place, f"{quoted(str(name))} is not a key of Fuel-CCP here{hint}; {_UNKNOWN}"))
            continue
        below, section = as_section(tree[name]), as_section(value)
        if value is None or section == {}:
            lines.append(TopologyLine(place, "same", "has no value, and sets nothing"))
        elif below is not None and section is not None:
            _walk(topology, section, below, place, path, written, lines)
        elif below is not None:
            keys = ", ".join(str(each) for each in below)
            lines.append(_unknown(place, f"is {shown(value)}; write under it one of: {keys}"))
        elif section is not None:
            lines.append(_unknown(place, f"is {shown(value)}; write one value, without keys under it"))
        else:
            written.append(_Written(place, path, value, topology.known.configs.by_path[path]))


def _of_cloud(written: _Written) -> TopologyLine:
    if written.fate.is_same(written.value):
        return TopologyLine(written.key, "same", "asks for what every stack has")
    option = written.fate.option
    return _option(written, option, (("projects", option.project),)) if option else _without_setting(written)


def _of_service(written: _Written, topology: Topology, name: str) -> TopologyLine:
    """Returns what became of a key under `services.NAME.configs`."""
    option = written.fate.option
    if written.fate.structure:
        advice = f"write {'.'.join(written.path)} under the file's own configs"
        return refused(written.key, f"is for the whole cloud and not for one service; {advice}")
    if option is None or written.fate.is_same(written.value):
        return _of_cloud(written)
    process = _process(topology, name)
    if process and option.file in topology.known.files.get(process, ()):
        return _option(written, option, (("services", process),))
    text = f"{name} reads no {option.file}; write it for the services of {option.project}, or under the file's configs"
    return left_out(written.key, text)


def _of_nodes(written: _Written, topology: Topology, hosts: Sequence[str]) -> TopologyLine:
    """Returns what became of a key under `nodes.KEY.configs`. `hosts`: the nodes that the key matches."""
    option, where = written.fate.option, first_of(hosts, NAMED) or "no node"
    if written.path == DEVICES:
        text = "names devices of single nodes, which the stack file has; write quorate:nodes.<node>.sriov there"
        return refused(written.key, f"{text}, and remove it")
    if written.fate.structure:
        return on_nodes(written.key, written.path, written.value, hosts, topology.configs)
    if option is None or written.fate.is_same(written.value):
        return _of_cloud(written)
    taking = {host: _taking(topology, option, host) for host in hosts}
    if not any(taking.values()):
        text = f"no service of {option.project} on {where} takes options of single nodes"
        return left_out(written.key, f"{text}; write {'.'.join(written.path)} under the file's configs, for all nodes")
    targets = tuple(("nodes", host, "services", process) for host, each in taking.items() for process in each)
    line = _option(written, option, targets)
    others = sorted({name for host in hosts for name in _others(topology, option, host)})
    if not others or line.fate != "becomes":
        return line
    text = f"{line.text}; {', '.join(others)} on these nodes take no options of single nodes: write theirs under"
    return TopologyLine(line.key, line.fate, f"{text} quorate:services", line.settings, "config-in-part")


def _option(written: _Written, option: OptionFate, holders: Sequence[Path]) -> TopologyLine:
    """Returns the line of a key whose value an option gets, at one or several places of the stack file."""
    try:
        value, dropped = option_value(option, written.value)
    except OptionValueError as error:
        return TopologyLine(written.key, "refused", str(error), rule="bad-config-value")
    if value == []:
        return left_out(written.key, f"{option.project} has none of {', '.join(dropped)} any more; remove it")
    settings = tuple(
        StackSetting((*holder, "options", option.file, option.section, option.name), value, option.former)
        for holder in holders
    )
    # Nodes share a text: their names are in the line's key.
    places = dict.fromkeys(_PLACE_OF_NODE.sub("quorate:nodes.<node>.", setting.place) for setting in settings)
    text = f"{' and '.join(places)}: {_shown(value)}"
    if dropped:
        text = f"{text}, without {', '.join(dropped)}, which {option.project} no longer has; remove these"
        return TopologyLine(written.key, "becomes", text, settings, "config-in-part")
    return TopologyLine(written.key, "becomes", text, settings)


def _shown(value: object) -> str:
    """Formats the value of an option for a line: a list as in YAML."""
    if isinstance(value, list):
        items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return f"[{', '.join(str(item) for item in items)}]"
    return shown(value)


def _without_setting(written: _Written) -> TopologyLine:
    fate = written.fate
    if fate.refused:
        return refused(written.key, fate.refused)
    return left_out(written.key, fate.left_out) if fate.left_out else _checked(written.key, fate.checked or "")


def _process(topology: Topology, name: str) -> str | None:
    """Returns the process that runs for a service of the topology and whose options are under its own name."""
    definition = topology.known.services.get(topology.definition_of(name))
    if definition is None:
        return None
    # A Galera of one project has another name in the stack (databases.py), and its own options there.
    if definition.quorum and name not in (topology.definition_of(name), *topology.known.abstractions):
        return None
    return definition.architecture or (topology.definition_of(name) if definition.companion else None)


def _services_on(topology: Topology, host: str) -> Iterator[str]:
    for entry in topology.nodes.values():
        if entry.pattern.match(host):
            yield from (name for role in entry.roles for name in topology.roles.get(role, ()))


def _taking(topology: Topology, option: OptionFate, host: str) -> Sequence[str]:
    """Returns the processes on a node that read the option's file with the values of the node."""
    return tuple(_readers(topology, option, host, topology.known.node_files))


def _others(topology: Topology, option: OptionFate, host: str) -> Iterator[str]:
    """Yields the other processes on a node that read the option's file."""
    readers = _readers(topology, option, host, topology.known.files)
    return (process for process in readers if process not in topology.known.node_files)


def _readers(topology: Topology, option: OptionFate, host: str, files: Mapping[str, frozenset[str]]) -> dict[str, None]:
    processes = (_process(topology, name) for name in _services_on(topology, host))
    return dict.fromkeys(each for each in processes if each and option.file in files.get(each, ()))


def _unknown(key: str, text: str) -> TopologyLine:
    return TopologyLine(key, "refused", text, rule="unknown-config")


def _checked(key: str, text: str) -> TopologyLine:
    return TopologyLine(key, "same", text)
