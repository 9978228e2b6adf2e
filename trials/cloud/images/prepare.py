"""Makes the images that a stack's objects name, as one archive for containerd."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from console.errors import UserError
from console.progress import Reporter
from toolchain.engine import cache_directory
from toolchain.install import alone
from trials.cloud.images import archive, kolla
from trials.cloud.images.archive import Image
from trials.cloud.images.layers import Builder
from trials.cloud.images.recipe import ImageCatalogue, catalogue

SPACE = 8 * 2**30
"""Bytes of disk that all layers with their trees and the archive need, with some to spare."""


@dataclass(frozen=True)
class Prepared:
    """Images that are ready to be imported."""

    archive: Path
    """OCI archive; preparing a different set of images overwrites it."""
    images: tuple[str, ...]
    stand_ins: Mapping[str, str]
    """Images whose content is another program than their name says, or misses a part."""


def prepare(references: Iterable[str], reporter: Reporter) -> Prepared:
    """Makes images of these names; only what the cache does not have is built.

    Raises UserError with every name that has no recipe, or if the machine cannot build images.
    """
    recipes = catalogue()
    wanted = by_recipe(references, recipes)
    home = cache_directory(os.environ) / "images"
    with alone(home, reporter):
        _check_machine(home)
        builder = Builder(recipes, kolla.ensure(reporter), home / "layers", reporter)
        builder.cache.mkdir(exist_ok=True)
        layers = builder.layers(dict.fromkeys(wanted.values()))
        images = [Image(name, layers[recipe], recipes.settings(recipe)) for name, recipe in wanted.items()]
        path = _archive(home / "archives", images)
    stand_ins = {name: recipes.images[recipe].stand_in for name, recipe in wanted.items()}
    return Prepared(path, tuple(wanted), {name: text for name, text in stand_ins.items() if text})


def by_recipe(references: Iterable[str], recipes: ImageCatalogue) -> dict[str, str]:
    """Returns the recipe of each image, by reference. Raises UserError with every name that has none."""
    names = sorted(set(references))
    wanted = {name: recipe for name in names if (recipe := recipes.named(name))}
    unknown = [name for name in names if name not in wanted]
    if unknown:
        listed = "\n".join(f"    {name}" for name in unknown)
        raise UserError(
            f"No recipe makes these images:\n{listed}\n"
            f"Recipes are for Kolla's images of tag {recipes.tag} without digest (trials/cloud/images/recipes.yaml). "
            "Name images of that tag in the stack file, or add recipes."
        )
    return wanted


def _check_machine(home: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise UserError("Images are made by root on a machine with apt only.")
    free = shutil.disk_usage(home).free
    if free < SPACE and not (home / "layers").is_dir():
        raise UserError(f"Images need {SPACE >> 30} GiB of disk below {home}; {free >> 30} GiB are free.")


def _archive(directory: Path, images: list[Image]) -> Path:
    """Returns the archive of these images; writes it if it is not the last one that was written."""
    facts = repr(
        [(image.name, [layer.digest for layer in image.layers], sorted(image.settings.items())) for image in images]
    )
    path = directory / f"{hashlib.sha256(facts.encode()).hexdigest()[:16]}.tar"
    if not path.exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        partial = path.with_suffix(".partial")
        archive.write(partial, images)
        partial.rename(path)
    return path
