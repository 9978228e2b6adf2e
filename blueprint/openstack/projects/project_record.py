"""The form of a project's record: all that Quorate knows about an OpenStack project as data."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from blueprint.openstack.projects.ccp import CcpService
from blueprint.openstack.projects.process_definition import (
    Backend,
    ConfigurationFile,
    DnsLabel,
    ProcessDefinition,
)
from blueprint.source import Count, DataModel, Text

VERSION = 1
"""Version of the records' form, raised with every incompatible change."""
ProjectName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,29}$")]
"""Name of a project, which is also that of its Python module, its accounts, and the beginning of its objects' names.

Kubernetes allows 63 characters for the name of a job, such as <project>-notifications-<digest>."""


class Endpoint(DataModel):
    """A service in Keystone's catalog, with the process and the path of its URL."""

    type: Text
    name: Text
    process: DnsLabel
    """The process that serves the endpoint, such as nova-api."""
    path: str = ""


class ProjectRecord(DataModel):
    """The facts of one project. Its jobs and the content of its files are in openstack/projects/<name>.py."""

    version: Literal[1]
    name: ProjectName
    """The project's name, which is also that of the file."""
    title: Text
    description: Text
    """What the project is and why it runs as it does, in Markdown, for its page in docs/services/."""
    order: Count
    """Position among the projects in lists and in rendered files. It must not change: rendered files would. A project
    is created after those that it needs, whatever its order."""
    optional: bool = False
    """Whether a stack has the project only if it asks for it: `quorate:projects` or the topology names it, or another
    project of the stack needs it."""
    needs: tuple[ProjectName, ...] = ()
    """Projects that must run before this project's jobs and processes start, and whose ports admit its pods."""
    needs_with: dict[Backend, tuple[ProjectName, ...]] = Field(default={})
    """Further projects that it needs in a stack with a backend of networks."""
    databases: tuple[Text, ...] = ()
    """Names of the project's databases. The account that owns them has the project's name."""
    messaging: bool = False
    """Whether the project has a vhost of its own for calls, and an account for the vhost of notifications."""
    cache_key: bool = False
    """Whether the project encrypts cached tokens with a key of its own."""
    fixed_secrets: dict[Text, Text] = Field(default={})
    """Secrets that cannot be replaced while the services run, by name (such as heat/domain), each with the reason."""
    endpoints: tuple[Endpoint, ...] = ()
    """Services in Keystone's catalog. A project with endpoints has an account in Keystone, of the project's name."""
    options: dict[Text, tuple[Text, ...]] = Field(default={})
    """Configuration files whose options the stack file may set, with the namespaces of oslo-config-generator that list
    them. The first namespace is the project's own and must exist; others are skipped if a release lacks them."""
    plain_options: dict[Text, Literal["ini", "flat"]] = Field(default={})
    """Configuration files of programs without oslo.config whose options the stack file may set, each with its form:
    sections, or flat. There is no list of their options, so names and values are not checked."""
    lab_options: dict[Text, dict[Text, dict[Text, str | int | bool]]] = Field(default={})
    """Options, by file and section, that the lab of `quorate cloud` sets, where all machines share one host. They are
    options of `options`."""
    lab_options_with: dict[Backend, dict[Text, dict[Text, dict[Text, str | int | bool]]]] = Field(default={})
    """Further ones in a lab with a backend of networks, which replace those of `lab_options`."""
    ccp: dict[DnsLabel, CcpService] = Field(default={})
    """Services of Fuel-CCP that the project stands for, also those that it does not build or that are retired."""
    processes: tuple[ProcessDefinition, ...] = ()
    """The project's processes. Its jobs run beside the first one."""

    @property
    def accounts(self) -> tuple[str, ...]:
        """Kinds of accounts whose passwords can be replaced: two generations of such an account can exist."""
        kinds = {
            "database": bool(self.databases),
            "messaging": self.messaging,
            "notifications": self.messaging,
            "identity": bool(self.endpoints) and f"{self.name}/identity" not in self.fixed_secrets,
        }
        return tuple(kind for kind, is_there in kinds.items() if is_there)

    def file(self, name: str) -> ConfigurationFile:
        """Returns the configuration file with a name, with its path in the first container that reads it.

        Raises KeyError if no container reads it.
        """
        for process in self.processes:
            for container in process.containers:
                for file in container.files:
                    if file.name == name:
                        return file
        raise KeyError(name)

    @model_validator(mode="after")
    def _name_processes_project(self) -> ProjectRecord:
        for process in self.processes:  # nothing has seen these frozen objects yet
            object.__setattr__(process, "project", self.name)
        return self
