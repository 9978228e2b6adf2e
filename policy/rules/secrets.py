"""Secrets in clear text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from policy.facts.kubernetes.node import is_machine
from policy.facts.kubernetes.workload import kubernetes_kind
from policy.facts.machines.host_commands import LOCAL, REMOTE, WORDS
from policy.facts.machines.libvirt import CLOUD_INIT
from policy.facts.pods import POD_TYPES, Pods, pods
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Properties
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text import clear_text


@dataclass(frozen=True)
class Holder:
    """A resource with fields that may contain secrets."""

    resource: Resource
    title: str
    found: Callable[[], Iterator[str]]
    """Yields a description of each secret in clear text: its location and kind, never its value."""


def holders(facts: Facts) -> Iterator[Holder]:
    """Yields the resources that may contain secrets.

    These are workloads, ConfigMaps, Secrets, machines, commands, cloud-init data and operators' custom resources.
    """
    custom = {each.workload for each in facts.operated}
    for each in pods(facts):
        if each.workload is not None and each.workload not in custom:
            yield Holder(each.resource, each.title, lambda each=each: _in_pods(each))
    for resource in facts.resources:
        look = _look(resource)
        if look:
            yield Holder(resource, f"{resource.type.rpartition(':')[2]} {resource.name}", look)
    for cluster in facts.operated:
        spec = cluster.resource.props.at("spec")
        yield Holder(cluster.resource, cluster.workload.title, lambda spec=spec: _in_tree(spec, "spec"))


def _look(resource: Resource) -> Callable[[], Iterator[str]] | None:
    props, kind = resource.props, kubernetes_kind(resource)
    if kind == "ConfigMap":
        return lambda: _in_texts(props.at("data"), "")
    if kind == "Secret":
        return lambda: _in_secret(props)
    if resource.type in (REMOTE, LOCAL):
        return lambda: _in_command(props)
    if resource.type == CLOUD_INIT:
        return lambda: _in_text(props.at("userData"), "userData")
    return (lambda: _in_texts(props.at("files"), "file ")) if is_machine(resource) else None


def _in_pods(each: Pods) -> Iterator[str]:
    for container in each.containers():
        where = f"container {container.at('name').text()}"
        for variable in container.at("env").items():
            yield from _named(variable.at("value"), variable.at("name").text(), f"environment of {where}")
        for argument in [*container.at("command").items(), *container.at("args").items()]:
            yield from _in_text(argument, f"command of {where}")


def _in_secret(props: Properties) -> Iterator[str]:
    """Yields the values of a Secret that are not Pulumi secrets, because the state contains them in clear text."""
    for field in ("stringData", "data"):
        for key in props.at(field).keys():  # noqa: SIM118 - cannot be iterated like a dict
            value = props.at(field, key)
            if not value.sealed() and value.text():
                yield f"{field}.{key}, not marked as a Pulumi secret"


def _in_command(props: Properties) -> Iterator[str]:
    for word in (*WORDS, "stdin"):
        yield from _in_text(props.at(word), word)
    for holder in ("environment", "connection"):
        for key in props.at(holder).keys():  # noqa: SIM118 - cannot be iterated like a dict
            value = props.at(holder, key)
            if key != "proxy":
                yield from _named(value, key, holder)


def _in_texts(texts: Properties, what: str) -> Iterator[str]:
    for name in texts.keys():  # noqa: SIM118 - cannot be iterated like a dict
        yield from _named(texts.at(name), name, "its data") if not what else _in_text(texts.at(name), f"{what}{name}")


def _in_tree(tree: Properties, where: str) -> Iterator[str]:
    """Yields a description of each clear-text secret in the texts of a custom resource. `where`: the path of `tree`.

    Raises NotKnown for an unknown value if its key is the name of a secret, such as `password`.
    """
    for key in tree.keys():  # noqa: SIM118 - cannot be iterated like a dict
        yield from _in_leaf(tree.at(key), key, f"{where}.{key}", where)


def _in_leaf(value: Properties, key: str, path: str, where: str) -> Iterator[str]:
    """Yields the clear-text secrets in one value of a custom resource.

    Raises NotKnown for an unknown value if its key is the name of a secret, such as `password`; otherwise ignores it.
    """
    if value.sealed() or not (value.is_known() or clear_text.under_name(key, "unknown")) or not value.given():
        return
    if value.is_mapping():
        yield from _in_tree(value, path)
    elif value.is_list():
        for item in value.items():
            yield from _in_item(item, path)
    elif value.is_text() or value.is_number():
        yield from _named(value, key, where)


def _in_item(item: Properties, path: str) -> Iterator[str]:
    """Yields the clear-text secrets in an item of a list, for example an environment variable with name and value."""
    if item.is_mapping() and item.at("name").given() and item.at("value").given():
        yield from _named(item.at("value"), item.at("name").text(), path)
    else:
        yield from _in_leaf(item, "", path, path)


def _named(value: Properties, name: str, where: str) -> Iterator[str]:
    """Yields the clear-text secrets in the value of a named entry, such as an environment variable."""
    if value.sealed() or not value.given():
        return
    # YAML reads a password of digits as a number.
    text = f"{value.real():.0f}" if value.is_number() else value.text() if value.is_text() else ""
    if clear_text.under_name(name, text):
        yield f"{name} in {where}"
    else:
        yield from (f"{kind} in {name} of {where}" for kind in clear_text.in_file(name, text))


def _in_text(value: Properties, where: str) -> Iterator[str]:
    if not value.sealed():
        yield from (f"{kind} in {where}" for kind in clear_text.in_text(value.text()))


@rule(
    id="no-clear-secrets",
    title="Secrets in objects, files and commands are encrypted or referenced",
    severity=Severity.CRITICAL,
    rationale="A secret in clear text is stored in Pulumi's state and in rendered files, appears in every shared "
    "preview, and is readable by everyone who may list the object.",
    sources=(RuleSource("project", "Security", 2),),
    remediation="Give the value as a Pulumi secret (`pulumi config set --secret`, `config.require_secret`) in a "
    "Kubernetes Secret, and refer to the Secret with secretKeyRef or a mounted file; on machines, use a secret file "
    "(`File(secret=True)`), or install the file by hand or from a vault. Then replace the secret by a new one, because "
    "the old value has been exposed.",
    subjects=holders,
    not_applicable_reason="the stack has no pod, ConfigMap, Secret, machine, command, cloud-init data or "
    "custom resource",
    parameters={"found by": "names such as password, token, private_key; forms such as a PEM key or user:password@"},
    since="0.2.0",
    single=(*POD_TYPES, REMOTE, LOCAL, CLOUD_INIT),
)
def no_clear_secrets(_facts: Facts, holder: Holder) -> Iterator[RuleProblem]:
    """Reports location and kind of each secret, never its value."""
    found = sorted(set(holder.found()))
    if found:
        yield RuleProblem(f"clear-text secret: {join_names(found)}", "a Pulumi secret or a reference")
