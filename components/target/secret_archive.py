"""Packs secret files for the standard input of a command on a machine."""

from __future__ import annotations

import base64
import io
import tarfile
from collections.abc import Mapping, Sequence

import pulumi


def archive(secrets: Mapping[str, str | pulumi.Output[str]]) -> pulumi.Output[str]:
    """Returns secret files as a tar archive in base64, a Pulumi secret. It is the same for the same content."""
    paths = sorted(secrets)

    def pack(texts: Sequence[str]) -> str:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as packing:
            for path, text in zip(paths, texts, strict=True):
                content = text.encode()
                entry = tarfile.TarInfo(path.lstrip("/"))
                entry.size, entry.mode = len(content), 0o600
                packing.addfile(entry, io.BytesIO(content))
        return base64.encodebytes(packed.getvalue()).decode()

    return pulumi.Output.secret(pulumi.Output.all(*(secrets[path] for path in paths)).apply(pack))
