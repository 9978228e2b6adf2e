"""`python -m commands.service_pages`: writes docs/services/, a page for each OpenStack project.

A page lists the project's processes with their placement, its jobs, and every default with its source. Values that
depend on the size of the cloud are shown for the sample stacks of 100, 300, 500 and 1000 computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from blueprint.openstack.projects.process_definition import Backend, Port, ProcessDefinition
from blueprint.openstack.projects.records import all_own_records, stack_records
from blueprint.plan.layout import ServicePlan
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile import bare_metal, further_clusters
from blueprint.stackfile.features import ASKED_WITH
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Ingress, ProjectOverride, Settings
from openstack import configuration, project_definitions
from openstack.config.formats import secret_names, value_text
from openstack.config.layers import TextFile, WrittenFile
from openstack.config.wiring import ENVIRONMENT, wiring
from openstack.definition import ProjectDefinition

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "services"
SAMPLES = {
    "100": "examples/ra100.yaml",
    "300": "Pulumi.prod.yaml",
    "500": "examples/ra500.yaml",
    "1000": "examples/ra1000.yaml",
}
"""A stack file for each reference architecture."""

Plans = Mapping[str, Plan]
"""Plans of the sample stacks, by reference architecture."""


def pages() -> dict[str, str]:
    """Returns the text of every page, by file name."""
    stacks = {name: load_file(ROOT / sample) for name, sample in SAMPLES.items()}
    plans = {name: plan(settings) for name, settings in stacks.items()}
    # A stack has the processes of one backend of networks: the page of Neutron shows those of the default.
    optional = [
        each for each in project_definitions.projects(all_own_records()) if all_own_records()[each.name].optional
    ]
    every, _ = stack_records(None, features=frozenset(ASKED_WITH))
    projects = [each for each in (*project_definitions.projects(every), *optional) if each.processes]
    found: dict[str, str] = {}
    for project in projects:
        shown = plans
        if all_own_records()[project.name].optional:
            shown = {name: plan(_asking_for(project, settings)) for name, settings in stacks.items()}
        found[f"{project.name}.md"] = "\n".join(_page(project, shown)) + "\n"
    return found


def _asking_for(project: ProjectDefinition, settings: Settings) -> Settings:
    if backend := _backend(project):
        return settings.model_copy(update={"networks": settings.networks.model_copy(update={"backend": backend})})
    projects = settings.projects.model_copy(update={project.name: ProjectOverride()})
    update: dict[str, object] = {"projects": projects}
    if project.name == bare_metal.PROJECT and settings.ingress is None:  # without one, the stack would be refused
        update["ingress"] = Ingress.model_validate({"domain": "cloud.example.org", "className": "nginx"})
    return settings.model_copy(update=update)


def _backend(project: ProjectDefinition) -> Backend | None:
    """Returns the backend of networks with which a stack has a project; None if it is not one of a backend."""
    return project.processes[0].backend


def _page(project: ProjectDefinition, plans: Plans) -> Iterator[str]:
    yield f"# {project.name}"
    yield ""
    yield f"<!-- Written from blueprint/openstack/projects/{project.name}.yaml. Do not edit. -->"
    yield ""
    yield all_own_records()[project.name].description
    yield ""
    if all_own_records()[project.name].optional:
        if backend := _backend(project):
            yield f"Optional: a stack has it if its file says `quorate:networks: {{backend: {backend}}}`."
        else:
            asks = f"`quorate:projects: {{{project.name}: {{}}}}`"
            yield f"Optional: a stack has it if its file says {asks}, or its topology places it."
        yield ""
    yield f"Needs: {', '.join(project.needs) or 'no other project'}."
    yield ""
    yield from _processes(project, plans)
    yield from _jobs(project, plans["1000"])
    yield from _settings(project)
    for process in project.processes:
        yield from _configuration(process, plans)


def _processes(project: ProjectDefinition, plans: Plans) -> Iterator[str]:
    yield "## Processes and placement"
    yield "After a port, in parentheses: its clients ([openstack.md](../openstack.md#who-may-connect))."
    yield ""
    yield f"| process | kind | images | ports | row | {' | '.join(f'at {size}' for size in plans)} |"
    yield f"| --- | --- | --- | --- | --- | {' | '.join('---' for _ in plans)} |"
    for process in project.processes:
        images = ", ".join(dict.fromkeys(each.image for each in process.containers))
        ports = ", ".join(
            f"{_numbers(port)} {port.name} ({_clients(process, port)})"
            for each in process.containers
            for port in each.ports
        )
        placed = [_placement(process, made) for made in plans.values()]
        row = next((each for each in (_entry(process, made) for made in plans.values()) if each), None)
        name = f"beside {row.row}" if row and row.companion_of else row.row if row else ""
        if process.only_with and process.companion:
            name = f"beside {process.companion.of}, with `{ASKED_WITH[process.only_with]}`"
        yield f"| `{process.name}` | {process.kind} | {images} | {ports} | {name} | {' | '.join(placed)} |"
    yield ""


def _numbers(port: Port) -> str:
    return str(port.number) if port.last is None else f"{port.number} to {port.last}"


def _clients(process: ProcessDefinition, port: Port) -> str:
    return "host's network" if process.host_network else ", ".join(port.clients)


def _entry(process: ProcessDefinition, made: Plan) -> ServicePlan | None:
    return next((each for each in made.processes if each.name == process.name), None)


def _placement(process: ProcessDefinition, made: Plan) -> str:
    entry = _entry(process, made)
    if entry is None or not (entry.instances or entry.everywhere):
        return "none"
    count = "every node" if entry.everywhere else str(entry.instances)
    return f"{count} on {', '.join(entry.pools)}"


def _jobs(project: ProjectDefinition, made: Plan) -> Iterator[str]:
    jobs = project.jobs(wiring(made, ENVIRONMENT))
    if jobs:
        yield "## Jobs"
        yield "Jobs run one after the other. The processes of the project start after the last job."
        yield ""
        yield from (f"- `{job.name}`: `{job.command}`" for job in jobs)
        yield ""


def _settings(project: ProjectDefinition) -> Iterator[str]:
    yield "## Settings in the stack file"
    process = project.processes[0].name
    yield f"- `quorate:services.{process}`: `replicas`, `image`, `options`, `config` (whole files)"
    yield f"- `quorate:projects.{project.name}.options`: options for all its processes"
    kinds = [kind for kind in further_clusters.KINDS.values() if project.name in kind.projects(all_own_records())]
    if kinds:
        clusters = "; ".join(
            f"the {kind.title} for {' and for '.join(f'`{use}`' for use in kind.uses)}" for kind in kinds
        )
        yield f"- `quorate:projects.{project.name}.mapping`: {clusters}"
    yield ""
    yield f"`make config SERVICE={process}` prints the resulting configuration of a stack."
    yield ""


def _configuration(process: ProcessDefinition, plans: Plans) -> Iterator[str]:
    """Yields the configuration files of a process: a table of the options, or one line for a file of plain text."""
    written = {
        size: configuration.of_service(made, process.name) for size, made in plans.items() if _entry(process, made)
    }
    names = list(dict.fromkeys(file.name for files in written.values() for file in files))
    for name in names:
        yield f"## {name} of {process.name}"
        versions = {size: file for size, files in written.items() for file in files if file.name == name}
        yield from _file(versions)
        yield ""


def _file(versions: Mapping[str, WrittenFile]) -> Iterator[str]:
    first = next(iter(versions.values()))
    if isinstance(first, TextFile):
        secrets = ", ".join(f"`{name}`" for name in sorted(secret_names(first)))
        yield f"A text file{f', with the secrets {secrets}' if secrets else ''}."
        return
    yield "| section | option | default | source |"
    yield "| --- | --- | --- | --- |"
    for (section, option), values in sorted(_options(versions).items()):
        yield f"| {section} | `{option}` | {_values(values)} | {_sources(values)} |"


Values = Mapping[str, tuple[str, str]]
"""The value of an option and its source, by architecture."""


def _options(versions: Mapping[str, WrittenFile]) -> dict[tuple[str, str], dict[str, tuple[str, str]]]:
    found: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    for size, file in versions.items():
        if isinstance(file, TextFile):
            continue
        for section, options in file.document().items():
            for option, setting in options.items():
                value = value_text(option, setting.value), setting.source
                found.setdefault((section, option), {})[size] = value
    return found


def _values(values: Values) -> str:
    by_value: dict[str, list[str]] = {}
    for size, (value, _) in values.items():
        by_value.setdefault(_cell(value), []).append(size)
    if len(by_value) == 1:
        return next(iter(by_value))
    return "; ".join(f"{value} ({', '.join(sizes)})" for value, sizes in by_value.items())


def _sources(values: Values) -> str:
    return ", ".join(dict.fromkeys(source for _, source in values.values()))


def _cell(value: str) -> str:
    return f"`{value}`".replace("|", "\\|") if value else "empty"


if __name__ == "__main__":
    written = pages()  # before the old pages are deleted: a fault in a project must not lose them
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        path.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
