"""The target `live` for machines that Quorate sets up: runs the machines' `apply` over SSH, then applies objects.

Each machine's directory is copied to it, and its `apply` is run there by pulumi-command. The provider of the Kubernetes
objects depends on all machines. Keys to log in come from the SSH agent, host keys from the stack file.

The directory is written below build/<stack>/machines while the program runs, also in a preview: Pulumi compares its
content with the last one, so that a preview names exactly the machines that change. Secret files are not in it. They
are sent to `apply` on its standard input, as a Pulumi secret.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_command import remote

from blueprint.plan.nodes import Node
from blueprint.stackfile import settings
from components.target import GuestMachine, Target, Tree, directory, live
from components.target.secret_archive import archive
from components.target.ssh_connection import as_root, connection
from components.templates import fill
from components.tree import mode_of, write_whole
from contract import APPLY_DIRECTORY

if TYPE_CHECKING:
    from components.target.hypervisors import Hypervisors  # loads an SDK that only stacks with virtual machines need

CHECKSUMS = "checksums"
"""File with the SHA-256 digest of every other file of a machine's directory, in the format of sha256sum."""
DIALS = 3
"""Failed connection attempts after which a machine fails. Project figure: the provider pauses 5 s at most between two,
so a machine that is down fails within a minute."""
BOOTING_DIALS = 30
"""The same for a machine that Quorate makes and that may still boot: two minutes or more. Project figure."""


class SshTarget(Target):
    """Target that sets up machines over SSH and applies all Kubernetes objects to their cluster.

    `kubeconfig`: an administrator's, valid as soon as the masters are set up. `hypervisors`: makes virtual machines;
    None if they exist.
    """

    def __init__(
        self,
        stack: str,
        ssh: settings.Ssh,
        nodes: Sequence[Node],
        kubeconfig: pulumi.Output[str],
        hypervisors: Hypervisors | None = None,
    ) -> None:
        self._machines = directory(stack) / "machines"
        self._hypervisors = hypervisors
        self._ssh = ssh
        self._nodes = {node.name: node for node in nodes}
        self._kubeconfig = kubeconfig
        self._started: list[remote.Command] = []
        self._applied: list[pulumi.Resource] = []
        self._provider: kubernetes.Provider | None = None

    def virtual_machine(
        self, name: str, vm: GuestMachine, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
    ) -> Sequence[pulumi.Resource]:
        return self._hypervisors.machine(name, vm, after, opts) if self._hypervisors else []

    def options(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(transformations=[live.for_cluster])

    @property
    def kubernetes(self) -> kubernetes.Provider:
        if self._provider is None:
            self._provider = self._connected()
        return self._provider

    def _connected(self) -> kubernetes.Provider:
        """Returns the provider of the machines' cluster, which depends on all machines."""
        # The IDs of commands are known as soon as the masters exist. Before, the kubeconfig is unknown too, so that a
        # first preview does not ask a cluster that does not exist.
        known = pulumi.Output.all(self._kubeconfig, *(command.id for command in self._started))
        kubeconfig = pulumi.Output.secret(known.apply(lambda values: str(values[0])))
        return live.provider(kubeconfig, opts=pulumi.ResourceOptions(depends_on=self._applied))

    def start(self, name: str, tree: Tree, opts: pulumi.ResourceOptions) -> Sequence[pulumi.Resource]:
        """Runs `apply` once, when the machine is new. Later changes belong to `machines`, which asks the quorum."""
        once = pulumi.ResourceOptions(ignore_changes=["connection", "source", "create", "stdin"])
        opts = pulumi.ResourceOptions.merge(opts, once)
        commands = [self._apply(f"{name}-start", node, tree, opts, once=True) for node in tree.nodes]
        self._started += commands
        return commands

    def machines(self, name: str, tree: Tree, opts: pulumi.ResourceOptions) -> None:
        for node in tree.nodes:
            # A machine's name ends with its node, a pool's does not.
            own = name if name.endswith(f"-{node['node']}") else f"{name}-{node['node']}"
            self._applied.append(self._apply(own, node, tree, opts))

    def _apply(
        self, name: str, values: Mapping[str, str], tree: Tree, opts: pulumi.ResourceOptions, *, once: bool = False
    ) -> remote.Command:
        """Copies a node's directory to the machine, and runs `apply` there; `leave`, when the node leaves the stack.

        `values`: the node's template values. `once`: only start the machine, and do nothing when it leaves.
        """
        node = values["node"]
        expected = _write(Path(self._machines / node), fill(tree.files, values))
        connection = self._connection(self._nodes[node])
        own = {path: texts.apply(lambda found: found[node]) for path, texts in tree.node_secrets.items()}
        copied = remote.CopyToRemote(
            f"{name}-files",
            opts,
            connection=connection,
            source=pulumi.FileArchive(str(self._machines / node)),
            remote_path=APPLY_DIRECTORY,
        )
        owner = ("--resource", name)
        apply = (
            "apply",
            "--expect",
            expected,
            "--secrets",
            "-",
            *(("--before", tree.meeting or "") if once else owner),
        )
        return remote.Command(
            f"{name}-apply",
            pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[copied])),
            connection=connection,
            create=self._script(node, *apply),
            delete=None if once else self._script(node, "leave", *owner),
            stdin=archive({**tree.secrets, **own}),
            # What `apply` prints is in the state, and in the error if it fails.
            logging=remote.Logging.STDERR,
            add_previous_output_in_env=False,
        )

    def _script(self, node: str, name: str, *arguments: str) -> str:
        """Returns the command that runs a script of a machine's directory as root."""
        return " ".join(as_root(self._ssh, "sh", f"{APPLY_DIRECTORY}/{node}/{name}", *arguments))

    def _connection(self, node: Node) -> remote.ConnectionArgs:
        if self._hypervisors is None:
            return connection(node.address, node.machine.host_key, self._ssh, DIALS)
        attempts = BOOTING_DIALS if self._hypervisors.makes(node) else DIALS
        return connection(node.address, self._hypervisors.host_key(node), self._ssh, attempts)


def _write(place: Path, texts: Mapping[str, str]) -> str:
    """Writes a machine's directory with its checksums, and removes other files. Returns the checksums' digest."""
    lines = [f"{_digest(text)}  {path}\n" for path, text in sorted(texts.items())]
    files = {**texts, CHECKSUMS: "".join(lines)}
    for found in sorted(place.rglob("*"), reverse=True):
        if found.is_dir() and not found.is_symlink():
            if not any(found.iterdir()):
                found.rmdir()
        elif str(found.relative_to(place)) not in files:
            found.unlink()
    for path, text in files.items():
        write_whole(place / path, text, mode_of(text))
    return _digest(files[CHECKSUMS])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
