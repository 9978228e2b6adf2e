"""Packs trees as layers of images, and images as an OCI archive that `ctr images import` reads.

The same tree makes the same layer, byte for byte, and the same images the same archive. Layers that images share are in
the archive once.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import stat
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

NAME = "io.containerd.image.name"
"""Annotation with an image's full name, which containerd takes as it is."""
_TYPE = "application/vnd.oci.image."
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_CAPABILITIES = "security.capability"
_FAST = 1
"""Level of gzip: layers are packed once and unpacked once, on one machine."""


class UnsupportedFileError(Exception):
    """A file in a tree that no layer can hold."""


@dataclass(frozen=True)
class ImageLayer:
    """A packed layer."""

    path: Path
    digest: str
    """SHA-256 of the file."""
    size: int
    """Bytes of the file."""
    diff_id: str
    """SHA-256 of the archive before compression."""


@dataclass(frozen=True)
class Image:
    """An image: its full name, its layers from the lowest, and the `config` object of its configuration."""

    name: str
    layers: Sequence[ImageLayer]
    settings: Mapping[str, Any]


class _Hashed(io.RawIOBase):
    """Writes to a file, and computes size and SHA-256 of what is written."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self.hash = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.hash.update(data)
        self.size += len(data)
        self._target.write(data)
        return len(data)


def pack(tree: Path, path: Path) -> dict[str, str | int]:
    """Packs a tree, the upper directory of an overlay, and returns the facts of its Layer.

    The overlay's whiteouts become those of OCI. Files keep their capabilities. Raises
    UnsupportedFileError for a file whose name means a whiteout.
    """
    with path.open("wb") as file:
        outer = _Hashed(file)
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_FAST, fileobj=outer, mtime=0) as compressed:
            inner = _Hashed(compressed)  # pyright: ignore[reportArgumentType] - it has `write`
            with tarfile.open(fileobj=inner, mode="w|", format=tarfile.PAX_FORMAT) as layer:
                for source, entry in _entries(layer, tree):
                    if source is None:
                        layer.addfile(entry)
                    else:
                        with source.open("rb") as content:
                            layer.addfile(entry, content)
    return {"digest": outer.hash.hexdigest(), "size": outer.size, "diff_id": inner.hash.hexdigest()}


def _entries(layer: tarfile.TarFile, tree: Path) -> Iterator[tuple[Path | None, tarfile.TarInfo]]:
    """Yields each entry of a layer, and the file with its content if it has any."""
    for folder, directories, files in os.walk(tree):
        directories.sort()
        place = Path(folder)
        if place != tree:
            yield None, _entry(layer, place, tree)
        if _attribute(place, "trusted.overlay.opaque") == b"y":
            yield None, _empty(place.relative_to(tree) / _OPAQUE)
        links = [name for name in directories if (place / name).is_symlink()]
        for name in sorted([*files, *links]):
            path = place / name
            status = path.lstat()
            if name.startswith(_WHITEOUT):
                raise UnsupportedFileError(f"{path.relative_to(tree)}: its name would delete another file")
            if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                yield None, _empty(place.relative_to(tree) / f"{_WHITEOUT}{name}")
            elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                entry = _entry(layer, path, tree)
                yield path if entry.isreg() else None, entry


def _entry(layer: tarfile.TarFile, path: Path, tree: Path) -> tarfile.TarInfo:
    entry = layer.gettarinfo(path, str(path.relative_to(tree)))
    entry.uname = entry.gname = ""
    entry.mtime = int(entry.mtime)
    if capabilities := _attribute(path, _CAPABILITIES):
        entry.pax_headers = {f"SCHILY.xattr.{_CAPABILITIES}": capabilities.decode("utf-8", "surrogateescape")}
    return entry


def _empty(path: Path) -> tarfile.TarInfo:
    return tarfile.TarInfo(str(path))


def _attribute(path: Path, name: str) -> bytes:
    try:
        return os.getxattr(path, name, follow_symlinks=False)
    except OSError:
        return b""


def write(path: Path, images: Sequence[Image]) -> None:
    """Writes an OCI archive of images."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as target:
        written: set[str] = set()
        entries = [_add_image(target, written, image) for image in images]
        _add(target, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(target, "index.json", _json({"schemaVersion": 2, "manifests": entries}))


def _add_image(target: tarfile.TarFile, written: set[str], image: Image) -> dict[str, Any]:
    machine = platform.machine()
    system = {"architecture": _ARCHITECTURES.get(machine, machine), "os": "linux"}
    ids = [f"sha256:{layer.diff_id}" for layer in image.layers]
    configuration = {**system, "config": dict(image.settings), "rootfs": {"type": "layers", "diff_ids": ids}}
    layers: list[dict[str, Any]] = []
    for layer in image.layers:
        layers.append(
            {"mediaType": f"{_TYPE}layer.v1.tar+gzip", "digest": f"sha256:{layer.digest}", "size": layer.size}
        )
        if layer.digest not in written:
            entry = _plain(f"blobs/sha256/{layer.digest}", layer.size)
            with layer.path.open("rb") as content:
                target.addfile(entry, content)
            written.add(layer.digest)
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_TYPE}manifest.v1+json",
        "config": _blob(target, written, "config.v1+json", _json(configuration)),
        "layers": layers,
    }
    described = _blob(target, written, "manifest.v1+json", _json(manifest))
    return {**described, "platform": system, "annotations": {NAME: image.name}}


def _blob(target: tarfile.TarFile, written: set[str], kind: str, content: bytes) -> dict[str, Any]:
    found = hashlib.sha256(content).hexdigest()
    if found not in written:
        _add(target, f"blobs/sha256/{found}", content)
        written.add(found)
    return {"mediaType": f"{_TYPE}{kind}", "digest": f"sha256:{found}", "size": len(content)}


def _add(target: tarfile.TarFile, name: str, content: bytes) -> None:
    target.addfile(_plain(name, len(content)), io.BytesIO(content))


def _plain(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True).encode()
