"""A stack's file, its kind, and its directories under build/.

Pulumi writes the salt of the passphrase into the stack file that it is given. The commands give it a copy under build/,
so that they never change a stack file of the repository.
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

from blueprint.stackfile.loader import SETTINGS_FILE, load_file
from commands import build_directory
from contract import STACK_NAME
from files import atomic, text_file, yaml_reader
from toolchain.install import STATE
from toolchain.progress import UserError

ROOT_SECRET = "quorate:rootSecret"  # noqa: S105 - a key, not a value

LARGEST_CONFIGURATION = 32_000
"""Bytes. Pulumi gives a stack's configuration to every process as one environment variable, of at most 128 KiB on Linux
and with quotation marks escaped. A larger configuration reaches the program by file."""


@dataclass(frozen=True)
class Stack:
    """A stack whose settings are valid."""

    name: str
    file: Path
    profile: str
    target: str
    secrets_provider: str | None = None
    """The key service that encrypts the secrets, if it is not a passphrase."""
    has_secrets: bool = False
    """Whether its file contains encrypted secrets."""

    @property
    def is_disposable(self) -> bool:
        """Whether it is a rendered lab: deleting it loses nothing that a run cannot render again."""
        return self.profile == "lab" and self.target == "render"

    @property
    def can_generate_secrets(self) -> bool:
        """Whether a passphrase and a root secret can be generated: a rendered lab that has none of its own."""
        return self.is_disposable and not self.has_secrets and self.secrets_provider is None


def find(root: Path, name: str) -> Path:
    """The file of a stack: at the top, or one of the examples."""
    if not is_name(name):
        raise UserError(
            f"{name!r} is not a valid stack name; use up to 100 letters, digits, '-', '_' and '.', "
            "with a letter or a digit first."
        )
    for candidate in places(root, name):
        if candidate.is_file():
            return candidate
    raise UserError(
        f"There is no stack {name}: neither Pulumi.{name}.yaml nor examples/{name}.yaml exists.\n"
        f"Stacks: {', '.join(names(root)) or 'none yet'}. Choose one with STACK=… or --stack."
    )


def is_name(text: str) -> bool:
    """Whether a text is a valid stack name."""
    return re.fullmatch(STACK_NAME, text) is not None


def places(root: Path, name: str) -> tuple[Path, ...]:
    """The files that can describe a stack, in the order of precedence."""
    return root / f"Pulumi.{name}.yaml", root / "examples" / f"{name}.yaml"


def names(root: Path) -> list[str]:
    """Every stack that has a file and a valid name."""
    tops = (path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in root.glob("Pulumi.*.yaml"))
    examples = (path.stem for path in (root / "examples").glob("*.yaml"))
    return sorted(filter(is_name, {*tops, *examples}))


def load(root: Path, name: str) -> Stack:
    """Loads a stack. Raises InvalidStackError if its settings are invalid."""
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
    try:
        document: object = yaml_reader.load(text_file.read(file))
    except (text_file.UnreadableError, yaml_reader.YamlError) as error:
        raise UserError(f"{file} cannot be read: {error}. Fix the file.") from None
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
    def engine_record(self) -> Path:
        """Identity of the engine that runs on the stack, or that was killed while it ran."""
        return self.directory / ".engine.json"

    @property
    def tree_index(self) -> Path:
        """What the last completed `up` rendered (commands/tree_index.py)."""
        return self.directory / ".tree-index.json"

    @property
    def state_directory(self) -> Path | None:
        """The backend, if it is a directory of this machine."""
        parts = urlsplit(self.backend)
        return Path(unquote(parts.path)) if parts.scheme == "file" and not parts.netloc else None

    @property
    def state_file(self) -> Path | None:
        """The stack's state, if the backend is a directory of this machine."""
        if self.state_directory is None:
            return None
        name = str(read_document(self.root / "Pulumi.yaml")["name"])
        return self.state_directory / ".pulumi" / "stacks" / name / f"{self.stack}.json"

    @property
    def has_state(self) -> bool:
        return self.state_file is not None and self.state_file.exists()

    def prepare(self, source: Path, *, keep_secrets: bool) -> None:
        """Writes the working copy of the stack file.

        Secrets that cannot be decrypted are left out, because an encrypted value would stop the engine. A salt without
        encrypted values is left out as well: it belongs to an earlier passphrase, and the state contains its own.
        """
        build_directory.make(self.directory)
        atomic.write(self.project / "Pulumi.yaml", (self.root / "Pulumi.yaml").read_text(encoding="utf-8"))
        document = read_document(source)
        if not keep_secrets:
            document = without_secrets(document)
        elif not any(is_encrypted(value) for value in config_of(document).values()):
            document.pop("encryptionsalt", None)
        text = _to_yaml(document)
        if len(text.encode()) > LARGEST_CONFIGURATION:
            text = _to_yaml(self._with_settings_file(document))
        atomic.write(self.stack_file, text)

    def _with_settings_file(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Moves the settings into a file of their own, without those that the engine decrypts."""
        config = config_of(document)
        moved = {key for key, value in config.items() if key.startswith("quorate:") and not is_encrypted(value)}
        file = self.project / "settings.yaml"
        atomic.write(file, _to_yaml({"config": {key: config[key] for key in moved}}))
        kept = {key: value for key, value in config.items() if key not in moved}
        # Relative to the program's directory.
        return {**document, "config": {**kept, f"quorate:{SETTINGS_FILE}": os.path.relpath(file, self.root)}}


def _to_yaml(document: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)


def main_workspace(root: Path, stack: str, environment: Mapping[str, str]) -> Workspace:
    """The stack's workspace. Its state is in the clone, unless PULUMI_BACKEND_URL names another backend."""
    backend = environment.get("PULUMI_BACKEND_URL") or default_backend(root)
    return Workspace(root, stack, root / "build" / stack, backend)


def default_backend(root: Path) -> str:
    """The clone's own state directory."""
    return (root / STATE).as_uri()


@contextmanager
def temporary_workspace(root: Path, stack: str) -> Generator[Workspace]:
    """A workspace with a temporary state, deleted afterwards."""
    build = root / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".scratch-", dir=build) as name:
        directory = build_directory.make(Path(name))
        (directory / "state").mkdir()
        yield Workspace(root, stack, directory, (directory / "state").as_uri())


def without_secrets(document: Mapping[str, Any]) -> dict[str, Any]:
    """A stack file without its encrypted values and the keys that belong to them."""
    encryption = ("encryptionsalt", "encryptedkey", "secretsprovider")
    return {
        **{key: value for key, value in document.items() if key not in encryption},
        "config": {key: value for key, value in config_of(document).items() if not is_encrypted(value)},
    }


def config_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """A stack file's configuration, in all namespaces."""
    return cast("dict[str, Any]", document.get("config") or {})


def is_encrypted(value: object) -> bool:
    """Whether a configuration value is one that `pulumi config set --secret` wrote."""
    return isinstance(value, dict) and set(cast("dict[str, Any]", value)) == {"secure"}
