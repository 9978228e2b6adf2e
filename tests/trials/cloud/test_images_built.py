"""An image made of real packages starts as its rendered workload asks, through Kolla's own start script.

Needs root, apt and Debian's mirror; skipped elsewhere.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from tests.trials.services.stack import documents
from trials.cloud.images.archive import NAME
from trials.cloud.images.prepare import prepare
from trials.services import testbed

IMAGE = "quay.io/openstack.kolla/memcached:2026.1-debian-trixie"
CONFIGURATION = "/var/lib/kolla/config_files/config.json"


@pytest.fixture(scope="module")
def archive() -> Path:
    """The archive with the image."""
    try:
        testbed.check()
        return prepare([IMAGE], Reporter()).archive
    except (testbed.Unavailable, UserError) as reason:
        pytest.skip(str(reason))


def unpack(archive: Path, root: Path) -> dict[str, str]:
    """Writes the image's layers over each other, as containerd does; returns its environment."""
    with tarfile.open(archive) as content:

        def blob(digest: str) -> bytes:
            file = content.extractfile(f"blobs/{digest.replace(':', '/')}")
            assert file
            return file.read()

        index = content.extractfile("index.json")
        assert index
        (described,) = json.loads(index.read())["manifests"]
        assert described["annotations"][NAME] == IMAGE
        manifest = json.loads(blob(described["digest"]))
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(blob(layer["digest"]))) as files:
                for entry in files:
                    path = root / entry.name
                    if path.name == ".wh..wh..opq":
                        assert not list(path.parent.iterdir()), "the directory is new, or a layer emptied it"
                    elif path.name.startswith(".wh."):
                        path.with_name(path.name.removeprefix(".wh.")).unlink()
                    else:
                        files.extract(entry, root, numeric_owner=True, filter="fully_trusted")
        settings = json.loads(blob(manifest["config"]["digest"]))["config"]
    assert settings["Entrypoint"] + settings["Cmd"] == ["dumb-init", "--single-child", "--", "kolla_start"]
    assert settings["User"] == "memcached"
    return dict(variable.split("=", 1) for variable in settings["Env"])


@pytest.mark.heavy
def test_the_rendered_workload_starts(archive: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    environment = unpack(archive, root) | {"KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS"}
    rendered = {each["metadata"]["name"]: each for each in documents("dev") if each["kind"] == "ConfigMap"}
    configuration = root / CONFIGURATION.lstrip("/")
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(rendered["memcached-kolla"]["data"]["config.json"], encoding="utf-8")
    os.mknod(root / "dev/null", 0o20000, os.makedev(1, 3))
    (root / "dev/null").chmod(0o666)
    # The account has Kolla's number, which the pod's volumes have as their group.
    start = ["timeout", "5", "chroot", "--userspec=42457:42457", "--groups=42457,42400", root, "kolla_start"]
    done = subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--kill-child", *start],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    command = json.loads(configuration.read_text(encoding="utf-8"))["command"]
    assert f"Running command: '{command}'" in done.stdout, done.stderr
    assert done.returncode == 124, f"memcached ended by itself: {done.stderr}"
