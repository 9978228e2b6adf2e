"""Configuration of OpenSearch and its dashboards."""

from __future__ import annotations

from blueprint.openstack.projects.records import own_records
from files.yaml_writer import plain_document
from openstack.config.layers import TextFile, WrittenFile
from openstack.config.ports import OPENSEARCH as PORT
from openstack.config.wiring import Wiring

FIRST_MEMBERS = 3
"""Number of OpenSearch members in the configured lists. Further members find the cluster by these members."""

_OPENSEARCH, _DASHBOARDS = "elasticsearch-kibana", "opensearch-dashboards"


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if name == _DASHBOARDS:
        return (TextFile("opensearch_dashboards.yml", (plain_document(_dashboards(wiring)),)),)
    # Half of the pod's memory, of which the exporter has a small part: the rest is for buffers outside of the heap and
    # for the page cache
    # (https://docs.opensearch.org/latest/install-and-configure/install-opensearch/index/#important-settings).
    heap = wiring.memory[name] // 2
    return (
        TextFile("opensearch.yml", (plain_document(_member(wiring, name)),)),
        TextFile("heap.options", (f"-Xms{heap}m\n-Xmx{heap}m\n",)),
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
        "server.port": own_records().port(_DASHBOARDS, "dashboards"),
        "opensearch.hosts": [f"http://{member}:{PORT}" for member in wiring.members(_OPENSEARCH)],
        "path.data": "/var/lib/opensearch-dashboards",
        "data.search.usageTelemetry.enabled": False,
    }
