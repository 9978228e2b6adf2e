"""OpenSearch and its dashboards, where source 004 has Elasticsearch and Kibana (004, 5.3.15)."""

from components.openstack.definition import (
    Claim,
    Container,
    File,
    Http,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)

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
            ports=(Port("http", 9200), Port("transport", 9300, clients=("members",))),
            ready=Http("http", "/_cluster/health?local=true"),
            alive=Tcp("transport"),
            files=(File("opensearch.yml", "/etc/opensearch/opensearch.yml"),),
            data="/var/lib/opensearch",
            patience=10,
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
            command="/usr/share/opensearch-dashboards/bin/opensearch-dashboards "
            "--config /etc/opensearch-dashboards/opensearch_dashboards.yml",
            ports=(Port("dashboards", 5601, clients=("everyone",)),),
            ready=Tcp("dashboards"),
            alive=Tcp("dashboards"),
            files=(File("opensearch_dashboards.yml", "/etc/opensearch-dashboards/opensearch_dashboards.yml"),),
            owns=("/var/lib/opensearch-dashboards",),
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="opensearch",
    processes=(OPENSEARCH, DASHBOARDS),
)
