"""The stack that is applied to a lab's cluster: a stack's settings with the target `live`, and its own root secret.

It is a stack like every other: `quorate` commands in the lab's network take its name, with KUBECONFIG and the
passphrase file of `variables`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from blueprint.openstack.projects.process_definition import Backend
from blueprint.openstack.projects.records import own_records
from blueprint.patterns import expand_numbered
from blueprint.stackfile import certificate_generations, list_files
from blueprint.stackfile.inventory import guest_names
from blueprint.stackfile.settings import Settings, only_records
from commands import build_directory, stack
from commands.engine import passphrase
from commands.engine.operation import Operation
from commands.stack import ValidStack
from files import atomic
from toolchain.engine import installed
from trials.cloud import calico_images, ingress_controller, network

SUFFIX = "-cloud"
SALT = "encryptionsalt"
_PROJECTS = "quorate:projects"
_SECRET = stack.ROOT_SECRET
_DROPPED = ("quorate:template", "quorate:ssh")
"""How other virtual machines are defined, and how other machines are reached: the lab's are containers with sshd."""
_SERVERS = "quorate:servers"
_NETWORKS = "quorate:networks"
_VLANS = "2:4000"
"""VLAN IDs of the instances' networks: a drill creates up to one network a second."""
KUBECONFIG = "kubeconfig"
_MESSAGING: Mapping[str, Any] = {"executor_thread_pool_size": 8}
"""Threads of oslo.messaging for each server of a process, by default 64. Idle threads wake up once a second, and the
lab had 3000 of them."""


def name_of(original: str) -> str:
    """Returns the name of the stack for the lab of another stack."""
    return f"{original}{SUFFIX}"


def variables(root: Path, original: str) -> dict[str, str]:
    """Returns the environment variables with which commands on the lab's stack run."""
    found = directory(root, original)
    return {"KUBECONFIG": str(found / KUBECONFIG), passphrase.FILE: str(found / "passphrase")}


def environment(root: Path, original: str) -> dict[str, str]:
    """Returns the user's environment with `variables`, without a passphrase of the user, which is another stack's."""
    return passphrase.without(os.environ) | variables(root, original)


OPTION = ("nova", "nova.conf", "DEFAULT", "heal_instance_info_cache_interval", 61)
"""The option that a drill changes: seconds, by default 60. nova-compute reads the networks of an instance that often,
so nothing that a client could notice depends on it. Its file, nova.conf, belongs to every process of Nova."""


def write(root: Path, found: ValidStack, host_keys: Mapping[str, str], calico: Path | None) -> None:
    """Writes the stack file. Keeps secrets that exist already.

    `host_keys`: public SSH host keys by machine. `calico`: as a lab has it.
    """
    original = found.name
    generated = directory(root, original)
    build_directory.of_stack(root, name_of(original))
    passphrase.generate_secret(generated / "passphrase")
    file = stack_file(root, original)
    document = stack.without_secrets(stack.read_document(found.file))
    encrypted = _kept_secret(file) or _new_secret(root, original, file, document)
    config = {key: value for key, value in stack.config_of(document).items() if key not in _DROPPED}
    servers = list_files.inlined({list_files.SERVERS: config[_SERVERS]})[list_files.SERVERS]
    config |= {
        stack.TARGET: "live",
        **pods_network(calico),
        _SERVERS: with_host_keys(servers, found.settings, host_keys),
        # Whatever the stack's own domain is, names of the lab must not be those of a real cloud.
        "quorate:ingress": {"domain": ingress_controller.DOMAIN, "className": ingress_controller.CLASS},
    }
    config[_NETWORKS] = config.get(_NETWORKS, {}) | {"physical": physical_networks(found.settings)}
    backend = found.settings.networks.backend
    config[_PROJECTS] = merged(lab_options(backend), only_records(config.get(_PROJECTS, {})))
    _save(file, {SALT: encrypted[SALT], "config": {**config, _SECRET: encrypted[_SECRET]}})


def change_option(root: Path, original: str) -> None:
    """Sets the option OPTION in the stack file, or takes it away if it is set: each call is a change."""
    file = stack_file(root, original)
    document = stack.read_document(file)
    project, config, section, option, value = OPTION
    options = document["config"][_PROJECTS][project]["options"].setdefault(config, {}).setdefault(section, {})
    if options.pop(option, None) is None:
        options[option] = value
    _save(file, document)


def set_generations(root: Path, original: str, authority: str, generations: Mapping[str, Any]) -> None:
    """Writes the generations of an authority into the stack file."""
    file = stack_file(root, original)
    document = stack.read_document(file)
    document["config"].setdefault(certificate_generations.KEY, {})[authority] = dict(generations)
    _save(file, document)


def physical_networks(settings: Settings) -> dict[str, Any]:
    """Returns the physical networks of the stack; the first has the lab's interface of the instances and its VLANs."""
    first, *others = settings.networks.physical.items()
    own = first[1].model_copy(update={"interface": network.INSTANCES, "vlans": _VLANS})
    without = [(name, each.model_copy(update={"interface": None})) for name, each in others]
    return {name: each.model_dump(exclude_none=True) for name, each in ((first[0], own), *without)}


def pods_network(calico: Path | None) -> dict[str, Any]:
    """Returns settings of the pods' network: Calico without tunnels, or none, as trials/cloud/network.py has routes."""
    if calico is None:
        return {"quorate:cni": "none"}
    return {"quorate:cni": "calico", "quorate:calico": {"manifest": calico_images.manifest_source(calico)}}


def write_kubeconfig(root: Path, original: str, kubeconfig: str) -> None:
    """Writes the administrator's kubeconfig of the lab."""
    atomic.write_private(directory(root, original) / KUBECONFIG, kubeconfig)


def with_host_keys(
    servers: Sequence[dict[str, Any]], settings: Settings, host_keys: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Returns a stack file's servers and virtual machines with their host keys.

    A server that only carries virtual machines is not a machine of the lab, and has none.
    """
    found: list[dict[str, Any]] = []
    for written, server in zip(servers, settings.servers, strict=True):
        numbered = expand_numbered(server.name)
        vms = [
            {**vm, "hostKey": {name: host_keys[name] for name in guest_names(each, numbered).values()}}
            for vm, each in zip(written.get("vms", ()), server.vms, strict=True)
        ]
        keys: dict[str, str] = {}
        for name in numbered:
            with suppress(KeyError):  # and not `in`: a mapping may have a key for every name
                keys[name] = host_keys[name]
        found.append({**written, **({"hostKey": keys} if keys else {}), **({"vms": vms} if vms else {})})
    return found


def lab_options(backend: Backend) -> dict[str, Any]:
    """Returns options of OpenStack for a lab, as `quorate:projects` has them. `backend`: what connects instances.

    These are few threads for each project that sends messages, the options that the projects' records have for a lab,
    and Open vSwitch's userspace datapath on a kernel without its module.
    """
    found: dict[str, Any] = {}
    for name, record in own_records().by_name.items():
        files: dict[str, Any] = {
            file: {section: dict(options) for section, options in sections.items()}
            for file, sections in merged(record.lab_options, record.lab_options_with.get(backend, {})).items()
        }
        if record.messaging:
            files = merged({next(iter(record.options)): {"DEFAULT": dict(_MESSAGING)}}, files)
        if files:
            found[name] = {"options": files}
    if not Path("/sys/module/openvswitch").exists():
        found = merged(found, {"neutron": {"options": _userspace(backend)}})
    return found


def _userspace(backend: Backend) -> dict[str, Any]:
    """Returns options of Neutron for Open vSwitch's userspace datapath."""
    datapath = {"ovs": {"datapath_type": "netdev"}}
    if backend == "ovn":  # which has no agents of DHCP and routers
        return {"openvswitch_agent.ini": datapath}
    # Tunnels of the userspace datapath need the machines' address on one of its bridges, so networks are VLANs.
    # ovs-vswitchd itself is the other end of its internal interfaces. When it starts again, it makes new ones, and
    # those that agents have moved to namespaces stay without a link. Pairs of virtual Ethernet devices do not;
    # their checksums are completed by ethtool, which Kolla's images do not have.
    pairs = {"DEFAULT": {"ovs_use_veth": True}, **datapath}
    return {
        "openvswitch_agent.ini": datapath,
        "dhcp_agent.ini": pairs,
        "l3_agent.ini": pairs,
        "ml2_conf.ini": {"ml2": {"project_network_types": "vlan"}},
    }


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merges nested mappings; values of `over` win."""
    result = {**under, **over}
    for key in under.keys() & over.keys():
        if isinstance(under[key], dict) and isinstance(over[key], dict):
            result[key] = merged(under[key], over[key])
    return result


def _kept_secret(file: Path) -> dict[str, Any] | None:
    """Returns the encrypted root secret of an earlier run, with its salt; None if there is none."""
    found = stack.read_document(file)
    secret = stack.config_of(found).get(_SECRET)
    return {SALT: found[SALT], _SECRET: secret} if secret else None


def _new_secret(root: Path, original: str, file: Path, document: dict[str, Any]) -> dict[str, Any]:
    """Generates a root secret and returns it as the engine encrypts it, with its salt."""
    _save(file, document)  # a live stack without the secret would be invalid
    loaded = stack.load(root, name_of(original))
    workspace = stack.main_workspace(root, loaded.name, {})
    operation = Operation(installed(root), loaded, workspace, variables(root, original))
    operation.open(keep_secrets=False)
    operation.give_root_secret(secrets.token_urlsafe(48))
    encrypted = stack.read_document(workspace.stack_file)
    return {SALT: encrypted[SALT], _SECRET: stack.config_of(encrypted)[_SECRET]}


def _save(file: Path, document: dict[str, Any]) -> None:
    atomic.write(file, yaml.safe_dump(document, sort_keys=False, allow_unicode=True))


def stack_file(root: Path, original: str) -> Path:
    """Returns the path of the lab's stack file."""
    return directory(root, original) / f"Pulumi.{name_of(original)}.yaml"


def directory(root: Path, original: str) -> Path:
    """Returns the directory of the lab's stack file, kubeconfig, passphrase and clouds.yaml."""
    return root / "build" / name_of(original) / stack.GENERATED
