"""`quorate images`: the list as text and as JSON, and the script that fills a registry."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from commands.plan import needed_images
from commands.plan.needed_images import copies
from console.errors import UserError
from openstack.downloads import NeededImage
from tests.stacks import ROOT

REGISTRY = "registry.example:5000/site"
DIGEST = f"sha256:{'a' * 64}"


def test_the_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert needed_images.show(ROOT, "dev", as_json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["version"], found["stack"], found["manifestWithUnknownImages"]) == (1, "dev", None)
    (api,) = (each for each in found["images"] if each["image"].endswith("/kube-apiserver:v1.37.2"))
    assert api == {"image": api["source"], "source": api["source"], "digest": None, "users": ["kubeadm"]}
    assert [each["name"] for each in found["archives"]] == ["calico"]
    assert len(found["archives"][0]["sha256"]) == 64


def test_the_text_has_a_line_for_each_image(capsys: pytest.CaptureFixture[str]) -> None:
    assert needed_images.show(ROOT, "dev", as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1:] for line in lines if "/nova-api:" in line] == [["nova-api"]]
    assert any(line.startswith("calico  https://") for line in lines)


def test_the_script_copies_every_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skopeo = tmp_path / "skopeo"
    skopeo.write_text(f'#!/bin/sh\nshift 3\necho "$*" >>"{tmp_path}/log"\n', encoding="utf-8")
    skopeo.chmod(0o755)
    assert needed_images.show_copies(ROOT, "dev", REGISTRY) == 0
    script = capsys.readouterr().out
    subprocess.run(["sh", "-c", script], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    log = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    needed_images.show(ROOT, "dev", as_json=True)
    images = json.loads(capsys.readouterr().out)["images"]
    assert {line.split()[0] for line in log} == {f"docker://{each['source']}" for each in images}
    assert f"docker://quay.io/calico/node:v3.32.1 docker://{REGISTRY}/calico/node:v3.32.1" in log


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        ([("quay.io/a/b:1", "")], {"a/b:1": "quay.io/a/b:1"}),
        ([("quay.io/a/b:1", DIGEST)], {"a/b:1": f"quay.io/a/b@{DIGEST}"}),
        ([(f"quay.io/a/b:1@{DIGEST}", DIGEST)], {"a/b:1": f"quay.io/a/b@{DIGEST}"}),
        ([(f"quay.io/a/b@{DIGEST}", DIGEST)], {f"a/b@{DIGEST}": f"quay.io/a/b@{DIGEST}"}),
        ([("quay.io/a/b", "")], {"a/b:latest": "quay.io/a/b:latest"}),
        ([("a/b:1", "")], {"a/b:1": "a/b:1"}),
        ([("localhost/b:1", "")], {"b:1": "localhost/b:1"}),
        # An image that one user pins and another does not is copied once, by its digest.
        ([("quay.io/a/b:1", ""), ("quay.io/a/b:1", DIGEST)], {"a/b:1": f"quay.io/a/b@{DIGEST}"}),
        ([("quay.io/a/b:1", DIGEST), ("quay.io/a/b:1", "")], {"a/b:1": f"quay.io/a/b@{DIGEST}"}),
        ([(f"{REGISTRY}/a/b:1", "")], {}),
    ],
)
def test_where_an_image_is_copied(images: list[tuple[str, str]], expected: dict[str, str]) -> None:
    given = tuple(NeededImage(f"m/x@{digest}" if digest else source, source, ()) for source, digest in images)
    assert copies(given, REGISTRY) == {f"{REGISTRY}/{target}": source for target, source in expected.items()}


@pytest.mark.parametrize("registry", ["https://registry.example", "a b", "registry.example/$(x)", "registry.example/"])
def test_a_registry_that_is_none_is_refused(registry: str) -> None:
    with pytest.raises(UserError, match="write its host"):
        needed_images.show_copies(ROOT, "dev", registry)
