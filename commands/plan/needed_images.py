"""`quorate images`: prints every image and archive of a stack, or a script that copies the images to a registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from blueprint.plan.plan import Plan
from commands import stack
from console.errors import UserError
from formats import image_reference
from openstack.downloads import NeededImage, needed_archives, needed_images, unlisted_manifest

VERSION = 1
"""Version of the JSON document, raised with every change that a reader of the old format would misread."""


def show(root: Path, name: str, *, as_json: bool) -> int:
    """Prints the images and archives of a stack."""
    made = stack.load(root, name).plan
    print(_as_json(name, made) if as_json else "\n".join(_as_text(made)))
    return 0


def show_copies(root: Path, name: str, registry: str) -> int:
    """Prints a script that copies a stack's images to a registry, which may have a path.

    Raises UserError if the registry is not valid.
    """
    if not image_reference.parse(f"{registry}/x").is_valid:
        raise UserError(
            f"--copy {registry!r} is not a registry; write its host, and port and path where needed, such as "
            "registry.example.org:5000/quorate"
        )
    made = stack.load(root, name).plan
    print("#!/bin/sh\n# Copies every image, for all kinds of processors, with its digest.\nset -eu")
    for target, source in copies(needed_images(made), registry).items():
        print(f"skopeo copy --all --preserve-digests docker://{source} docker://{target}")
    if url := unlisted_manifest(made):
        print(f"# Not known, and not copied: the images in Calico's manifest {url}")
    return 0


def copies(images: tuple[NeededImage, ...], registry: str) -> dict[str, str]:
    """Returns the source of each image by its place in the registry. An image that is there already is left out.

    What is pinned is copied by its digest, since a tag may have moved, and gets its tag, since registries may delete
    what has none. skopeo takes one of both only.
    """
    by_target: dict[str, str] = {}
    for image in images:
        source = image_reference.parse(image.source)
        digest = source.digest or image.digest
        tag = f":{source.tag}" if source.tag else f"@{digest}" if digest else ":latest"
        target = f"{registry}/{source.path}{tag}"
        if not source.repository.startswith(f"{registry}/") and (digest or target not in by_target):
            by_target[target] = f"{source.repository}@{digest}" if digest else f"{source.repository}{tag}"
    return by_target


def _as_json(name: str, made: Plan) -> str:
    document = {
        "version": VERSION,
        "stack": name,
        "images": [
            {"image": each.reference, "source": each.source, "digest": each.digest or None, "users": list(each.users)}
            for each in needed_images(made)
        ],
        "archives": [{"name": each.name, "url": each.url, "sha256": each.sha256} for each in needed_archives(made)],
        "manifestWithUnknownImages": unlisted_manifest(made),
    }
    return json.dumps(document, indent=2)


def _as_text(made: Plan) -> Iterator[str]:
    images = needed_images(made)
    width = max(len(each.reference) for each in images)
    yield f"{'IMAGE':<{width}}  USED BY"
    yield from (f"{each.reference:<{width}}  {', '.join(each.users)}" for each in images)
    if archives := needed_archives(made):
        yield ""
        yield "ARCHIVE  URL  SHA-256"
        yield from (f"{each.name}  {each.url}  {each.sha256}" for each in archives)
    if url := unlisted_manifest(made):
        yield ""
        yield f"Calico's images are those of the stack's own manifest, {url}, which Quorate has not read."
