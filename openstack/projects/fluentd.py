"""Fluentd's configuration: a collector on every node, and the aggregator of all collectors."""

from __future__ import annotations

from blueprint.openstack.projects.records import own_records
from openstack.config.layers import TextFile, WrittenFile
from openstack.config.ports import FORWARD, OPENSEARCH
from openstack.config.wiring import Wiring

_CONFIG = own_records()["fluentd"].file("fluentd.conf")
_AGGREGATOR, _COLLECTOR = "lma-aggregator", "log-collector"
_DATA = "/var/lib/fluentd"
_LOGS = "/var/log/pods"
_MONITOR = own_records().port(_COLLECTOR, "monitor")

_BUFFER = f"""\
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
"""
"""Buffer settings of Fluentd: log records stay on disk until the next program has received them."""


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    return (TextFile(_CONFIG.name, (_collector(wiring) if name == _COLLECTOR else _aggregator(wiring),)),)


def _collector(wiring: Wiring) -> str:
    """Returns the configuration of the collector, which reads the output of a node's containers from kubelet's files.

    A line of such a file has the time, the stream, P (partial) or F (full), and the text. The directory of a container
    is /var/log/pods/<namespace>_<pod>_<uid>/<container>. Fluentd's own pods are excluded: otherwise each record that
    cannot be sent would produce a further record.
    """
    servers = "".join(
        f"  <server>\n    host {member}\n    port {FORWARD}\n  </server>\n" for member in wiring.members(_AGGREGATOR)
    )
    return f"""\
<source>
  @type monitor_agent
  bind 0.0.0.0
  port {_MONITOR}
</source>

<source>
  @type tail
  path {_LOGS}/*/*/*.log
  exclude_path ["{_LOGS}/*_{_COLLECTOR}-*/*/*.log", "{_LOGS}/*_{_AGGREGATOR}-*/*/*.log"]
  pos_file {_DATA}/positions
  read_from_head true
  follow_inodes true
  tag pods.*
  <parse>
    @type regexp
    expression /^(?<time>[^ ]+) (?<stream>stdout|stderr) (?<logtag>[FP]) (?<message>.*)$/
    time_format %Y-%m-%dT%H:%M:%S.%N%:z
  </parse>
</source>

<filter pods.**>
  @type record_transformer
  enable_ruby true
  <record>
    namespace ${{tag_parts[4].split('_')[0]}}
    pod ${{tag_parts[4].split('_')[1]}}
    container ${{tag_parts[5]}}
    node "#{{ENV['NODE_ADDRESS']}}"
  </record>
</filter>

<match fluent.**>
  @type null
</match>

<match pods.**>
  @type forward
  require_ack_response true
{servers}{_BUFFER}</match>
"""


def _aggregator(wiring: Wiring) -> str:
    """Returns the configuration of the aggregator, which writes the records of all collectors to OpenSearch.

    Each day has an index, such as logs-2026.11.22. A full buffer of the aggregator blocks the collectors, which keep
    their records on their own disks. The buffer's size is half of a lab's volume; all figures are project figures.
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
{_BUFFER}</match>
"""
