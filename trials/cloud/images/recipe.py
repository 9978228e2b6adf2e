"""Recipes of images as data: which parent, packages, account, scripts and settings an image has.

recipes.yaml lists them under Kolla's names. A recipe adds one layer to its parent's, so that images share layers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from files.yaml_reader import YamlError, read
from formats.image_reference import parse

FILE = Path(__file__).parent / "recipes.yaml"
OWN_FILES = Path(__file__).parent / "files"
"""Files of this project that recipes copy."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$")]
Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]
Absolute = Annotated[str, StringConstraints(pattern=r"^(?:/[A-Za-z0-9_.-]+)+$")]
Relative = Annotated[str, StringConstraints(pattern=r"^[\w-][\w.-]*(?:/[\w-][\w.-]*)*$")]


class RecipeError(Exception):
    """recipes.yaml cannot be used. The message lists every reason."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Account(_Model):
    """The service's account. Kolla's list of users has its number; every account is in the group `kolla`."""

    name: Name
    home: Absolute
    groups: list[Name] = []
    number: int | None = None
    """User and group number of an account that Kolla does not have."""


class Recipe(_Model):
    """What an image adds to its parent. Entrypoint, user and environment are inherited unless a recipe sets them."""

    parent: Name | None = None
    packages: list[Package] = []
    """Debian packages, without those that they recommend."""
    account: Account | None = None
    scripts: dict[Absolute, Relative] = {}
    """Destination in the image, and the file below `docker/` of Kolla's package."""
    files: dict[Absolute, Relative] = {}
    """Destination in the image, and the file below trials/cloud/images/files."""
    setup: str = ""
    """Shell commands that run in the image at the end, with `set -eu`."""
    entrypoint: list[str] | None = None
    command: list[str] | None = None
    user: str | None = None
    """Account that runs the image; an empty text is root."""
    environment: dict[str, str] = {}
    reference: str = ""
    """Full name of the image, if it is not one of Kolla's."""
    stand_in: str = ""
    """How the image differs from the one whose name it has, if it is another program or misses a part."""


class ImageCatalogue(_Model):
    """All recipes."""

    repository: str
    """Registry and namespace of Kolla's images."""
    tag: str
    """Tag of Kolla's images that the recipes stand for: release, distribution and its version."""
    images: dict[Name, Recipe] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_a_tree(self) -> ImageCatalogue:
        problems = [f"{name}: the parent '{recipe.parent}' has no recipe" for name, recipe in self._orphans()]
        roots = [name for name, recipe in self.images.items() if recipe.parent is None]
        if len(roots) != 1:
            problems.append(f"one recipe has no parent, the root of all; found {', '.join(roots) or 'none'}")
        if not problems:
            problems = [f"{name}: is its own ancestor" for name in self.images if not self._ends(name)]
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _orphans(self) -> Iterator[tuple[str, Recipe]]:
        return ((n, each) for n, each in self.images.items() if each.parent and each.parent not in self.images)

    def _ends(self, name: str) -> bool:
        seen: set[str] = set()
        current: str | None = name
        while current is not None and current not in seen:
            seen.add(current)
            current = self.images[current].parent
        return current is None

    def chain(self, name: str) -> tuple[str, ...]:
        """Returns the recipes of an image's layers, the root first, the image itself last."""
        parent = self.images[name].parent
        return (*(self.chain(parent) if parent else ()), name)

    def reference(self, name: str) -> str:
        """Returns the full name of an image."""
        return self.images[name].reference or f"{self.repository}/{name}:{self.tag}"

    def named(self, reference: str) -> str | None:
        """Returns the recipe of an image reference; None if there is none. The registry is of no importance."""
        parts = parse(reference)
        if not parts.is_valid or parts.digest or parts.name not in self.images:
            return None
        return parts.name if parts.tag == parse(self.reference(parts.name)).tag else None

    def settings(self, name: str) -> dict[str, Any]:
        """Returns the `config` of an image in the form of the OCI specification."""
        chain = [self.images[each] for each in self.chain(name)]
        environment: dict[str, str] = {}
        for recipe in chain:
            environment |= recipe.environment
        made: dict[str, Any] = {"Env": [f"{key}={value}" for key, value in sorted(environment.items())]}
        for field, key in (("entrypoint", "Entrypoint"), ("command", "Cmd"), ("user", "User")):
            values: list[object] = [getattr(recipe, field) for recipe in chain if getattr(recipe, field) is not None]
            if values and values[-1]:
                made[key] = values[-1]
        return made


def digest(recipe: Recipe, *more: bytes) -> str:
    """Returns a digest of what a layer is made from: packages, the project's files, and `more`, such as its script."""
    made_of = hashlib.sha256(json.dumps(recipe.packages).encode())
    for content in (*(read_own(source) for _, source in sorted(recipe.files.items())), *more):
        made_of.update(hashlib.sha256(content).digest())
    return made_of.hexdigest()[:16]


def read_own(source: str) -> bytes:
    """Returns a file of the project that a recipe copies."""
    return (OWN_FILES / source).read_bytes()


def parse_catalogue(text: str) -> ImageCatalogue:
    """Returns the recipes of a file. Raises RecipeError with every reason why it cannot be used."""
    try:
        document = read(text)
        twice = [f"line {twin.line}: the key '{twin.path}' is there twice" for twin in document.twins]
        if twice:
            raise RecipeError("\n".join(twice))
        return ImageCatalogue.model_validate(cast("Mapping[str, object]", document.value))
    except (YamlError, yaml.YAMLError) as error:
        raise RecipeError(f"not valid YAML: {error}") from None
    except ValidationError as error:
        lines = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise RecipeError("\n".join(re.sub(r"^: (?:Value error, )?", "", line) for line in lines)) from None


@cache
def catalogue() -> ImageCatalogue:
    """Returns the recipes of this project."""
    return parse_catalogue(FILE.read_text(encoding="utf-8"))
