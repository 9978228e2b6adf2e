"""Cloud-init user data as rules read it."""

from __future__ import annotations

from policy.facts.machines.cloud_init import cloud_init
from policy.properties import Sealed


def test_secret_user_data_is_read() -> None:
    """It contains the machine's host key."""
    assert cloud_init(Sealed("#cloud-config\nhostname: master1\n")).host == "master1"
