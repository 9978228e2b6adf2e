"""The API server that commands use while the first master is down."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cluster.api import Api, Unreachable
from commands import stack
from commands.live import connection
from console.errors import UserError
from contract import ADMINISTRATOR
from tests.stacks import ROOT


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with the kubeconfig that `up` has written for the stack dev."""
    cluster = {"server": "https://10.20.0.21:6443", "insecure-skip-tls-verify": True}
    document = {
        "contexts": [{"name": ADMINISTRATOR, "context": {"cluster": "quorate", "user": "admin"}}],
        "clusters": [{"name": "quorate", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": "a-token"}}],
    }
    file = connection.own_kubeconfig(tmp_path, "dev")
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("down", "used"),
    [
        ((), "10.20.0.21"),
        (("10.20.0.21",), "10.20.0.22"),
        (("10.20.0.21", "10.20.0.22"), "10.20.0.23"),
        (("10.20.0.21", "10.20.0.22", "10.20.0.23"), "10.20.0.21"),
    ],
    ids=["none is down", "the first is down", "two are down", "all are down"],
)
def test_the_first_master_that_accepts_connections_is_used(
    root: Path, down: tuple[str, ...], used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def accepts(address: str) -> bool:
        return address not in down

    monkeypatch.setattr(connection, "_accepts", accepts)
    access = connection.own_access(root, stack.load(ROOT, "dev"))
    assert (access.host, access.port) == (used, 6443)
    assert access.headers == {"Authorization": "Bearer a-token"}


def test_the_message_of_a_cluster_that_does_not_answer_says_who_is_asked_next(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_api: Api, path: str) -> None:
        raise Unreachable(f"GET {path}: connection refused")

    monkeypatch.setattr(Api, "items", refuse)

    def accepts(_address: str) -> bool:
        return True

    monkeypatch.setattr(connection, "_accepts", accepts)
    with pytest.raises(UserError) as caught:
        connection.connect(root, stack.load(ROOT, "dev"))
    assert str(caught.value) == (
        "The cluster of context admin does not answer: GET /api/v1/nodes: connection refused\n"
        "`quorate restore etcd --stack dev --plan` asks its masters by SSH what etcd has there, and changes nothing."
    )
