"""A stack's file, its kind, and its directories under build/.

Pulumi writes the salt of the passphrase into its stack file. The commands run Pulumi on a copy under build/, so that
they never change a stack file of the repository. The copy names the stack file, and the program reads the settings
there: Pulumi passes the configuration to every process as one environment variable, which Linux limits to 128 KiB.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import yaml

from blueprint.openstack.given_secret import sealed_name
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile import given_secrets
from blueprint.stackfile.loader import COPIED, COPY, load_file
from blueprint.stackfile.settings import EXISTING, Settings
from commands import build_directory
from console.errors import UserError
from contract import STACK_NAME
from files import atomic, text_file, yaml_reader
from toolchain.install import STATE

ROOT_SECRET = "quorate:rootSecret"  # noqa: S105 - a key, not a value
TARGET = "quorate:target"
LARGEST_CONFIGURATION = 32_000
"""Maximum size in characters of the settings in a copy. Pulumi passes a configuration as one environment variable, with
quotation marks escaped; Linux limits it to 128 KiB."""

GENERATED = "generated"
"""Directory below build/<stack> for a stack file that a command generated (commands/trials/lab_commands.py)."""


@dataclass(frozen=True)
class Stack:
    """A stack on which Pulumi runs. Its settings may be those of an older commit, which are not validated."""

    name: str
    file: Path
    profile: str
    target: str
    machines: str = "managed"
    """`existing` if the servers are nodes of a running cluster."""
    secrets_provider: str | None = None
    """The key management service that encrypts the secrets; None if a passphrase encrypts them."""
    has_secrets: bool = False
    """Whether the stack file contains encrypted secrets."""

    @property
    def is_rendered(self) -> bool:
        """Whether `up` writes files only."""
        return self.target == "render"

    @property
    def sets_up_machines(self) -> bool:
        """Whether `up` sets the machines up over SSH, before it applies objects to their cluster."""
        return not self.is_rendered and self.machines != EXISTING

    @property
    def is_disposable(self) -> bool:
        """Whether the stack is a rendered lab, which can be deleted because a run renders all of it again."""
        return self.profile == "lab" and self.is_rendered

    @property
    def can_generate_secrets(self) -> bool:
        """Whether a passphrase and a root secret may be generated: only for a rendered lab without own secrets."""
        return self.is_disposable and not self.has_secrets and self.secrets_provider is None


@dataclass(frozen=True, kw_only=True)
class ValidStack(Stack):
    """A stack of the working tree whose settings are valid. A command loads it once and hands it on."""

    settings: Settings

    @cached_property
    def plan(self) -> Plan:
        """The plan of the stack. Raises InvalidStackError if there is none."""
        return plan(self.settings)

    @property
    def needs_libvirt(self) -> bool:
        """Whether the target live makes virtual machines with libvirt's provider."""
        return self.settings.virt is not None and self.settings.virt.image is not None and self.sets_up_machines

    @property
    def has_jump_host(self) -> bool:
        """Whether machines are reached through a jump host."""
        return self.settings.ssh.jump_host is not None


def find(root: Path, name: str) -> Path:
    """Returns the file of a stack. Raises UserError if the name is invalid or no file exists."""
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
    """Returns the paths at which a stack's file may exist, in order of precedence."""
    file = f"Pulumi.{name}.yaml"
    return root / file, root / "examples" / f"{name}.yaml", root / "build" / name / GENERATED / file


def names(root: Path) -> list[str]:
    """Returns the names of all stacks that have a file and a valid name, sorted."""
    tops = (path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in root.glob("Pulumi.*.yaml"))
    examples = (path.stem for path in (root / "examples").glob("*.yaml"))
    return sorted(filter(is_name, {*tops, *examples}))


def load(root: Path, name: str) -> ValidStack:
    """Loads a stack. Raises InvalidStackError if its settings are invalid."""
    file = find(root, name)
    settings = load_file(file)
    document = read_document(file)
    provider = document.get("secretsprovider")
    return ValidStack(
        name,
        file,
        settings.profile,
        settings.target,
        settings.machines,
        str(provider) if provider else None,
        bool(_encrypted_values(config_of(document))),
        settings=settings,
    )


def read_document(file: Path) -> dict[str, Any]:
    """Returns a stack file's YAML, including Pulumi's own keys; empty if the file is missing or not a mapping."""
    if not file.is_file():
        return {}
    try:
        document: object = yaml_reader.load(text_file.read(file))
    except (text_file.UnreadableError, yaml_reader.YamlError) as error:
        raise UserError(f"{file} cannot be read: {error}. Fix the file.") from None
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}


@dataclass(frozen=True)
class Workspace:
    """Where a stack's results, the copy of its stack file and its state are stored."""

    root: Path
    stack: str
    directory: Path
    backend: str

    @property
    def project(self) -> Path:
        """A directory with copies of Pulumi.yaml and the stack file, for engine commands that require them together."""
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
        """File with the identity of the engine process that runs on the stack, or that was killed there."""
        return self.directory / ".engine.json"

    @property
    def tree_index(self) -> Path:
        """File with the index of the files that the last completed `up` rendered (commands/rendered/tree_index.py)."""
        return self.directory / ".tree-index.json"

    @property
    def unfinished_tree(self) -> Path:
        """File that exists from the start of an `up` of a rendered stack until its index is written."""
        return self.directory / ".tree-unfinished"

    @property
    def state_directory(self) -> Path | None:
        """The backend's directory; None if the backend is not a local directory."""
        parts = urlsplit(self.backend)
        return Path(unquote(parts.path)) if parts.scheme == "file" and not parts.netloc else None

    @property
    def state_file(self) -> Path | None:
        """The stack's state file; None if the backend is not a local directory."""
        if self.state_directory is None:
            return None
        name = str(read_document(self.root / "Pulumi.yaml")["name"])
        return self.state_directory / ".pulumi" / "stacks" / name / f"{self.stack}.json"

    @property
    def has_state(self) -> bool:
        return self.state_file is not None and self.state_file.exists()

    def prepare(self, source: Path, *, keep_secrets: bool) -> None:
        """Writes the copy of the stack file `source` on which Pulumi runs.

        Without `keep_secrets`, encrypted values are left out, because the engine fails if it cannot decrypt them. The
        salt of a file without encrypted values is left out too: it may belong to an earlier passphrase, and the state
        contains its own salt.

        The copy names the stack file, where the program reads the settings. Without `keep_secrets`, it contains them,
        unless they are too large: the program may be that of an earlier commit (commands/review/difference.py), which
        knows no such name.
        """
        build_directory.make(self.directory)
        atomic.write(self.project / "Pulumi.yaml", (self.root / "Pulumi.yaml").read_text(encoding="utf-8"))
        document = read_document(source)
        settings = config_of(document)
        options = {key: value for key, value in settings.items() if not is_encrypted(value)}
        given = _encrypted_values(options)
        if not keep_secrets:
            document = without_secrets(document)
        elif not _encrypted_values(settings):
            document.pop("encryptionsalt", None)
        config = {key: _as_json(value) for key, value in config_of(document).items()}
        if keep_secrets or given or len(_to_yaml(config)) > LARGEST_CONFIGURATION:
            copy = {"stack": self.stack, "file": os.path.relpath(source, self.root)}  # relative to the program
            config = {key: value for key, value in config.items() if _is_copied(key, value)}
            config[f"quorate:{COPY}"] = copy
            if keep_secrets and given:
                config[f"quorate:{given_secrets.COPIED}"] = {sealed_name(each): {"secure": each} for each in given}
        atomic.write(self.stack_file, _to_yaml({**document, "config": config}))


def _is_copied(key: str, value: object) -> bool:
    """Whether Pulumi or the policy pack reads a key of the configuration; the program reads the stack file itself."""
    namespace, _, name = key.partition(":")
    return namespace != "quorate" or name in COPIED or is_encrypted(value)


def _as_json(value: object) -> object:
    """Returns a value with dates as texts: Pulumi would add a time of day to them."""
    return json.loads(json.dumps(value, default=str))


def _to_yaml(document: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)


def main_workspace(root: Path, stack: str, environment: Mapping[str, str]) -> Workspace:
    """Returns a stack's workspace. The state is in the clone, unless PULUMI_BACKEND_URL names another backend."""
    backend = environment.get("PULUMI_BACKEND_URL") or default_backend(root)
    return Workspace(root, stack, root / "build" / stack, backend)


def default_backend(root: Path) -> str:
    """Returns the URL of the clone's state directory."""
    return (root / STATE).as_uri()


@contextmanager
def temporary_workspace(root: Path, stack: str) -> Generator[Workspace]:
    """Yields a workspace in a temporary directory with a temporary state; deletes both when the context ends."""
    build = root / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".scratch-", dir=build) as name:
        directory = build_directory.make(Path(name))
        (directory / "state").mkdir()
        yield Workspace(root, stack, directory, (directory / "state").as_uri())


def as_rendered(original: Stack, directory: Path, **changes: object) -> Stack:
    """Returns a copy of a stack with the target `render`; the file of the copy is in `directory`.

    `changes` are further keys of the configuration; None removes a key. The settings are not validated.
    """
    document = read_document(original.file)
    config = {
        **config_of(document),
        TARGET: "render",
        **{f"quorate:{key}": value for key, value in changes.items()},
    }
    document["config"] = {key: value for key, value in config.items() if value is not None}
    file = directory / original.file.name
    atomic.write(file, _to_yaml(document))
    return Stack(
        original.name,
        file,
        original.profile,
        "render",
        original.machines,
        original.secrets_provider,
        original.has_secrets,
    )


def without_secrets(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a stack file's content without encrypted values, also those in options, and without the keys for them."""
    encryption = ("encryptionsalt", "encryptedkey", "secretsprovider")
    return {
        **{key: value for key, value in document.items() if key not in encryption},
        "config": _without_encrypted(config_of(document)),
    }


def _without_encrypted(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    entries = cast("dict[str, Any]", value)
    return {key: _without_encrypted(each) for key, each in entries.items() if not is_encrypted(each)}


def _encrypted_values(value: object) -> list[str]:
    """Returns the encrypted values in a configuration, in its order."""
    if is_encrypted(value):
        return [str(cast("dict[str, Any]", value)["secure"])]
    inner = cast("dict[str, Any]", value).values() if isinstance(value, dict) else ()
    return [found for each in inner for found in _encrypted_values(each)]


def config_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a stack file's configuration, with the keys of all namespaces."""
    return cast("dict[str, Any]", document.get("config") or {})


def is_encrypted(value: object) -> bool:
    """Whether a configuration value is encrypted, as written by `pulumi config set --secret`."""
    return isinstance(value, dict) and set(cast("dict[str, Any]", value)) == {"secure"}
