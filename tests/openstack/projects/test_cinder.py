"""The configuration of Cinder."""

from __future__ import annotations

from openstack.config.layers import ConfigFile
from openstack.projects import cinder
from tests.openstack.projects.test_projects import WIRING

DEFAULT_CAPABILITIES = {
    "CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}  # fmt: skip
"""What containerd gives a container that is not privileged (pkg/oci, defaultUnixCaps)."""


def test_the_helper_of_backups_asks_for_no_more_than_its_pod_has() -> None:
    files = (each for each in cinder.configure(WIRING, "cinder-backup") if isinstance(each, ConfigFile))
    (document,) = (each.document() for each in files if each.name == "cinder.conf")
    capabilities = document["privsep_osbrick"]["capabilities"].value
    assert isinstance(capabilities, tuple)
    assert set(capabilities) <= DEFAULT_CAPABILITIES
