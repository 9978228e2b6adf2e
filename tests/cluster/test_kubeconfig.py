"""Tests of reading lists of kubeconfigs, and of the errors for an invalid kubeconfig."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.kubeconfig import kubeconfigs, read_kubeconfig
from console.errors import UserError


def write(path: Path, current: str = "", server: str = "", cluster: dict[str, Any] | None = None, **user: Any) -> Path:
    """A kubeconfig with a context of that name where one is given, and a cluster where a server is."""
    document: dict[str, Any] = {"current-context": current, "users": [{"name": "me", "user": user}] if user else []}
    if server:
        document["clusters"] = [{"name": "c", "cluster": {"server": server, **(cluster or {})}}]
    if current:
        document["contexts"] = [{"name": current, "context": {"cluster": "c", "user": "me"}}]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def test_of_several_files_the_first_decides_and_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "token").write_text("of-b\n")
    context = write(tmp_path / "a" / "config", current="mine", server="https://first:6443")
    user = write(tmp_path / "b" / "config", current="other", server="https://second:6443", tokenFile="token")
    access = read_kubeconfig(context, tmp_path / "missing", user)
    assert (access.host, access.headers) == ("first", {"Authorization": "Bearer of-b"})
    assert read_kubeconfig(user, context).host == "second"


def test_a_named_context_is_used_instead_of_the_current_one(tmp_path: Path) -> None:
    one = write(tmp_path / "one", current="mine", server="https://first:6443", token="t")  # noqa: S106
    other = yaml.safe_load(write(tmp_path / "other", current="live", server="https://second:6443").read_text())
    other["clusters"][0]["name"] = other["contexts"][0]["context"]["cluster"] = "d"
    (tmp_path / "other").write_text(yaml.safe_dump(other))
    assert read_kubeconfig(one, tmp_path / "other").host == "first"
    assert read_kubeconfig(one, tmp_path / "other", context="live").host == "second"
    with pytest.raises(UserError, match="is not a kubeconfig with the context 'gone': contexts has no entry named"):
        read_kubeconfig(one, context="gone")


def test_kubeconfigs_are_found_as_kubectl_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert kubeconfigs({"KUBECONFIG": "/a:/b:"}) == (Path("/a"), Path("/b"))
    assert kubeconfigs({"KUBECONFIG": ""}) == kubeconfigs({}) == (Path("/home/me/.kube/config"),)


@pytest.mark.parametrize(
    "data", ["not base64!", "", base64.b64encode(b"no certificate").decode(), base64.b64encode(b"\xff").decode()]
)
def test_a_malformed_authority_does_not_mean_those_of_the_system(tmp_path: Path, data: str) -> None:
    cluster = {"certificate-authority-data": data}
    path = write(tmp_path / "config", current="mine", server="https://c:6443", cluster=cluster, token="t")  # noqa: S106
    with pytest.raises(UserError, match=r"certificate-authority(-data)? is not .*copy it again"):
        read_kubeconfig(path)


def test_skipped_verification_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = {"insecure-skip-tls-verify": True}
    path = write(tmp_path / "config", current="mine", server="https://c:6443", cluster=cluster, token="t")  # noqa: S106
    assert read_kubeconfig(path).tls.verify_mode == ssl.CERT_NONE
    assert "the API server is not authenticated" in capsys.readouterr().err


def test_what_a_plugin_prints_is_shown(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": ["-c", "echo no role >&2; exit 4"],
    }
    path = write(tmp_path / "config", current="mine", server="https://c:6443", exec=plugin)
    with pytest.raises(UserError, match="ended with 4: no role"):
        read_kubeconfig(path)


def test_a_plugin_with_a_path_is_beside_the_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    script = tmp_path / "plugin.sh"
    script.write_text('#!/bin/sh\necho \'{"status": {"token": "abc"}}\'\n', encoding="utf-8")
    script.chmod(0o755)
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin.sh"}
    write(tmp_path / "config", current="mine", server="https://c:6443", exec=plugin)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert read_kubeconfig(Path("../config")).headers == {"Authorization": "Bearer abc"}


def test_a_list_of_missing_files_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none of the files exists"):
        read_kubeconfig(tmp_path / "a", tmp_path / "b")
