"""A machine that boots the image of Ironic's servers by UEFI, with a config drive: as after a deployment by Ironic.

The drive is a disk of its own. Ironic writes it into a partition.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.trials.machines.bare_guest import DISK, BareGuest
from trials.bare_metal.disk_tools import DiskTools
from trials.bare_metal.server_image import NewServer

_FIRMWARE = "usr/share/OVMF/OVMF_{}_4M.fd"
_LABEL = "config-2"
"""By which cloud-init finds a config drive."""


def make(tools: DiskTools, image: Path, server: NewServer, login: str, memory: int) -> BareGuest:
    """Makes a machine of an image, which becomes its disk. `login`: who may log in. `memory`: in MiB."""
    drive, variables = (image.with_suffix(f".{each}") for each in ("drive", "variables"))
    subprocess.run(["truncate", f"--size={DISK}", image], check=True)
    user_data, host_key = server.make_user_data(image.parent, login)
    _write_drive(tools, server, user_data, drive)
    shutil.copy(tools.root / _FIRMWARE.format("VARS"), variables)
    code = tools.root / _FIRMWARE.format("CODE")
    boot = (
        "-drive", f"if=pflash,format=raw,readonly=on,file={code}", "-drive", f"if=pflash,format=raw,file={variables}",
        "-drive", f"file={drive},if=virtio,format=raw,readonly=on",
    )  # fmt: skip
    return BareGuest(server.name, str(server.address.ip), memory, image, host_key, boot)


def _write_drive(tools: DiskTools, server: NewServer, user_data: Path, target: Path) -> None:
    """Writes a config drive as Nova does for a subnet without DHCP."""
    link = {"id": "card", "type": "phy", "ethernet_mac_address": server.mac, "mtu": 1500}
    network: dict[str, object] = {
        "id": "network0",
        "type": "ipv4",
        "link": "card",
        "ip_address": str(server.address.ip),
        "netmask": str(server.address.netmask),
        "routes": [],
    }
    texts = {
        "meta_data.json": json.dumps({"uuid": server.name, "name": server.name, "hostname": server.name}),
        "network_data.json": json.dumps({"links": [link], "networks": [network], "services": []}),
        "user_data": user_data.read_text(encoding="utf-8"),
    }
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "openstack/latest"
        directory.mkdir(parents=True)
        for path, text in texts.items():
            (directory / path).write_text(text, encoding="utf-8")
        tools.run("usr/bin/xorriso", "-as", "mkisofs", "-quiet", "-J", "-R", "-V", _LABEL, "-o", target, scratch)
