"""Tests of image layers and archives: the same tree gives the same bytes, and nothing is lost, including deletions."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from trials.cloud.images import archive
from trials.cloud.images.archive import NAME, Image, ImageLayer, UnsupportedFileError


def tree(place: Path) -> Path:
    """A small tree: files, a hard link, a symbolic link to a directory, an empty directory, a long name."""
    (place / "etc/empty").mkdir(parents=True)
    (place / "etc/file").write_text("text\n", encoding="utf-8")
    (place / "etc/file").chmod(0o640)
    os.link(place / "etc/file", place / "etc/second")
    (place / "usr/bin").mkdir(parents=True)
    (place / "bin").symlink_to("usr/bin")
    (place / "usr/bin/program").write_bytes(b"#!/bin/sh\n")
    (place / "usr/bin/program").chmod(0o4755)
    (place / "usr" / ("long-" * 30)).write_text("x", encoding="utf-8")
    for path in [*place.rglob("*")]:
        os.utime(path, (1_700_000_000.5, 1_700_000_000.5), follow_symlinks=False)
    return place


def packed(place: Path, path: Path) -> ImageLayer:
    facts: dict[str, Any] = dict(archive.pack(place, path))
    return ImageLayer(path=path, **facts)


def unpacked(layer: ImageLayer) -> tarfile.TarFile:
    content = gzip.decompress(layer.path.read_bytes())
    assert hashlib.sha256(content).hexdigest() == layer.diff_id
    return tarfile.open(fileobj=io.BytesIO(content))


def test_a_layer_holds_the_tree(tmp_path: Path) -> None:
    layer = packed(tree(tmp_path / "tree"), tmp_path / "layer")
    assert layer.size == layer.path.stat().st_size
    assert layer.digest == hashlib.sha256(layer.path.read_bytes()).hexdigest()
    entries = {entry.name: entry for entry in unpacked(layer)}
    assert set(entries) == {
        "bin", "etc", "etc/empty", "etc/file", "etc/second", "usr", "usr/bin", "usr/bin/program", f"usr/{'long-' * 30}",
    }  # fmt: skip
    assert entries["bin"].linkname == "usr/bin"
    assert entries["etc/second"].linkname == "etc/file"
    assert entries["etc/file"].mode == 0o640
    assert entries["usr/bin/program"].mode == 0o4755
    program = unpacked(layer).extractfile("usr/bin/program")
    assert program
    assert program.read() == b"#!/bin/sh\n"


def test_the_same_tree_makes_the_same_layer(tmp_path: Path) -> None:
    first = packed(tree(tmp_path / "one"), tmp_path / "layer-1")
    second = packed(tree(tmp_path / "two"), tmp_path / "layer-2")
    assert first.path.read_bytes() == second.path.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices and trusted attributes")
def test_deletions_become_whiteouts(tmp_path: Path) -> None:
    place = tree(tmp_path / "tree")
    os.mknod(place / "etc/gone", 0o20000, os.makedev(0, 0))
    os.mknod(place / "etc/device", 0o20600, os.makedev(1, 3))
    os.setxattr(place / "etc/empty", "trusted.overlay.opaque", b"y")
    names = unpacked(packed(place, tmp_path / "layer")).getnames()
    assert "etc/.wh.gone" in names
    assert "etc/empty/.wh..wh..opq" in names
    assert names.index("etc/empty") < names.index("etc/empty/.wh..wh..opq")
    assert not {"etc/gone", "etc/device"} & set(names)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives capabilities")
def test_capabilities_are_kept(tmp_path: Path) -> None:
    place = tree(tmp_path / "tree")
    net_raw = bytes.fromhex("0100000200200000000000000000000000000000")
    os.setxattr(place / "usr/bin/program", "security.capability", net_raw)
    headers = unpacked(packed(place, tmp_path / "layer")).getmember("usr/bin/program").pax_headers
    assert headers["SCHILY.xattr.security.capability"].encode() == net_raw


def test_a_file_that_would_read_as_a_deletion_is_refused(tmp_path: Path) -> None:
    place = tree(tmp_path / "tree")
    (place / "etc/.wh.file").touch()
    with pytest.raises(UnsupportedFileError, match=r"etc/\.wh\.file"):
        archive.pack(place, tmp_path / "layer")


def read(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as content:
        members = content.getmembers()
        assert len({each.name for each in members}) == len(members)
        return {each.name: file.read() for each in members if (file := content.extractfile(each))}


def test_an_archive_has_every_image_and_each_layer_once(tmp_path: Path) -> None:
    base = packed(tree(tmp_path / "base"), tmp_path / "base.tar.gz")
    (tmp_path / "top").mkdir()
    (tmp_path / "top/more").write_text("more", encoding="utf-8")
    top = packed(tmp_path / "top", tmp_path / "top.tar.gz")
    images = [
        Image("quay.io/a/one:1", (base, top), {"User": "x"}),
        Image("quay.io/a/two:1", (base,), {}),
        Image("quay.io/a/same:1", (base,), {}),
    ]
    archive.write(tmp_path / "images.tar", images)
    archive.write(tmp_path / "again.tar", images)
    assert (tmp_path / "images.tar").read_bytes() == (tmp_path / "again.tar").read_bytes()
    content = read(tmp_path / "images.tar")
    assert json.loads(content["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    for name, blob in content.items():
        if name.startswith("blobs/sha256/"):
            assert hashlib.sha256(blob).hexdigest() == name.rpartition("/")[2]
    manifests = {each["annotations"][NAME]: each for each in json.loads(content["index.json"])["manifests"]}
    assert list(manifests) == [image.name for image in images]
    assert manifests["quay.io/a/two:1"]["digest"] == manifests["quay.io/a/same:1"]["digest"]
    for image in images:
        _check_image(content, manifests[image.name], image)


def _check_image(content: dict[str, bytes], described: dict[str, Any], image: Image) -> None:
    def blob(descriptor: dict[str, Any]) -> bytes:
        found = content[f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}"]
        assert len(found) == descriptor["size"]
        return found

    manifest = json.loads(blob(described))
    configuration = json.loads(blob(manifest["config"]))
    assert configuration["config"] == image.settings
    assert configuration["os"] == "linux"
    ids = [f"sha256:{hashlib.sha256(gzip.decompress(blob(layer))).hexdigest()}" for layer in manifest["layers"]]
    assert configuration["rootfs"] == {"type": "layers", "diff_ids": ids}
    assert ids == [f"sha256:{layer.diff_id}" for layer in image.layers]
