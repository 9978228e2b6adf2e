"""Scenarios of tempest on a lab: its configuration, and when a run counts as failed."""

from __future__ import annotations

import configparser
import json
import subprocess
from pathlib import Path

import pytest
import yaml

from console.errors import UserError
from tests.trials.cloud.test_drill import LAB
from tests.trials.cloud.test_tenants import TENANTS
from tests.trials.services.test_tempest import PASSED
from trials.cloud import client, scenarios

MADE = {
    "image": "i", "properties": "kernel_id:k,ramdisk_id:r", "flavor": "f", "larger": "l", "network": "n",
    "network_name": "external", "extensions": "router,trunk", "disk": "/disk",
}  # fmt: skip
ACCOUNT = {
    "auth_url": "https://identity.cloud.test/v3", "username": "admin", "password": "secret", "project_name": "admin",
    "user_domain_id": "default", "project_domain_id": "default",
}  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / client.SETTINGS
    file.write_text(yaml.safe_dump({"clouds": {client.CLOUD: {"auth": ACCOUNT}}}), encoding="utf-8")

    def run_tenant(_settings: Path, command: list[str]) -> str:
        return json.dumps(MADE) if command[1].endswith("scenario_objects.py") else ""

    monkeypatch.setattr(client, "run_tenant", run_tenant)
    return file


def said(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def ran(command: list[str], **_more: object) -> subprocess.CompletedProcess[str]:
        assert "secret" not in " ".join(command)
        return subprocess.CompletedProcess(command, 0, text, "")

    monkeypatch.setattr(scenarios.subprocess, "run", ran)


def test_the_configuration_names_what_was_made(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said(PASSED.replace("Passed: 1", f"Passed: {len(scenarios.SCENARIOS)}"), monkeypatch)
    line = scenarios.run(LAB, Path("/release"), settings, TENANTS.instances)
    assert line.startswith("tempest: 5 scenarios passed, 0 failed: ")
    file = settings.parent / "tempest/etc/tempest.conf"
    assert file.stat().st_mode & 0o777 == 0o600
    found = configparser.ConfigParser(interpolation=None)
    found.read(file)
    assert found["compute"]["image_ref"] == "i"
    assert found["identity"]["region"] == "RegionOne"
    assert found["identity"]["ca_certificates_file"] == str(settings.parent / client.CERTIFICATE)
    assert found["scenario"]["img_properties"] == MADE["properties"]
    assert found["network"]["public_network_id"] == "n"
    assert found["auth"]["admin_password"] == ACCOUNT["password"]


def test_a_scenario_that_was_left_out_is_a_failure(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said(PASSED, monkeypatch)
    with pytest.raises(UserError, match=r"Scenarios of tempest failed .*'Passed': 1"):
        scenarios.run(LAB, Path("/release"), settings, TENANTS.instances)
