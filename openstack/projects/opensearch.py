"""OpenSearch and its dashboards, which replace Elasticsearch and Kibana of source 004, 5.3.15.

Members elect a manager by majority. The security plugin is disabled, as in Kolla's configuration, because it needs
certificates for every member (docs/not-built.md).
"""

from __future__ import annotations

from files.yaml_writer import plain_document
from openstack.config.layers import TextFile, WrittenFile
from openstack.config.ports import OPENSEARCH as PORT
from openstack.config.wiring import Wiring
from openstack.definition import (
    Claim,
    ConfigurationFile,
    Container,
    Http,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)

FIRST_MEMBERS = 3
"""Number of OpenSearch members in the configured lists. Further members find the cluster by these members."""

_CONFIG = ConfigurationFile("opensearch.yml", "/etc/opensearch/opensearch.yml")
_HEAP = ConfigurationFile("heap.options", "/etc/opensearch/jvm.options.d/heap.options")
_DASHBOARDS = ConfigurationFile("opensearch_dashboards.yml", "/etc/opensearch-dashboards/opensearch_dashboards.yml")


def _configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if name == DASHBOARDS.name:
        return (TextFile(_DASHBOARDS.name, (plain_document(_dashboards(wiring)),)),)
    # Half of the container's memory: the rest is for buffers outside of the heap and for the page cache
    # (https://docs.opensearch.org/latest/install-and-configure/install-opensearch/index/#important-settings).
    heap = wiring.memory[name] // 2
    return (
        TextFile(_CONFIG.name, (plain_document(_member(wiring, name)),)),
        TextFile(_HEAP.name, (f"-Xms{heap}m\n-Xmx{heap}m\n",)),
    )


def _member(wiring: Wiring, name: str) -> dict[str, object]:
    members = wiring.members(name)
    return {
        "cluster.name": "openstack",
        "node.name": "${HOSTNAME}",
        "network.host": "0.0.0.0",  # noqa: S104 - a pod's own network
        **(_cluster(members) if len(members) > 1 else {"discovery.type": "single-node"}),
        "path.data": "/var/lib/opensearch/data",
        # Otherwise OpenSearch refuses to start on a node with the kernel's default vm.max_map_count.
        "node.store.allow_mmap": False,
        "plugins.security.disabled": True,
    }


def _cluster(members: tuple[str, ...]) -> dict[str, object]:
    """Returns the settings by which members find each other, and by which a new cluster elects its first manager.

    The lists of members do not grow with the cluster, so that adding a member does not restart the others.
    """
    members = members[:FIRST_MEMBERS]
    return {
        "discovery.seed_hosts": list(members),
        "cluster.initial_cluster_manager_nodes": [member.partition(".")[0] for member in members],
    }


def _dashboards(wiring: Wiring) -> dict[str, object]:
    return {
        "server.host": "0.0.0.0",  # noqa: S104 - a pod's own network
        "server.port": 5601,
        "opensearch.hosts": [f"http://{member}:{PORT}" for member in wiring.members(OPENSEARCH.name)],
        "path.data": "/var/lib/opensearch-dashboards",
        "data.search.usageTelemetry.enabled": False,
    }


OPENSEARCH = ProcessDefinition(
    name="elasticsearch-kibana",
    project="opensearch",
    kind="StatefulSet",
    uid=42490,
    claim=Claim(production=500, lab=20),
    grace=120,
    containers=(
        Container(
            name="opensearch",
            image="opensearch",
            user="opensearch",
            command="/usr/share/opensearch/bin/opensearch",
            ports=(Port("http", PORT), Port("transport", 9300, clients=("members",))),
            ready=Http("http", "/_cluster/health?local=true"),
            alive=Tcp("transport"),
            files=(_CONFIG, _HEAP),
            data="/var/lib/opensearch",
        ),
    ),
)

DASHBOARDS = ProcessDefinition(
    name="opensearch-dashboards",
    project="opensearch",
    kind="Deployment",
    uid=42492,
    exposed=((5601, "dashboards"),),
    containers=(
        Container(
            name="opensearch-dashboards",
            image="opensearch-dashboards",
            user="opensearch-dashboards",
            command=f"/usr/share/opensearch-dashboards/bin/opensearch-dashboards --config {_DASHBOARDS.path}",
            ports=(Port("dashboards", 5601, clients=("everyone",)),),
            ready=Tcp("dashboards"),
            alive=Tcp("dashboards"),
            files=(_DASHBOARDS,),
            owns=("/var/lib/opensearch-dashboards",),
            # Kolla's start script removes the plugin, which would ask for accounts that OpenSearch does not have.
            environment=(("OPENSEARCH_DASHBOARDS_SECURITY_PLUGIN", "False"),),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="opensearch",
    processes=(OPENSEARCH, DASHBOARDS),
    configure=_configure,
)
