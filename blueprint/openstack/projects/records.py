"""The records of the OpenStack projects that a stack may have. Every list of facts about projects is derived from them.

These are Quorate's own records and, if the stack file names a folder (`quorate:projects`), those of the folder. They
are a value, which a stack's settings have, so that a process can plan several stacks with different projects. What
cannot be data (jobs, and the content of configuration files) is in Python files: openstack/project_modules.py.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from graphlib import TopologicalSorter
from pathlib import Path

from blueprint.openstack.projects import record_folder, record_reader
from blueprint.openstack.projects.process_definition import Backend, Feature, ProcessDefinition
from blueprint.openstack.projects.project_record import ProjectRecord
from blueprint.problems import InvalidStackError, Problem

FOLDER = Path(__file__).parent
_ASKED_BY: Mapping[str, Feature] = {"ironic": "bare-metal"}
"""The feature that a stack with an optional project asks for: other projects have processes for it."""


@dataclass(frozen=True, eq=False)
class Records:
    """The records of all projects that a stack may have."""

    by_name: Mapping[str, ProjectRecord]
    """The records by project, in their order."""
    added: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """The files of the records that are beside the stack file, by project. The other projects are Quorate's own."""
    not_asked_for: Mapping[str, ProjectRecord] = field(default_factory=dict[str, ProjectRecord])
    """The records of optional projects that the stack does not have, because it does not ask for them."""
    without: Mapping[str, Feature] = field(default_factory=dict[str, Feature])
    """Processes that the stack does not have, because it does not ask for what they are for, by name."""

    def __getitem__(self, project: str) -> ProjectRecord:
        return self.by_name[project]

    @cached_property
    def by_needs(self) -> Mapping[str, ProjectRecord]:
        """The records by project, each after those that it needs, otherwise in their order."""
        return by_needs(self.by_name)

    @cached_property
    def processes(self) -> Mapping[str, ProcessDefinition]:
        """The processes of all projects by name, each after those of the projects that its project needs."""
        return {each.name: each for record in self.by_needs.values() for each in record.processes}

    def port(self, process: str, name: str) -> int:
        """Returns the number of a port on which a process's containers listen, by the port's name."""
        return next(each.number for each in self.processes[process].ports if each.name == name)

    def project_of(self, process: str) -> str:
        """Returns the name of the project that has a process; empty if there is no such process."""
        return self.processes[process].project if process in self.processes else ""

    def file(self, project: str) -> str:
        """Returns the path of a project's record, in Quorate's repository or beside the stack file."""
        return str(self.added.get(project, f"blueprint/openstack/projects/{project}.yaml"))

    def unasked(self, process: str) -> str:
        """Returns the name of the project that has a process and that the stack does not ask for; empty if none."""
        found = (
            name for name, record in self.not_asked_for.items() for each in record.processes if each.name == process
        )
        return next(found, "")

    def added_file(self, process: str) -> Path | None:
        """Returns the record of a process that is beside the stack file; None for processes of Quorate's projects."""
        return self.added.get(self.project_of(process))


def own_records() -> Records:
    """Returns the records of Quorate's own projects that every stack has.

    Raises InvalidStackError as all_own_records does.
    """
    return _chosen(all_own_records(), frozenset[str](), "ovs", frozenset[Feature]())


@cache
def all_own_records() -> Records:
    """Returns the records of Quorate's own projects, also the optional ones.

    Raises InvalidStackError, with every problem of every record, if one is invalid.
    """
    found, problems = record_reader.read(FOLDER, is_plain=True)
    if problems:
        raise InvalidStackError(problems)
    return Records(found)


def stack_records(
    folder: str | None,
    asked: Collection[str] = (),
    backend: Backend = "ovs",
    features: frozenset[Feature] = frozenset(),
) -> tuple[Records, Sequence[Problem]]:
    """Returns the records of a stack's projects, and the problems of those in its folder.

    `folder`: the folder that the stack file names, inside the working directory; None for Quorate's own projects. If
    there are problems, the records are Quorate's own. A folder is read once in a process. `asked`: the projects that
    the stack file or its topology names; optional ones are left out otherwise. `backend`: what connects virtual
    machines. `features`: what the stack asks for; processes that are for others are left out.
    """
    records, problems = _with_folder(Path(folder), Path.cwd()) if folder else (all_own_records(), ())
    optional = {name for name, record in records.by_name.items() if record.optional}
    return _chosen(records, frozenset(optional.intersection(asked)), backend, features), problems


@cache
def _chosen(records: Records, asked: AbstractSet[str], backend: Backend, features: AbstractSet[Feature]) -> Records:
    """Returns the records of a stack with a backend, without optional projects.

    Those in `asked` and those that others need are kept. Processes that are for another feature than those in
    `features` are left out.
    """
    records = replace(records, by_name={name: _with(each, backend) for name, each in records.by_name.items()})
    waiting = [name for name, record in records.by_name.items() if not record.optional or name in asked]
    chosen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in chosen:
            chosen.add(name)
            waiting += records[name].needs
    left = {name: record for name, record in records.by_name.items() if name not in chosen}
    of_projects = frozenset[Feature](feature for project, feature in _ASKED_BY.items() if project in chosen)
    features = features | of_projects
    without = {
        each.name: each.only_with
        for name in chosen
        for each in records[name].processes
        if each.only_with and each.only_with not in features
    }
    kept = {name: _without(record, without) for name, record in records.by_name.items() if name in chosen}
    return replace(records, by_name=kept, not_asked_for=left, without=without)


def _without(record: ProjectRecord, processes: Collection[str]) -> ProjectRecord:
    """Returns a record without the processes of these names."""
    kept = tuple(each for each in record.processes if each.name not in processes)
    return record if len(kept) == len(record.processes) else record.model_copy(update={"processes": kept})


def _with(record: ProjectRecord, backend: Backend) -> ProjectRecord:
    """Returns a project's record as it is in a stack with a backend of networks."""
    parts = [*record.processes, *(container for process in record.processes for container in process.containers)]
    if all(part.backend is None for part in parts):
        return record
    kept = [process for process in record.processes if process.backend in (None, backend)]
    instead = {process.takes_place_of: process.name for process in kept if process.takes_place_of}
    found: list[ProcessDefinition] = []
    for process in kept:
        beside = process.companion and instead.get(process.companion.of)
        companion = replace(process.companion, of=beside) if process.companion and beside else process.companion
        containers = tuple(
            replace(each, environment=each.environment | each.environment_with.get(backend, {}))
            for each in process.containers
            if each.backend in (None, backend)
        )
        found.append(replace(process, companion=companion, containers=containers))
    needs = (*record.needs, *record.needs_with.get(backend, ()))
    return record.model_copy(update={"needs": needs, "processes": tuple(found)})


@cache
def _with_folder(folder: Path, project: Path) -> tuple[Records, Sequence[Problem]]:
    own = all_own_records()
    if problems := record_folder.unusable(folder, project):
        return own, problems
    found, problems = record_reader.read(folder, own=own.by_name)
    if problems := [*record_folder.left_over(folder), *problems]:
        return own, problems
    ordered = sorted(({**own.by_name, **found}).items(), key=lambda item: item[1].order)
    return Records(dict(ordered), {name: folder / f"{name}.yaml" for name in found}), ()


def by_needs(found: Mapping[str, ProjectRecord]) -> Mapping[str, ProjectRecord]:
    """Returns records so that each comes after those that it needs, otherwise in their order. No circle may exist."""
    needs = {name: record.needs for name, record in found.items()}
    return {name: found[name] for name in after_needs(needs, {name: record.order for name, record in found.items()})}


def after_needs(needs: Mapping[str, Iterable[str]], places: Mapping[str, int]) -> list[str]:
    """Returns names so that each comes after those that it needs, otherwise by its place. No circle may exist."""
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    free: list[tuple[int, str]] = []
    result: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(free, (places[name], name))
        _, name = heapq.heappop(free)
        result.append(name)
        sorter.done(name)
    return result
