"""Trials with tempest's plugins of Designate and Ironic: the projects' own tests of their APIs, in the test bed.

No test needs a virtual machine or a machine. Of each project, the tests of what the API makes run, and those that only
try wrong requests are left out: a run takes minutes.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolchain.openstack_programs import LOCKS
from trials.services import tempest
from trials.services.openstack_services import ServiceCloud
from trials.trial_report import Proof

LOCK = LOCKS / "tempest.lock"
_PLUGINS = "/tempest-plugins"
"""The directory of the plugins in the client's machine."""
_OTHERS = """\
[service_available]
cinder = false
glance = false
horizon = false
neutron = true
nova = false
swift = false
"""
_DNS = (
    _OTHERS
    + """\
designate = true

[dns]
endpoint_type = internal
nameservers = {servers}

[dns_feature_enabled]
api_v2_quotas = true
api_v2_quotas_verify_project = false
enforce_new_defaults = true

[enforce_scope]
designate = true
"""
)
DNS = (
    r"api\.v2\.test_(pool|quotas|recordset|service_statuses|shared_zones|transfer_accepts)\.",
    r"api\.v2\.test_(zone_tasks|zones|zones_exports|zones_imports)\.",
    r"scenario\.v2\.test_(zones|zones_transfer)\.",  # ask each DNS server
)
"""The tests of Designate that run, of designate_tempest_plugin.tests. To save time, those are left out that only make
rows in its database: blacklists, limits, top-level domains, TSIG keys, and requests of transfers."""
DNS_LEFT_OUT = (
    "Negative",  # the API refuses wrong requests, which no configuration changes
    "NotFound",  # the same
    "InvalidId",  # the same
    "RootRecordsets",  # an old way to recordsets, which is off
    r"ZonesTest\.test_create_zones",  # a secondary zone of the name servers' names, which the test bed does not resolve
    r"ZonesTest\.test_list_zones",  # takes it that the administrator's project has no zone; it has that of the ports
)
_METAL = (
    _OTHERS
    + """\
ironic = true

[network]
endpoint_type = internal

[baremetal]
endpoint_type = internal
driver = fake-hardware
enabled_hardware_types = fake-hardware
"""
)
METAL = (r"api\.admin\.",)
"""The tests of Ironic that run, of ironic_tempest_plugin.tests. Those of `scenario` deploy machines."""
METAL_LEFT_OUT = (
    "Negative",  # the API refuses wrong requests, which no configuration changes
    "_negative",  # the same
    "test_microversion_enforcement",  # the API refuses requests of other versions
    "OldAP",  # the same
    "JsonExtSupport",  # names of objects that end with .json
    "Graphical",  # consoles, for which the trial has no browser
    "test_console",  # the same
    "TestResetInterfaces",  # machines of IPMI, which the trial does not enable
)


@dataclass(frozen=True)
class _Tests:
    """Tests of a plugin: patterns of those that run, and of those among them that are left out."""

    plugin: str
    run: Sequence[str]
    left_out: Sequence[str]

    def flags(self) -> str:
        """Returns the flags of `tempest run`."""
        return rf"--regex '{self.plugin}\.tests\.({'|'.join(self.run)})' --exclude-regex '{'|'.join(self.left_out)}'"


def designate(cloud: ServiceCloud, servers: Sequence[str]) -> Proof:
    """Runs tests of Designate. `servers`: addresses of the DNS servers."""
    options = _DNS.format(servers=",".join(servers))
    tests = _Tests("designate_tempest_plugin", DNS, DNS_LEFT_OUT)
    return _run(cloud, "Designate: tempest's plugin", options, tests)


def ironic(cloud: ServiceCloud) -> Proof:
    """Runs tests of Ironic, with machines of its fake driver."""
    return _run(cloud, "Ironic: tempest's plugin", _METAL, _Tests("ironic_tempest_plugin", METAL, METAL_LEFT_OUT))


def _run(cloud: ServiceCloud, name: str, options: str, tests: _Tests) -> Proof:
    with tempfile.TemporaryDirectory() as scratch:
        install = [cloud.release / "bin/uv", "pip", "install", "--python", cloud.release / "bin/python", "--no-deps"]
        words = [*install, "--target", Path(scratch) / "plugins", "--require-hashes", "-r", LOCK]
        subprocess.run(words, check=True, capture_output=True)
        cloud.client.place_file(Path(scratch) / "plugins", _PLUGINS)
    return tempest.run(cloud, name, options, tests.flags(), _PLUGINS)
