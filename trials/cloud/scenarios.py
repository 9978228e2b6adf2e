"""Runs scenarios of tempest, OpenStack's own tests, on a lab: its own networks, instances, volumes and images."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import yaml

from console.errors import UserError
from files import atomic
from trials.cloud import client, network
from trials.cloud.lab_machines import Lab
from trials.services import tempest

SCENARIOS = (
    "test_network_basic_ops.TestNetworkBasicOps.test_network_basic_ops",
    "test_minimum_basic.TestMinimumBasicScenario.test_minimum_basic_scenario",
    "test_volume_boot_pattern.TestVolumeBootPattern.test_volume_boot_pattern",
    "test_snapshot_pattern.TestSnapshotPattern.test_snapshot_pattern",
    "test_volume_backup_restore.TestVolumeBackupRestore.test_volume_backup_restore",
)
"""Packets and floating addresses, attached volumes and a reboot, boot from volumes, images of instances, backups."""
LIMIT = 3000
"""Seconds for all of them, on a host without KVM."""
_CONFIGURATION = (
    tempest.SERVICES
    + """\
[DEFAULT]
log_file = {directory}/tempest.log

[auth]
admin_username = {username}
admin_password = {password}
admin_project_name = {project_name}
admin_domain_name = Default

[identity]
uri_v3 = {auth_url}
auth_version = v3
region = {region}
v3_endpoint_type = public
ca_certificates_file = {certificate}

[compute]
image_ref = {image}
image_ref_alt = {image}
flavor_ref = {flavor}
flavor_ref_alt = {larger}
volume_device_name = vdb
build_timeout = 600

[compute-feature-enabled]
console_output = true

[image]
build_timeout = 600

[network]
public_network_id = {network}
floating_network_name = {network_name}

[network-feature-enabled]
api_extensions = {extensions}

[volume]
build_timeout = 600

[scenario]
img_file = {disk}
img_disk_format = raw
img_container_format = bare
img_properties = {properties}
dhcp_client = udhcpc

[validation]
run_validation = true
image_ssh_user = root
connect_method = floating
auth_method = keypair
ssh_timeout = 400

[oslo_concurrency]
lock_path = {directory}/locks
"""
)


def run(lab: Lab, release: Path, settings: Path, instances: client.Instances) -> str:
    """Runs the scenarios; returns a line with their counts. Raises UserError if one fails.

    `release`: environment with tempest. `settings`: clouds.yaml, beside which tempest has its directory, with the
    administrator's password in its configuration.
    """
    started = time.monotonic()
    made = client.run_tenant(settings, instances.command(release, settings, "scenario_objects.py"))
    directory = settings.parent.resolve() / "tempest"
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "etc").mkdir(parents=True, mode=0o700)
    account = yaml.safe_load(settings.read_text(encoding="utf-8"))["clouds"][client.CLOUD]["auth"]
    certificate = settings.with_name(client.CERTIFICATE).resolve()
    values = {**account, **json.loads(made), "region": lab.region, "certificate": certificate, "directory": directory}
    atomic.write_private(directory / "etc" / "tempest.conf", _CONFIGURATION.format(**values))
    names = "|".join(each.replace(".", r"\.") for each in SCENARIOS)
    script = tempest.script(str(directory), release, f"--concurrency 1 --regex '({names})'")
    try:
        done = subprocess.run(
            network.in_switch(["sh", "-c", script]), capture_output=True, text=True, check=False, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"tempest has not ended within {LIMIT} s; see {directory}/tempest.log.") from None
    found = tempest.read(done.stdout)
    if found.failure or found.passed < len(SCENARIOS):
        raise UserError(f"Scenarios of tempest failed ({found.totals}); see {directory}/tempest.log:\n{found.failure}")
    client.run_tenant(settings, instances.command(release, settings, "traffic.py", "clean"))
    return f"tempest: {found.passed} scenarios passed, {found.failed} failed: {time.monotonic() - started:.0f} s"
