"""The machines that the stack describes, with their files and setup steps.

A Machine component is one machine; a MachinePool component is a pool of identical workers, whose files are templates. A
file that a preview does not know affects only the policy rules that read the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, cast

import contract
from files import yaml_reader
from policy.facts.kubernetes.node import is_machine
from policy.properties import Malformed
from policy.resource import Resource
from policy.wording import join_names

MASTER = "master"


class MachineFacts:
    """A machine, or a pool of identical machines."""

    def __init__(
        self, resource: Resource, *, is_placed: bool = False, writers: Mapping[str, str] | None = None
    ) -> None:
        """`is_placed`: no component declares the machine; the stack only places files on it (placed_machines.py).

        `writers`: name of the command or copy that has written a file last, by the file's path (placed_files.py).
        """
        self.resource = resource
        self.is_placed = is_placed
        self.writers = writers or {}

    @property
    def title(self) -> str:
        """The machine's or the pool's name in messages, with the commands that write its files."""
        title = f"machine {self.resource.name}" if self.single else f"pool of machines {self.resource.name}"
        written = "" if self.is_placed else join_names(sorted(set(self.writers.values())))
        return f"{title} with the files of {written}" if written else title

    def place(self, path: str) -> str:
        """Returns the path of a file with the command or copy that writes it, for messages."""
        return f"{path} ({self.writers[path]})" if path in self.writers else path

    @property
    def single(self) -> bool:
        """Whether this is a single machine and not a pool of machines."""
        return self.resource.type == contract.MACHINE

    @property
    def several(self) -> bool:
        """Whether this is a pool of machines."""
        return not self.single

    @property
    def node(self) -> str:
        """The machine's node name in the cluster; "" for a pool of machines."""
        return self.resource.props.at("node").text()

    @property
    def server(self) -> str:
        """The machine's physical host; "" for a pool of machines."""
        return self.resource.props.at("server").text()

    @property
    def address(self) -> str:
        """The machine's address; "" for a pool of machines."""
        return self.resource.props.at("address").text()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Addresses and node names of the machine, or of all machines of a pool, by which commands reach them."""
        props = self.resource.props
        each = props.at("nodes").parsed().items() if self.several else (props,)
        found = (one.at(key) for one in each for key in ("address", "node"))
        return tuple(dict.fromkeys(name.text() for name in found if name.is_known() and name.given()))

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Roles of the machine."""
        return self.resource.props.at("roles").words()

    @property
    def is_existing(self) -> bool:
        """Whether the machine is a node of a running cluster, for which the stack has no files and no setup steps."""
        props = self.resource.props
        return props.at("existing").flag() and not self.files and not any(props.at("steps").items())

    @property
    def is_master(self) -> bool:
        """Whether the machine has the role master: it is a control-plane node."""
        return MASTER in self.roles

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Texts of the machine's files by path, without secret files.

        An unknown text raises NotKnown when it is read.
        """
        return self.resource.props.at("files").texts()

    @cached_property
    def definition(self) -> Mapping[str, str]:
        """Texts of the files from which the physical host creates this virtual machine, by file name."""
        return self.resource.props.at("definition").texts()

    @cached_property
    def disrupts(self) -> tuple[str, ...]:
        """Names of the quorums, such as etcd, of which a setup step or a unit's restart stops a member."""
        steps = [each.at("disrupts").text() for each in self.resource.props.at("steps").items()]
        restarts = self.resource.props.at("restarts").texts()
        return tuple(dict.fromkeys(name for name in (*steps, *restarts.values()) if name))

    @cached_property
    def quorum_checks(self) -> Mapping[str, str]:
        """Shell commands that the machine runs before it stops a quorum member, by the quorum's name."""
        return self.resource.props.at("quorumChecks").texts()

    @cached_property
    def documents(self) -> tuple[dict[str, Any], ...]:
        """YAML documents in the machine's files, such as kubeadm's configuration and manifests of static pods.

        Raises Malformed if a file is not valid YAML.
        """
        return tuple(self._documents())

    def of_kind(self, kind: str) -> Iterator[dict[str, Any]]:
        """Returns the YAML documents in the machine's files whose field `kind` is this kind."""
        return (each for each in self.documents if each.get("kind") == kind)

    def _documents(self) -> Iterator[dict[str, Any]]:
        for path in self.files:
            if not path.endswith((".yaml", ".yml", ".manifest")):
                continue
            try:
                documents = _loaded(self.files[path])
            except yaml_reader.YamlError:
                raise Malformed(f"file {path} of {self.resource.name} is not valid YAML") from None
            yield from (cast("dict[str, Any]", each) for each in documents if isinstance(each, dict))


@lru_cache(maxsize=1024)  # machines of a role share most files
def _loaded(text: str) -> tuple[Any, ...]:
    return tuple(yaml_reader.load_all(text))


def machines(resources: Iterable[Resource]) -> tuple[MachineFacts, ...]:
    """Every machine and every pool of machines among these resources."""
    return tuple(MachineFacts(resource) for resource in resources if is_machine(resource))
