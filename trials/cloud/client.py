"""How programs on the host use the lab's OpenStack: public names with TLS, the cluster's DNS, and clients' settings.

Commands that `network.in_switch` returns have them, and a route to the Services.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from console.errors import UserError
from console.progress import Reporter
from contract import DNS_SERVICE, NODE_DNS
from files import atomic
from openstack import client_settings
from toolchain import debian_root
from trials.cloud import ingress_controller, masters, network
from trials.cloud.lab_machines import Lab, LabMachine
from trials.guest.guest_image import GuestImage

NAMESPACE = "openstack"
SETTINGS = "clouds.yaml"
CERTIFICATE = "clouds.crt"
"""The certificate that clients trust, beside their settings."""
CLOUD = "quorate"
"""Name of the cloud in the clients' settings."""
PROGRAM = Path(__file__).parents[1] / "services" / "openstack_client.py"
"""What clients do, with openstacksdk."""
_INSTANCES = Path(__file__).parent / "instances"
"""Directory of what tenants do with instances, with openstacksdk."""


def connect(lab: Lab, through: LabMachine) -> None:
    """Makes Services reachable from the switch, through the kube-proxy of one machine, and their names resolvable.

    Clients resolve names as pods of this machine do.
    """
    for target in (lab.services, IPv4Network(NODE_DNS)):
        network.route_through(target, through)
    servers = (f"nameserver {address}" for address in (NODE_DNS, lab.services[DNS_SERVICE]))
    network.set_resolver(*servers, "search cluster.local", "options ndots:5")


def set_up(lab: Lab, through: LabMachine, directory: Path, reporter: Reporter) -> dict[str, str]:
    """Makes the services reachable by their public names, and writes clouds.yaml and the certificate to `directory`.

    Returns the public URL of each Service that has one. Repeating this changes nothing. Raises UserError if a part of
    the stack that it needs is missing.
    """
    connect(lab, through)
    ingress_controller.provide_certificate(lab, NAMESPACE, directory / CERTIFICATE)
    root = debian_root.ensure(reporter, debian_root.NETWORK_IMAGES)
    urls = ingress_controller.serve(lab, NAMESPACE, root)
    _write_settings(lab, urls["keystone"], directory)
    return urls


def _write_settings(lab: Lab, keystone: str, directory: Path) -> None:
    """Writes clouds.yaml with the administrator's account. Raises UserError if Keystone's Job has made none yet."""
    password = masters.secret(lab, client_settings.SECRET, NAMESPACE).get(client_settings.PASSWORD)
    if password is None:
        raise UserError(f"Secret {client_settings.SECRET} in namespace {NAMESPACE} has no {client_settings.PASSWORD}.")
    account = client_settings.account(f"{keystone}v3", password)
    text = client_settings.clouds(CLOUD, lab.region, account, (directory / CERTIFICATE).resolve())
    atomic.write_private(directory / SETTINGS, text)


def variables(settings: Path) -> dict[str, str]:
    """Returns the environment variables with which OpenStack's clients find the settings and trust the certificate."""
    # A console's page is opened without the settings.
    return {
        "OS_CLIENT_CONFIG_FILE": str(settings),
        "OS_CLOUD": CLOUD,
        "REQUESTS_CA_BUNDLE": str(settings.with_name(CERTIFICATE)),
    }


def run(release: Path, settings: Path, *what: str) -> str:
    """Runs a command of `PROGRAM` in the lab's network and returns its output. `release`: openstacksdk's environment.

    Raises UserError with the last lines of its errors if it fails.
    """
    return _run(settings, [str(release / "bin" / "python"), str(PROGRAM), *what], what[0])


@dataclass(frozen=True)
class Instances:
    """What programs of tenants need to make instances."""

    guest: GuestImage
    physical: str
    """The physical network that leads outside."""

    def command(self, release: Path, settings: Path, program: str, *what: str) -> list[str]:
        """Returns the command line of a program in `trials/cloud/instances`. `release`: openstacksdk's environment."""
        guest = self.guest
        files = (guest.kernel, guest.ramdisk, guest.disk, guest.busybox, settings.parent.resolve())
        return [
            str(release / "bin" / "python"), str(_INSTANCES / program), *what, *map(str, files), self.physical
        ]  # fmt: skip


def use_instances(release: Path, settings: Path, instances: Instances) -> str:
    """Boots two guests and tries networks, volumes, images and moves; returns the steps with their seconds.

    Raises UserError if a step fails.
    """
    return run_tenant(settings, instances.command(release, settings, "trial.py"))


def run_tenant(settings: Path, command: list[str]) -> str:
    """Runs a command of `Instances` in the lab's network and returns its output. Raises UserError if it fails."""
    return _run(settings, command, "instances")


def run_openstack(release: Path, settings: Path, *words: str) -> str:
    """Runs the command line `openstack` in the lab's network and returns its output. Raises UserError if it fails."""
    return _run(settings, [str(release / "bin" / "openstack"), *words], f"openstack {words[0]}")


def _run(settings: Path, command: list[str], title: str) -> str:
    environment = os.environ | variables(settings)
    done = subprocess.run(network.in_switch(command), env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"OpenStack's client ({title}) failed:\n{done.stdout}{done.stderr.strip()[-1500:]}")
    return done.stdout
