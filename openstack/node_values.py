"""Configuration values of single nodes, for processes that run on every node of their pools.

A ConfigMap contains one file for each node that has values in the stack file. Pods mount the whole ConfigMap, and the
start command reads the file of the pod's node. The pod template does not depend on the values, so that a value for one
node changes no pod of another node. Does not import Pulumi.
"""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.openstack.projects.process_definition import ConfigurationFile
from blueprint.stackfile.settings import Settings
from openstack import scripts
from openstack.config.formats import public_text
from openstack.config.layers import ConfigFile, TextFile, WrittenFile
from openstack.config.overrides import node_layers
from openstack.config.wiring import Wiring

DIRECTORY = "/var/lib/quorate/node-values"
"""Directory at which a container mounts the files of all nodes. scripts/node_values.sh contains the same path."""
START = ConfigurationFile("node-values.sh", "/usr/local/bin/node-values.sh")
"""The script with which the command of a container with `node_values` begins: it starts the program that its arguments
name, with the values of the node."""
SCRIPT = TextFile(START.name, (scripts.text("node_values.sh"),))
VARIABLE = "NODE_NAME"


def config_map(workload: str) -> str:
    """Returns the name of the ConfigMap with a workload's node values.

    The ConfigMap exists only if a node has values.
    """
    return f"{workload}-nodes"


def texts(
    files: Iterable[WrittenFile], around: Wiring, settings: Settings, service: str, nodes: Iterable[str]
) -> dict[str, str]:
    """Returns the content of the ConfigMap with node values: a file for each node that has values for the service.

    The values are those of the stack file, the node's reserve of memory and CPU, and its addresses.

    A process reads all its files as one configuration, so one file contains the node's values for all of `files`.
    """
    names = [file.name for file in files if isinstance(file, ConfigFile)]
    found: dict[str, str] = {}
    for node in nodes:
        layers = tuple(layer for name in names for layer in node_layers(name, around, settings, service, node))
        if layers:
            found[f"{node}.conf"] = public_text(ConfigFile(f"{node}.conf", "ini", layers)) or ""
    return dict(sorted(found.items()))
