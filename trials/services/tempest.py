"""Trial with tempest, OpenStack's own tests of its APIs, on the services in the test bed."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trials.services.openstack_services import IDENTITY, ServiceCloud
from trials.services.testbed import Broken
from trials.trial_report import Proof

LEFT_OUT = (
    r"^tempest\.scenario",  # log in to a server by SSH, but servers of Nova's fake driver do not run
    r"test_list_server_addresses\[",  # the server has no network, and so no address
    "ServersTestBootFromVolume",  # copies an image to a volume, but Cinder's fake driver stores no data
    "update_delete_from_image",  # copies an image to a volume too
)
LIMIT = 1800
"""Seconds that a run of tempest may take on a busy machine."""
_TOTALS = re.compile(r"^ - (Passed|Skipped|Failed|Unexpected Success): (\d+)$", re.MULTILINE)
_ENDED = re.compile(r"^\{\d+\} .* \.\.\. \w+$", re.MULTILINE)
_FAILED = re.compile(r"^\{\d+\} ((?:setUpClass )?\S+) .*\.\.\. FAILED$", re.MULTILINE)
SERVICES = """\
[identity-feature-enabled]
api_v2 = false

[service_available]
cinder = true
glance = true
horizon = false
neutron = true
nova = true
swift = false

"""
"""The part of tempest.conf that says which services and APIs there are. Object storage is not tried."""
_ACCOUNT = """\
[DEFAULT]
log_file = /tempest/tempest.log

[auth]
admin_username = admin
admin_password = {password}
admin_project_name = admin
admin_domain_name = Default
create_isolated_networks = false

[identity]
uri_v3 = {identity}
auth_version = v3
region = RegionOne
v3_endpoint_type = internal

[oslo_concurrency]
lock_path = /tempest/locks

"""
_SMOKE = (
    SERVICES
    + """\
[compute]
image_ref = {image}
image_ref_alt = {image}
flavor_ref = {flavor}
flavor_ref_alt = {flavor}

[network]
public_network_id = {network}

[compute-feature-enabled]
console_output = false

[network-feature-enabled]
api_extensions = {extensions}

[validation]
run_validation = false
"""
)


def smoke(cloud: ServiceCloud) -> Proof:
    """Runs tempest's smoke tests. In the result, a test that passes counts as an acknowledged write."""
    image, flavor, network, extensions = cloud.use("prepare").split()
    options = _SMOKE.format(image=image, flavor=flavor, network=network, extensions=extensions)
    return run(cloud, "OpenStack: tempest's smoke tests", options, f"--smoke --exclude-regex '{'|'.join(LEFT_OUT)}'")


def run(cloud: ServiceCloud, name: str, options: str, selection: str, plugins: str = "") -> Proof:
    """Runs tests of tempest on the client's machine. In the result, a test that passes counts as an acknowledged write.

    `name`: of the trial. `options`: what tempest.conf has beside the account. `selection`: flags of `tempest run`.
    `plugins`: the directory with tempest's plugins in the machine. Raises Broken if tempest does not end.
    """
    started = time.monotonic()
    text = _ACCOUNT.format(password=cloud.password, identity=IDENTITY) + options
    cloud.client.write("/tempest/etc/tempest.conf", text, mode="0600")
    command = script("/tempest", cloud.release, f"{selection} --concurrency 2", plugins)
    try:
        found = read(cloud.client.run(["sh", "-c", command], seconds=LIMIT))
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace")
        raise Broken(f"tempest has not ended within {LIMIT} s, after {ended(said)} tests") from None
    notes = tuple(f"{kind.lower()}: {number}" for kind, number in found.totals.items())
    tried = found.passed + found.failed
    return Proof(name, tried, found.passed, 0, time.monotonic() - started, notes, found.failure)


@dataclass(frozen=True)
class TempestResult:
    """What tempest has said of a run."""

    totals: Mapping[str, int]
    """Number of tests by outcome, as tempest names it."""
    failure: str
    """The tests that failed, or tempest's last words if none passed; empty if all is well."""

    @property
    def passed(self) -> int:
        return self.totals.get("Passed", 0)

    @property
    def failed(self) -> int:
        return self.totals.get("Failed", 0)


def read(said: str) -> TempestResult:
    """Returns the result in the output of `tempest run`."""
    totals = {kind: int(number) for kind, number in _TOTALS.findall(said)}
    if totals.get("Failed", 0):
        return TempestResult(totals, "\n".join(_FAILED.findall(said)))
    return TempestResult(totals, "" if totals.get("Passed", 0) else f"no test passed:\n{said[-2000:]}")


def ended(said: str) -> int:
    """Returns the number of tests that have ended in the output of a run that was stopped."""
    return len(_ENDED.findall(said))


def script(directory: str, release: Path, flags: str, plugins: str = "") -> str:
    """Returns the shell script that runs tempest in a directory with `etc/tempest.conf`, and always ends with 0.

    `plugins`: a directory with tempest's plugins.
    """
    return f"""export PATH={release}/bin:$PATH PYTHONPATH={plugins}
        cd {directory} && mkdir -p locks
        packages=$(python -c 'import pathlib, tempest; print(pathlib.Path(tempest.__file__).parent.parent)')
        printf '[DEFAULT]\\ntest_path=%s/tempest/test_discover\\ntop_dir=%s\\n' "$packages" "$packages" > .stestr.conf
        stestr init
        tempest run --config-file etc/tempest.conf {flags} 2>&1
        true"""
