"""A real certificate ends: how long after its end the rendered Prometheus says so, by what a machine tells."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from components import machine_metrics
from openstack.monitoring import age_alerts
from tests.trials.services.monitoring import Monitoring, start_node_exporter
from trials.services.containers import TriedContainer
from trials.services.testbed import ServiceMachine, ServiceTestbed, until

SCRIPT = Path(machine_metrics.__file__).with_name("machine_metrics.sh")
FILE = "/etc/etcd/pki/peer.crt"
LEFT = 120
"""Seconds until the certificate ends: longer than it takes until node-exporter is asked, which is once in 60 s."""
LIMIT = 180
"""Seconds until something must be seen on a busy machine. The test prints how long each took."""
_MAKE = """\
mkdir -p "$(dirname "$1")"
exec openssl req -x509 -quiet -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=peer \\
  -keyout /dev/null -out "$1" -not_after "$2"
"""


def begin_node(testbed: ServiceTestbed, root: Path, container: TriedContainer) -> ServiceMachine:
    """Starts node-exporter on a machine that has the script of machines."""
    node = testbed.add("node", root=root)
    node.write(machine_metrics.OF_MACHINE, SCRIPT.read_text(encoding="utf-8"), mode="0755")
    start_node_exporter(node, container)
    return node


def make(node: ServiceMachine, seconds: float) -> float:
    """Makes a certificate that ends after some seconds, and lets the machine tell. Returns when it ends."""
    end = int(time.time() + seconds)
    node.run(["sh", "-ec", _MAKE, "sh", FILE, time.strftime("%Y%m%d%H%M%SZ", time.gmtime(end))])
    node.run([machine_metrics.OF_MACHINE, "certificates"])
    return end


@pytest.mark.heavy
def test_a_certificate_that_ends_is_named_within_a_minute(
    root: Path, node_exporter_root: Path, containers: Mapping[str, TriedContainer]
) -> None:
    with ServiceTestbed(root) as testbed:
        node = begin_node(testbed, node_exporter_root, containers["node-exporter/node-exporter"])
        end = make(node, LEFT)
        monitoring = Monitoring(testbed, containers, in_a_hurry=False, node=node)
        until("Prometheus knows the end", lambda: monitoring.query(age_alerts.CERTIFICATE), LEFT)
        assert not monitoring.summaries("CertificateExpired")
        said = f"{node.address}:9100: {FILE} has expired"
        monitoring.named("CertificateExpired", said, LEFT + LIMIT)
        late = time.time() - end
        print(f"CertificateExpired {late:.0f} s after the end", flush=True)
        assert late > 0
        make(node, 90 * 86400)
        over = monitoring.over("CertificateExpired", seconds=LIMIT)
        print(f"no alert {over:.0f} s after the machine told of another certificate", flush=True)
