"""Finds the secrets of other systems that a stack names, and reads those outside of the stack file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from blueprint.openstack.given_secret import GivenSecret
from blueprint.problems import Problem
from blueprint.stackfile import backup_settings, external_ceph
from blueprint.stackfile.backup_settings import BackupCopies
from blueprint.stackfile.ceph_settings import ExternalCeph
from blueprint.stackfile.settings import Options, Settings

COPIED = "given"
"""Key of Pulumi's copy of a stack file with the encrypted values of all options, by name (commands/stack.py)."""


def used(settings: Settings) -> dict[str, GivenSecret]:
    """Returns the secrets in options, and those of registries, an external Ceph and an object store, by key."""
    holders = [(f"projects.{name}", each.options) for name, each in settings.projects.overrides.items()]
    holders += [(f"services.{name}", each.options) for name, each in settings.services.items()]
    found = {where: secret for name, given in holders for where, secret in in_options(f"quorate:{name}.options", given)}
    accounts = settings.images.accounts.items()
    found |= {f"quorate:images.accounts.{name}.password": each.password for name, each in accounts}
    return found | dict(_of_ceph(settings.external_ceph)) | dict(_of_copies(settings.backups.copies))


def _of_ceph(external: ExternalCeph | None) -> Iterator[tuple[str, GivenSecret]]:
    if external:
        for name, account in external.written_accounts.items():
            yield f"{external_ceph.KEY}.accounts.{name}.key", account.key
        if external.object_store:
            yield f"{external_ceph.KEY}.objectStore.password", external.object_store.password


def _of_copies(copies: BackupCopies | None) -> Iterator[tuple[str, GivenSecret]]:
    if copies:
        yield f"{backup_settings.KEY}.accessKey", copies.access_key
        yield f"{backup_settings.KEY}.secretKey", copies.secret_key


def in_options(key: str, given: Options) -> Iterator[tuple[str, GivenSecret]]:
    """Yields the secrets in options below a key of the stack file, each with its own key."""
    for file, sections in given.items():
        for section, values in sections.items():
            for name, value in values.items():
                if isinstance(value, GivenSecret):
                    yield f"{key}.{file}.{section}.{name}", value


def read(wanted: Mapping[str, GivenSecret], environment: Mapping[str, str]) -> tuple[dict[str, str], list[Problem]]:
    """Returns the values of secrets in the environment and in files, by the secrets' names, and those not found.

    `wanted`: as `used` returns them. Relative paths are below the directory in which Pulumi runs the program, the
    project's. No message contains a value.
    """
    values: dict[str, str] = {}
    problems: list[Problem] = []
    for where, secret in wanted.items():
        if secret.secure is not None:
            continue
        try:
            text = _from_file(secret.file) if secret.file else environment[secret.environment or ""]
        except KeyError:
            wrong = f"is the variable {secret.environment}, which is not set; set it where 'quorate up' runs"
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            wrong = f"is in the file {secret.file}, which cannot be read ({reason}); write it where 'quorate up' runs"
        else:
            values[secret.key] = text
            wrong = _malformed(where, text)
        if wrong:
            problems.append(Problem(where, wrong))
    return values, problems


def _malformed(where: str, text: str) -> str:
    """Returns what is wrong with the value of a secret; "" for nothing."""
    if len(text.splitlines()) != 1:
        return "is empty or has several lines; write one line"
    if where.startswith(f"{external_ceph.KEY}.accounts.") and not external_ceph.is_key(text):
        return "is not a key of Ceph; write what 'ceph auth get-key client.<name>' prints, not the whole keyring"
    return ""


def _from_file(path: str) -> str:
    return Path(path).read_text(encoding="utf-8").removesuffix("\n")
