"""Horizon's rendered settings: debug mode is off, and the real Django goes on while a memcached does not answer."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from trials.services.containers import TriedContainer

SETTINGS = "/etc/openstack-dashboard/local_settings.d/_9999-custom-settings.py"
PROGRAM = """\
import sys
from django.conf import settings
found = {}
exec(sys.stdin.read(), found)
caches = found["CACHES"]
caches["default"]["LOCATION"] = [sys.argv[1]]
settings.configure(CACHES=caches)
from django.core.cache import cache
cache.set("key", "value")
print(cache.get("key", "nothing is cached"))
"""
LIMIT = 60
"""Seconds; without time limits in the settings, the program never ends."""


def test_a_memcached_that_does_not_answer_is_left_out(programs: Path, containers: Mapping[str, TriedContainer]) -> None:
    text = containers["horizon/horizon"].files[SETTINGS].text
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        done = subprocess.run(
            [str(programs / "bin" / "python"), "-c", PROGRAM, address],
            input=text,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    assert (done.stdout.strip(), done.stderr) == ("nothing is cached", "")


def test_debug_mode_is_off_and_files_are_compressed_at_the_start(containers: Mapping[str, TriedContainer]) -> None:
    """The settings before these, in Kolla's image, are Horizon's example, with DEBUG = True."""
    lines = containers["horizon/horizon"].files[SETTINGS].text.splitlines()
    assert {"DEBUG = False", "COMPRESS_OFFLINE = True"} <= set(lines)
