"""Tests of `quorate credentials`: what the files have, who may read them, and what is printed."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from blueprint.plan.planner import plan
from cluster.api import Api, ApiError
from commands import stack
from commands.live import connection, credentials
from commands.stack import ValidStack
from console.errors import UserError
from operations.live_cluster import LiveCluster
from tests.stacks import STACKS, full_size, parsed

PASSWORD = 'it\'s $ecret "7"'  # noqa: S105 - characters that a shell and YAML treat specially
ACCOUNT = {"keystone-bootstrap-secrets": {"OS_BOOTSTRAP_PASSWORD": PASSWORD}}
INGRESS = {"domain": "cloud.example.org", "className": "nginx"}
LOAD = stack.load

Write = Callable[..., int]


class Cluster:
    """An API server with Secrets."""

    def __init__(self, secrets: Mapping[str, Mapping[str, str]], refuses: int = 0) -> None:
        self.secrets, self.refuses = secrets, refuses

    def ask(self, method: str, path: str) -> dict[str, Any]:
        assert method == "GET"
        name = path.removeprefix("/api/v1/namespaces/openstack/secrets/")
        if self.refuses or name not in self.secrets:
            raise ApiError(self.refuses or 404, "refused", path)
        return {"data": {key: base64.b64encode(text.encode()).decode() for key, text in self.secrets[name].items()}}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the credentials of a live stack `dev` below a temporary root."""

    def run(secrets: Mapping[str, Mapping[str, str]] = ACCOUNT, refuses: int = 0, **settings: Any) -> int:
        given = parsed(full_size("100", **settings))

        def load(root: Path, name: str) -> ValidStack:
            return replace(LOAD(root, name), target="live", settings=given)

        def connect(_root: Path, _stack: ValidStack) -> LiveCluster:
            return LiveCluster(cast("Api", Cluster(secrets, refuses)), plan(given), "cloud-1", ())

        shutil.copy(STACKS["dev"], tmp_path / "Pulumi.dev.yaml")
        monkeypatch.setattr(stack, "load", load)
        monkeypatch.setattr(connection, "connect", connect)
        return credentials.write(tmp_path, "dev")

    return run


def test_files_are_the_owners_and_no_password_is_printed(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write(ingress=INGRESS) == 0
    directory = tmp_path / "build/dev/credentials"
    assert {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()} == {
        "clouds.yaml": 0o600,
        "openrc": 0o600,
    }
    assert directory.stat().st_mode & 0o777 == 0o700
    printed = capsys.readouterr().out
    assert "Written: build/dev/credentials/clouds.yaml" in printed
    assert "ecret" not in printed


def test_clouds_yaml_has_the_public_address_of_keystone(write: Write, tmp_path: Path) -> None:
    write(ingress={**INGRESS, "port": 8443})
    cloud = yaml.safe_load((tmp_path / "build/dev/credentials/clouds.yaml").read_text(encoding="utf-8"))["clouds"][
        "dev"
    ]
    assert cloud["auth"]["auth_url"] == "https://identity.cloud.example.org:8443/v3"
    assert cloud["auth"]["password"] == PASSWORD
    assert "cacert" not in cloud, "an authority that every host trusts"


def test_a_shell_reads_the_same_from_openrc(write: Write, tmp_path: Path) -> None:
    write(ingress=INGRESS)
    script = '. "$1" && printf %s "$OS_PASSWORD"'
    command = ["sh", "-c", script, "sh", str(tmp_path / "build/dev/credentials/openrc")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == PASSWORD


def test_clients_trust_the_private_authority_of_the_ingress(write: Write, tmp_path: Path) -> None:
    write({**ACCOUNT, "openstack-tls": {"ca.crt": "CERTIFICATE\n"}}, ingress=INGRESS)
    directory = tmp_path / "build/dev/credentials"
    cloud = yaml.safe_load((directory / "clouds.yaml").read_text(encoding="utf-8"))["clouds"]["dev"]
    assert Path(cloud["cacert"]).read_text(encoding="utf-8") == "CERTIFICATE\n"
    assert f"export OS_CACERT={cloud['cacert']}\n" in (directory / "openrc").read_text(encoding="utf-8")


def test_without_an_ingress_the_address_is_that_inside_of_the_cluster(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    write()
    printed = capsys.readouterr().out
    assert "http://keystone.openstack.svc:5000/v3 is reachable from inside the cluster only" in printed


def test_a_cloud_without_an_account_is_an_error(write: Write, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no OS_BOOTSTRAP_PASSWORD; `quorate up --stack dev` makes it"):
        write({})
    assert not (tmp_path / "build/dev/credentials").exists(), "nothing half done"


def test_a_cluster_that_refuses_is_an_error(write: Write) -> None:
    with pytest.raises(UserError, match="context cloud-1 refuses to show Secret keystone-bootstrap-secrets"):
        write(refuses=403)


def test_a_rendered_stack_has_no_cluster_to_ask(tmp_path: Path) -> None:
    shutil.copy(STACKS["dev"], tmp_path / "Pulumi.dev.yaml")
    with pytest.raises(UserError, match="has the target render: it has no cluster to ask"):
        credentials.write(tmp_path, "dev")
