"""The user data that an operator makes for a machine which Ironic deploys as a server of the stack."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from ipaddress import IPv4Interface
from pathlib import Path

import pytest
import yaml

from trials.bare_metal.server_image import USER_DATA, NewServer

LOGIN = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOperator somebody@example.org\n"
SERVER = NewServer("compute7", "52:54:00:00:01:07", IPv4Interface("10.20.0.57/24"), "10.20.0.1")


def test_the_user_data_has_the_host_key(tmp_path: Path) -> None:
    file, host_key = SERVER.make_user_data(tmp_path, LOGIN)
    assert file.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compute7.pub", "compute7.yaml", "login.pub"]
    text = file.read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    assert text.startswith("#cloud-config\n")
    assert found["hostname"] == "compute7"
    assert found["users"] == [{"name": "root", "ssh_authorized_keys": [LOGIN.strip()]}]
    assert found["ssh_keys"]["ed25519_public"] == host_key
    private = tmp_path / "private"
    private.touch(0o600)
    private.write_text(found["ssh_keys"]["ed25519_private"], encoding="utf-8")
    said = subprocess.run(["ssh-keygen", "-y", "-f", private], capture_output=True, text=True, check=True).stdout
    assert said.split()[:2] == host_key.split()[:2]


def test_the_address_is_the_cards_own(tmp_path: Path) -> None:
    file, _ = SERVER.make_user_data(tmp_path, LOGIN)
    found = yaml.safe_load(file.read_text(encoding="utf-8"))
    (written,) = found["write_files"]
    assert written["content"].split() == [
        "[Match]", "MACAddress=52:54:00:00:01:07",
        "[Network]", "Address=10.20.0.57/24", "Gateway=10.20.0.1", "DNS=10.20.0.1",
    ]  # fmt: skip


def test_a_variable_is_missing(tmp_path: Path) -> None:
    given = {"PATH": "/usr/bin:/bin", "name": "compute7", "mac": "52:54:00:00:01:07"}
    done = subprocess.run(["sh", USER_DATA], cwd=tmp_path, env=given, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "address" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("left", ["compute7", "compute7.pub", "compute7.yaml"])
def test_a_key_is_not_overwritten(tmp_path: Path, left: str) -> None:
    (tmp_path / left).write_text("of another time", encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError):
        SERVER.make_user_data(tmp_path, LOGIN)
    assert (tmp_path / left).read_text(encoding="utf-8") == "of another time"


def running(**other: str) -> Callable[[str], str]:
    """Returns what a machine says that is as its user data says, but for `other`, by the first word of the script."""
    right = {"hostname": "compute7", "ip": "inet 10.20.0.57/24 brd 10.20.0.255", "df": "5G", "ls": ""}
    return lambda script: (right | other)[script.split()[0]]


def test_a_machine_is_as_its_user_data_says() -> None:
    assert SERVER.faults(running(), 3) == []


@pytest.mark.parametrize(
    ("other", "fault"),
    [
        ({"hostname": "debian"}, "its name is not compute7"),
        ({"ip": "inet 10.20.0.157/24"}, "it does not have 10.20.0.57/24"),
        ({"df": "3G"}, "its root has not grown: 3 GiB"),
        ({"df": ""}, "its root has not grown:  GiB"),
        ({"ls": "/etc/ssh/ssh_host_rsa_key"}, "it has a host key of its own"),
    ],
)
def test_a_machine_is_not_as_its_user_data_says(other: dict[str, str], fault: str) -> None:
    assert SERVER.faults(running(**other), 3) == [fault]
