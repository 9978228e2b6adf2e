"""Makes system containers on virt hosts: under libvirt's LXC driver, or under systemd-nspawn.

libvirt's provider cannot define a domain of type lxc, because it looks for a machine type. So commands on the virt host
make these machines, from a root file system that is copied there. cloud-init configures them at their first boot, from
files in the root file system, as it configures virtual machines.

A root file system outlives everything here, as the disks of virtual machines do.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pulumi
from pulumi_command import remote

from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.virt import MachineImage
from components.target import GuestMachine
from components.target.secret_archive import archive
from components.target.ssh_connection import as_root, connection
from components.target.virt_access import VirtAccess, merged
from components.virt_host import DOMAIN

_SCRIPT = Path(__file__).with_name("system_container.sh")
_IMAGES = "quorate/images"
"""Directory of images on a virt host, below the home directory of the user who logs in."""


class SystemContainers:
    """Makes system containers. `image`: the root file system that they start from."""

    def __init__(self, access: VirtAccess, image: MachineImage) -> None:
        self._access = access
        self._image = image
        self._place = f"{_IMAGES}/{image.sha256[:12]}.tar"
        self._script = _SCRIPT.read_text(encoding="utf-8")
        self._copied: dict[str, pulumi.Resource] = {}

    def machine(
        self,
        name: str,
        host: Machine,
        vm: GuestMachine,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> Sequence[pulumi.Resource]:
        """Makes a system container. Returns the resources that stand for it, and those it was told to come `after`.

        Under systemd-nspawn, no change of the definition needs a restart. A libvirt domain has a resource that applies
        changes.
        """
        hypervisor = host.hypervisor or ""
        is_domain = DOMAIN in vm.definition
        command = remote.Command(
            f"{name}-container",
            merged(
                opts,
                depends_on=[self._copy(host, opts)],
                ignore_changes=["create", "stdin"] if is_domain else [],
            ),
            connection=connection(host.address, host.host_key, self._access.ssh),
            create=self._run("make", vm.node.name, hypervisor, self._place, self._image.sha256),
            delete=self._run("remove", vm.node.name, hypervisor),
            stdin=self._input(vm),
            logging=remote.Logging.STDERR,
            add_previous_output_in_env=False,
        )
        if not is_domain:
            return [*after, command]
        late = merged(opts, depends_on=[command, *after], protect=False)
        return [self._access.definition(name, host, vm, late)]

    def _copy(self, host: Machine, opts: pulumi.ResourceOptions) -> pulumi.Resource:
        """Checks a virt host and copies the image to it, once for all its machines. Returns the copy."""
        if host.name not in self._copied:
            reached = connection(host.address, host.host_key, self._access.ssh)
            check = self._run("check", host.name, host.hypervisor or "")
            checked = remote.Command(
                f"{host.name}-containers",
                merged(opts, protect=False),
                connection=reached,
                create=f"mkdir -p {_IMAGES} && {check}",
                stdin=self._script,
                logging=remote.Logging.STDERR,
                add_previous_output_in_env=False,
            )
            self._copied[host.name] = remote.CopyToRemote(
                f"{host.name}-root-filesystem",
                merged(opts, protect=False, depends_on=[checked]),
                connection=reached,
                source=pulumi.FileAsset(self._image.source),
                remote_path=self._place,
            )
        return self._copied[host.name]

    def _run(self, *arguments: str) -> str:
        return shlex.join(as_root(self._access.ssh, "sh", "-s", *arguments))

    def _input(self, vm: GuestMachine) -> pulumi.Output[str]:
        """Returns the script, and before it the function that prints the machine's files. A secret."""
        seed = {f"seed/{name}": text for name, text in self._access.cloud_init(vm).items()}
        files: Mapping[str, str | pulumi.Output[str]] = {**vm.definition, **seed}
        return archive(files).apply(lambda packed: f"files() {{ cat <<'END'\n{packed}END\n}}\n{self._script}")
