"""Fluentd: it gathers what the nodes' collectors send, as source 004's StackLight aggregator did (004, 5.3.15).

Records wait in a buffer on disk until OpenSearch has taken them, so that a stopped OpenSearch loses none.
"""

from __future__ import annotations

from components.openstack.config.layers import TextFile, WrittenFile
from components.openstack.config.ports import FORWARD, OPENSEARCH
from components.openstack.config.wiring import Wiring
from components.openstack.definition import (
    Claim,
    Container,
    File,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)

_CONFIG = File("fluentd.conf", "/etc/fluentd/fluentd.conf")
_DATA = "/var/lib/fluentd"


def _configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    return (TextFile(_CONFIG.name, (_aggregator(wiring),)),)


def _aggregator(wiring: Wiring) -> str:
    """Takes records from collectors, and writes them to an index for each day: logs-2026.11.22.

    A full buffer blocks its senders, which keep their records on their own disks. Its size is half of a lab's volume;
    all figures are the project's.
    """
    return f"""\
<source>
  @type forward
  bind 0.0.0.0
  port {FORWARD}
</source>

<match fluent.**>
  @type null
</match>

<match **>
  @type opensearch
  hosts {",".join(f"{member}:{OPENSEARCH}" for member in wiring.members("elasticsearch-kibana"))}
  scheme http
  logstash_format true
  logstash_prefix logs
  include_tag_key true
  suppress_type_name true
  reconnect_on_error true
  reload_on_failure true
  request_timeout 30s
  <buffer>
    @type file
    path {_DATA}/buffer
    flush_interval 5s
    chunk_limit_size 8m
    total_limit_size 1g
    retry_forever true
    retry_max_interval 30s
    overflow_action block
  </buffer>
</match>
"""


AGGREGATOR = ProcessDefinition(
    name="lma-aggregator",
    project="fluentd",
    kind="StatefulSet",
    uid=42474,
    claim=Claim(production=20, lab=2),
    containers=(
        Container(
            name="fluentd",
            image="fluentd",
            user="fluentd",
            command=f"fluentd -c {_CONFIG.path}",
            ports=(Port("forward", FORWARD),),
            ready=Tcp("forward"),
            alive=Tcp("forward"),
            files=(_CONFIG,),
            data=_DATA,
        ),
    ),
)

PROJECT = ProjectDefinition(
    name="fluentd",
    needs=("opensearch",),
    processes=(AGGREGATOR,),
    configure=_configure,
)
