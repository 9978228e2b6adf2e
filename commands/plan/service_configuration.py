"""`quorate config`: prints a service's configuration with the source of each value. Secrets are shown by name only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from blueprint.plan.layout import ServicePlan
from blueprint.plan.plan import Plan
from blueprint.stackfile.api_servers import PROXY
from commands import stack
from console.errors import UserError
from openstack import configuration
from openstack.config.formats import secret_names, value_text
from openstack.config.layers import Setting, TextFile, WrittenFile
from text.quoting import first_of
from text.suggestion import did_you_mean

_WIDTH = 60
"""Column at which the source of a value begins, after the option and its value."""


def show(root: Path, name: str, service: str, node: str) -> int:
    """Prints the configuration files of a service; if `node` is not empty, with the values of that node.

    The proxy of API servers, which is not a service, is shown by its times. Raises UserError if the stack has no such
    service, or if the service does not run on the node.
    """
    made = stack.load(root, name).plan
    if service == PROXY and not made.settings.has_existing_machines:
        _show_proxy(made, node)
        return 0
    files = _files(made, name, service)
    if node:
        _check_node(made, name, service, node)
        files = tuple(configuration.on_node(file, made, service, node) for file in files)
    record = made.settings.records.added_file(_entry(made, service).process)
    own = f", a project of the stack's own ({record})" if record else ""
    for file in files:
        print(f"# {file.name} of {service}{f' on {node}' if node else ''}{own}")
        for line in _lines(file):
            print(line)
        print()
    return 0


def _files(made: Plan, name: str, service: str) -> tuple[WrittenFile, ...]:
    known = [process.name for process in made.processes]
    known += [] if made.settings.has_existing_machines else [PROXY]
    if service not in known:
        raise UserError(
            f"{service} is not a service of {name}{did_you_mean(service, known)}. Services: {', '.join(sorted(known))}"
        )
    return configuration.of_service(made, service)


def _show_proxy(made: Plan, node: str) -> None:
    if node:
        raise UserError(f"{PROXY} has the same configuration on every machine except the masters; leave out --node")
    print(f"# nginx.conf of {PROXY}")
    for time in made.settings.api_proxy.times():
        print(f"{f'{time.option} {time.value};':<{_WIDTH}} # {time.source}")


def _entry(made: Plan, service: str) -> ServicePlan:
    return next(process for process in made.processes if process.name == service)


def _check_node(made: Plan, name: str, service: str, node: str) -> None:
    entry = _entry(made, service)
    known = [each.name for each in made.nodes if entry.may_use(each)]
    if node not in known:
        hint = did_you_mean(node, known)
        where = f"nodes {first_of(known, 5)}" if entry.only_nodes is not None else f"pools: {', '.join(entry.pools)}"
        raise UserError(f"{service} of {name} does not run on {node}{hint}. It may run on {where}")


def _lines(file: WrittenFile) -> Iterator[str]:
    if isinstance(file, TextFile):
        secrets = f", with the secrets {', '.join(sorted(names))}" if (names := secret_names(file)) else ""
        yield f"(text, not made of options{secrets})"
        return
    for section, options in file.document().items():
        if section:
            yield f"[{section}]"
        for option, setting in options.items():
            yield _line(option, setting)


def _line(option: str, setting: Setting) -> str:
    written = f"{option} = {value_text(option, setting.value)}"
    return f"{written:<{_WIDTH}} # {setting.level.name.lower()}: {setting.source}"
