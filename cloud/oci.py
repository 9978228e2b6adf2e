"""Writes images as an OCI archive, which `ctr images import` reads: one layer for each directory or set of files."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_TYPE = "application/vnd.oci.image.{}"
NAME = "io.containerd.image.name"


@dataclass(frozen=True)
class Image:
    """An image: its full name, its files, and the `config` object of the image's configuration."""

    name: str
    files: Mapping[str, Path]
    """Files of the host by their path in the image; a directory is copied with everything in it."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further text files by path; executable if they begin with `#!`."""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])


def write(path: Path, images: Sequence[Image]) -> None:
    """Writes an archive. The same images make the same archive."""
    unfinished = path.with_name(path.name + ".unfinished")
    with tarfile.open(unfinished, "w") as archive:
        written: set[str] = set()
        manifests = [_add_image(archive, written, image, path.parent) for image in images]
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _json({"schemaVersion": 2, "manifests": manifests}))
    unfinished.replace(path)


def _add_image(archive: tarfile.TarFile, written: set[str], image: Image, scratch: Path) -> dict[str, Any]:
    layer = scratch / "layer.unfinished"
    try:
        _write_layer(layer, image)
        with layer.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        size = layer.stat().st_size
        if found not in written:
            archive.add(layer, f"blobs/sha256/{found}", filter=_plain)
            written.add(found)
    finally:
        layer.unlink(missing_ok=True)
    machine = platform.machine()
    system = {"architecture": _ARCHITECTURES.get(machine, machine), "os": "linux"}
    configuration = {
        **system,
        "config": dict(image.config),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{found}"]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _TYPE.format("manifest.v1+json"),
        "config": _blob(archive, written, "config.v1+json", _json(configuration)),
        "layers": [{"mediaType": _TYPE.format("layer.v1.tar"), "digest": f"sha256:{found}", "size": size}],
    }
    entry = _blob(archive, written, "manifest.v1+json", _json(manifest))
    return {**entry, "platform": system, "annotations": {NAME: image.name}}


def _write_layer(path: Path, image: Image) -> None:
    with tarfile.open(path, "w") as layer:
        for target, source in sorted(image.files.items()):
            layer.add(source, target.lstrip("/") or ".", filter=_plain)
        for target, text in sorted(image.texts.items()):
            _add(layer, target.lstrip("/"), text.encode(), 0o755 if text.startswith("#!") else 0o644)


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Removes what differs from run to run; leaves out devices, which the runtime creates."""
    entry.mtime = 0
    return None if entry.isdev() else entry


def _blob(archive: tarfile.TarFile, written: set[str], kind: str, content: bytes) -> dict[str, Any]:
    found = hashlib.sha256(content).hexdigest()
    if found not in written:
        _add(archive, f"blobs/sha256/{found}", content)
        written.add(found)
    return {"mediaType": _TYPE.format(kind), "digest": f"sha256:{found}", "size": len(content)}


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True).encode()
