"""Settings of `quorate:prepare`: what Quorate installs on machines before everything else, and from where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from blueprint.problems import Problem
from blueprint.stackfile import authorities
from blueprint.stackfile.values import ProjectPath, RegistryHost, Strict

KEY = "quorate:prepare"
NONE = "none"
PROGRAMS = ("etcd", "kubeadm", "kubectl", "kubelet")
"""Archives that machines need; `cni` is optional."""

_URL = r"^https?://[A-Za-z0-9][-A-Za-z0-9.:]*(/[-A-Za-z0-9._~/:%+]*)?$"
"""Matches URLs without characters that need quoting in a shell, in apt's files or in TOML. No credentials, which every
user of a machine could read."""
Url = Annotated[str, StringConstraints(pattern=_URL, max_length=500)]
TimeServer = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$")]


DirectHost = Annotated[str, StringConstraints(pattern=r"^\.?[A-Za-z0-9][-A-Za-z0-9.]{0,251}(/[0-9]{1,2})?$")]


class ProgramArchive(Strict):
    """A program, or a tar archive (.tar.gz, .tgz) with programs, that machines download."""

    url: Url
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Preparation(Strict):
    """What Quorate installs and configures on machines before all other steps (docs/prepare.md)."""

    programs: Annotated[
        Literal["packages", "archives", "none"],
        Field(
            description="where kubelet, kubeadm and kubectl come from: packages of a repository, archives that the "
            "stack pins, or none: you prepare the machines"
        ),
    ] = NONE
    archives: Annotated[
        dict[Literal["cni", "etcd", "kubeadm", "kubectl", "kubelet"], ProgramArchive],
        Field(description="what machines download, with its digest; cni: the plugins, unpacked into /opt/cni/bin"),
    ] = {}
    repository: Annotated[
        Url, Field(description="repository of Kubernetes' packages, or a mirror of it, without version")
    ] = "https://pkgs.k8s.io/core:/stable:"
    registries: Annotated[
        dict[RegistryHost, Url],
        Field(description="mirrors that containerd asks instead of registries, such as {registry.k8s.io: https://…}"),
    ] = {}
    time_servers: Annotated[
        tuple[TimeServer, ...],
        # Behind the validator of the short form, a list is Python's, and no longer JSON's.
        Field(
            strict=False, description="NTP servers; left out: those of quorate:virt, or else those of the distribution"
        ),
    ] = ()
    proxy: Annotated[
        Url | None, Field(description="HTTP proxy of apt, of downloads and of containerd, for addresses outside")
    ] = None
    direct: Annotated[
        tuple[DirectHost, ...],
        Field(
            strict=False,
            description="names, domains such as .example.org, addresses and networks of the site that no proxy is "
            "asked for, beside the stack's own networks",
        ),
    ] = ()
    authorities: Annotated[
        tuple[ProjectPath, ...],
        Field(
            strict=False,
            description="PEM files with certificates of the site's own authorities, which the machines then trust",
        ),
    ] = ()

    @property
    def is_done(self) -> bool:
        """Whether Quorate prepares machines."""
        return self.programs != NONE

    @property
    def uses_etcds_release(self) -> bool:
        """Whether machines download etcd's release from its site, because the stack names no archive of it."""
        return self.programs == "packages" and "etcd" not in self.archives


def long_form(value: Any) -> Any:
    """Converts the short form of `prepare`, which is the kind of programs, to the long one."""
    return {"programs": value} if isinstance(value, str) else value


def or_kind(schema: dict[str, Any]) -> None:
    """Adds the short form of `prepare` to its schema."""
    schema["anyOf"] = [{"$ref": schema.pop("$ref")}, {"enum": ["packages", "archives", NONE]}]


def problems(wanted: Preparation, *, has_existing_machines: bool) -> Iterator[Problem]:
    """Yields the problems of the values. `has_existing_machines`: whether the machines are nodes of a cluster."""
    if not wanted.is_done:
        if others := sorted(wanted.model_fields_set - {"programs"}):
            names = ", ".join(str(Preparation.model_fields[each].alias) for each in others)
            yield Problem(KEY, f"has {names}, but prepares nothing; write programs: packages or archives too")
        return
    if has_existing_machines:
        yield Problem(KEY, "prepares machines of a new cluster; with machines: existing, remove it")
    if wanted.direct and not wanted.proxy:
        yield Problem(
            f"{KEY}.direct", "is what no proxy is asked for, and there is no proxy; write proxy too, or remove it"
        )
    yield from authorities.problems(f"{KEY}.authorities", wanted.authorities)
    wanted_archives = PROGRAMS if wanted.programs == "archives" else ()
    for name in wanted_archives:
        if name not in wanted.archives:
            example = "{url: https://…, sha256: …}"
            yield Problem(f"{KEY}.archives.{name}", f"is missing; write it as {example}")
    if wanted.programs == "packages":
        for name in sorted(wanted.archives.keys() - {"etcd"}):
            problem = "is not used, because programs are packages"
            yield Problem(f"{KEY}.archives.{name}", f"{problem}; write programs: archives, or remove it")
    elif "repository" in wanted.model_fields_set:
        yield Problem(f"{KEY}.repository", "has packages, and programs are archives; write programs: packages")
