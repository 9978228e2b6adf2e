"""Tests of the manifests that the proof reads from a rendered tree."""

from __future__ import annotations

from pathlib import Path

from proof.manifests import read_manifests


def test_secret_objects_are_read_too_before_the_workloads_that_mount_them(tmp_path: Path) -> None:
    for folder, kind in (("manifests", "Deployment"), ("secrets/manifests", "Secret")):
        directory = tmp_path / folder / "1-manifest"
        directory.mkdir(parents=True)
        (directory / "api.yaml").write_text(f"kind: {kind}\nmetadata: {{name: api}}\n", encoding="utf-8")
    assert [each["kind"] for each in read_manifests(tmp_path)] == ["Secret", "Deployment"]
