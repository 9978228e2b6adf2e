"""A stack as the commands see it: its file, what kind of stack it is, and its places under build/.

Pulumi writes into the stack file it is given (the salt of the passphrase). So the commands give it a copy under build/,
and a stack file in the repository changes only by its owner's hand.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import yaml

from blueprint.stackfile.loader import load_file
from toolchain.progress import UserError

ROOT_SECRET = "quorate:rootSecret"  # noqa: S105 - a key, not a value


@dataclass(frozen=True)
class Stack:
    """A stack that has passed the check of its settings."""

    name: str
    file: Path
    profile: str
    target: str
    secrets_provider: str | None = None
    """A key service that seals the secrets instead of a passphrase."""
    has_secrets: bool = False
    """Whether its owner has sealed secrets in its file."""

    @property
    def is_disposable(self) -> bool:
        """Whether a mistake costs nothing but a repeated run: a rendered lab."""
        return self.profile == "lab" and self.target == "render"

    @property
    def may_make_up_secrets(self) -> bool:
        """Whether it may be given a passphrase and a root secret: nobody has sealed anything that needs other ones."""
        return self.is_disposable and not self.has_secrets and self.secrets_provider is None


def find(root: Path, name: str) -> Path:
    """The file of a stack: at the top, or one of the examples."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name):
        raise UserError(f"{name!r} is no name for a stack: letters, digits, '-', '_' and '.' make one.")
    for candidate in places(root, name):
        if candidate.is_file():
            return candidate
    raise UserError(
        f"There is no stack {name}: neither Pulumi.{name}.yaml nor examples/{name}.yaml is there.\n"
        f"Stacks: {', '.join(names(root)) or 'none yet'}. Choose one with STACK=…"
    )


def places(root: Path, name: str) -> tuple[Path, ...]:
    """Where a stack's file may be."""
    return root / f"Pulumi.{name}.yaml", root / "examples" / f"{name}.yaml"


def names(root: Path) -> list[str]:
    """Every stack that has a file."""
    tops = (path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in root.glob("Pulumi.*.yaml"))
    return sorted({*tops, *(path.stem for path in (root / "examples").glob("*.yaml"))})


def load(root: Path, name: str) -> Stack:
    """A stack from its file, whose settings are sound."""
    file = find(root, name)
    settings = load_file(file)
    document = read_document(file)
    provider = document.get("secretsprovider")
    return Stack(
        name,
        file,
        settings.profile,
        settings.target,
        str(provider) if provider else None,
        any(is_encrypted(value) for value in config_of(document).values()),
    )


def read_document(file: Path) -> dict[str, Any]:
    """A stack file's whole YAML, Pulumi's own keys included; empty where there is none."""
    if not file.is_file():
        return {}
    document: object = yaml.safe_load(file.read_text(encoding="utf-8"))
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}


@dataclass(frozen=True)
class Workspace:
    """Where a stack's results, its working copy of the stack file and its state are kept."""

    root: Path
    stack: str
    directory: Path
    backend: str

    @property
    def project(self) -> Path:
        """A project directory of the same name, for engine commands that insist on a stack file beside it."""
        return self.directory / "project"

    @property
    def stack_file(self) -> Path:
        return self.project / f"Pulumi.{self.stack}.yaml"

    @property
    def passphrase_file(self) -> Path:
        return self.directory / ".passphrase"

    @property
    def root_secret_file(self) -> Path:
        return self.directory / ".root-secret"

    @property
    def state_directory(self) -> Path | None:
        """The backend, where it is a directory of this machine whose name can be read off its address."""
        parts = urlsplit(self.backend)
        return Path(unquote(parts.path)) if parts.scheme == "file" and not parts.netloc else None

    @property
    def state_file(self) -> Path | None:
        """The stack's state, where the backend is such a directory."""
        if self.state_directory is None:
            return None
        name = str(read_document(self.root / "Pulumi.yaml")["name"])
        return self.state_directory / ".pulumi" / "stacks" / name / f"{self.stack}.json"

    @property
    def has_state(self) -> bool:
        return self.state_file is not None and self.state_file.exists()

    def prepare(self, source: Path, *, keep_secrets: bool) -> None:
        """Writes the working copy of the stack file.

        Without its secrets where they cannot be opened: an encrypted value would only stop the engine. A salt with
        nothing sealed under it is left out as well: it is of a passphrase that plain `pulumi` was once run with, and
        the state knows its own.
        """
        self.project.mkdir(parents=True, exist_ok=True)
        _write(self.project / "Pulumi.yaml", (self.root / "Pulumi.yaml").read_text(encoding="utf-8"))
        document = read_document(source)
        if not keep_secrets:
            document = without_secrets(document)
        elif not any(is_encrypted(value) for value in config_of(document).values()):
            document.pop("encryptionsalt", None)
        _write(self.stack_file, yaml.safe_dump(document, sort_keys=False, allow_unicode=True))


def main_workspace(root: Path, stack: str, environment: Mapping[str, str]) -> Workspace:
    """The stack's own workspace; its state stands in the clone, unless the user's environment names a backend."""
    backend = environment.get("PULUMI_BACKEND_URL") or default_backend(root)
    return Workspace(root, stack, root / "build" / stack, backend)


def default_backend(root: Path) -> str:
    """The clone's own state directory."""
    return (root / "build" / "state").as_uri()


@contextmanager
def scratch_workspace(root: Path, stack: str) -> Generator[Workspace]:
    """A workspace that is gone afterwards: for a look at a stack whose state cannot be opened."""
    build = root / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="scratch-", dir=build) as name:
        directory = Path(name)
        (directory / "state").mkdir()
        yield Workspace(root, stack, directory, (directory / "state").as_uri())


def without_secrets(document: Mapping[str, Any]) -> dict[str, Any]:
    """A stack file without its encrypted values and what would open them."""
    sealing = ("encryptionsalt", "encryptedkey", "secretsprovider")
    return {
        **{key: value for key, value in document.items() if key not in sealing},
        "config": {key: value for key, value in config_of(document).items() if not is_encrypted(value)},
    }


def config_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """A stack file's configuration, in all namespaces."""
    return cast("dict[str, Any]", document.get("config") or {})


def is_encrypted(value: object) -> bool:
    """Whether a configuration value is one that `pulumi config set --secret` wrote."""
    return isinstance(value, dict) and set(cast("dict[str, Any]", value)) == {"secure"}


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
