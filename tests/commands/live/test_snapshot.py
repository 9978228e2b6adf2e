"""The diagnostic snapshot: what it contains, who may read it, and that no secret is in it."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any, cast

import pytest

from blueprint.plan.planner import plan
from cluster.api import Api, ApiError, Reply
from commands.live import snapshot
from console.errors import UserError
from operations.live_cluster import LiveCluster
from tests.stacks import STACKS, full_size, parsed

SECRET = "a-secret-of-the-stack"  # noqa: S105 - what must not be found


def contents(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        files = [each for each in archive.getmembers() if each.isfile()]
        read = {each.name.partition("/")[2]: archive.extractfile(each) for each in files}
        return {name: file.read().decode() for name, file in read.items() if file}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    document = STACKS["dev"].read_text(encoding="utf-8") + "  quorate:rootSecret:\n    secure: v1:abc:def\n"
    (tmp_path / "Pulumi.lab.yaml").write_text("encryptionsalt: v1:salt\n" + document, encoding="utf-8")
    return tmp_path


def test_a_rendered_stack_is_collected_without_its_secrets(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = clone / "build" / "lab"
    for path in ("secrets/manifests/a.yaml", ".root-secret", ".passphrase", "project/Pulumi.lab.yaml"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(SECRET)
    for path in ("manifests/1-manifest/a.yaml", "machines/one/etcd.service"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("open")
    (tree / "manifests" / "link.yaml").symlink_to(tree / ".root-secret")
    assert snapshot.collect(clone, "lab") == 0
    (path,) = tree.glob("snapshot-*.tar.gz")
    assert path.stat().st_mode & 0o777 == 0o600
    found = contents(path)
    assert set(found) == {"stack.yaml", "manifests/1-manifest/a.yaml", "machines/one/etcd.service"}
    assert not any(secret in text for text in found.values() for secret in (SECRET, "v1:abc:def", "v1:salt"))
    assert "3 files, without secrets: build/lab/snapshot-" in capsys.readouterr().out


def test_a_stack_that_is_not_rendered_has_no_snapshot(clone: Path) -> None:
    with pytest.raises(UserError, match="make up STACK=lab"):
        snapshot.collect(clone, "lab")


class Cluster:
    """A fake API server with one pod.

    It rejects requests for events, and for the log before the container's last restart.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, method: str, path: str) -> dict[str, Any]:
        assert method == "GET"
        self.asked.append(path)
        if path.endswith("/events"):
            raise ApiError(403, "Forbidden", "events are not yours")
        if not path.endswith("/pods"):
            return {"items": []}
        metadata = {
            "name": "mysqld-0",
            "managedFields": [{"manager": "kubectl"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "kept": "yes"},
        }
        return {"items": [{"metadata": metadata, "status": {"containerStatuses": [{"name": "db", "restartCount": 2}]}}]}

    def call(self, _method: str, _path: str, *, query: dict[str, str]) -> Reply:
        assert query["tailLines"] == "1000"
        if query["previous"] == "true":
            return Reply(400, {"message": "previous terminated container not found"})
        return Reply(200, {}, text="ready\n")


def test_objects_and_logs_of_a_cluster_are_collected_and_what_is_missing_is_said() -> None:
    cluster = Cluster()
    found = dict(snapshot.of_cluster(LiveCluster(cast("Api", cluster), plan(parsed(full_size("100"))), "cloud-1", ())))
    assert found["logs/mysqld-0/db.log"] == "ready\n"
    assert "events are not yours" in found["errors.txt"]
    assert "previous terminated container not found" in found["errors.txt"]
    assert '"kept": "yes"' in found["objects/pods.json"]
    assert not any(SECRET in text or "managedFields" in text for text in found.values())
    assert not any("secrets" in path for path in cluster.asked)
