"""The root secret of a stack whose configuration has none: generated for a rendered lab, otherwise missing.

`quorate up` generates it into a file beside the stack's rendered tree. The program reads it there, so that the Pulumi
CLI and Quorate's commands derive the same passwords.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from blueprint.problems import InvalidStackError, Problem
from blueprint.stackfile.settings import Settings
from files import generated_secret

ROOT_IS_MISSING = (
    "is not set, and all passwords are derived from it; write it once with "
    "'pulumi config set --secret quorate:rootSecret'"
)
"""Message for a stack without a root secret, which a live target and every update need."""

STATE = Path("build/.state")
"""The clone's state directory, relative to the project (toolchain/install.py)."""


@dataclass(frozen=True)
class WithoutRootSecret:
    """A stack without a root secret in its configuration."""

    settings: Settings
    stack: str
    backend: str | None
    """PULUMI_BACKEND_URL; None if it is not set."""
    has_secrets: bool = False
    """Whether the configuration contains other secrets."""

    @property
    def file(self) -> Path:
        """The file with the generated root secret."""
        return Path("build") / self.stack / ".root-secret"

    @property
    def may_be_generated(self) -> bool:
        """Whether the stack is a rendered lab in the clone's own state, the only one for which a secret is generated.

        Users of a shared state would otherwise generate different secrets.
        """
        is_lab = self.settings.is_lab and not self.settings.is_live
        return is_lab and not self.has_secrets and is_own(self.backend)

    def generated(self) -> str | None:
        """Returns the generated root secret; None if there is none, or if the stack may not use it.

        Raises InvalidStackError if the file is damaged.
        """
        if not self.may_be_generated or not self.file.exists():
            return None
        try:
            return generated_secret.read(self.file)
        except (generated_secret.DamagedError, OSError) as error:
            what = error.strerror if isinstance(error, OSError) else error
            advice = "restore it from a backup, or start over with 'make clean'; a rendered lab loses no data"
            raise InvalidStackError([Problem(str(self.file), f"{what}; {advice}")]) from None

    def missing(self) -> str:
        """Returns the message for a missing root secret, with every way to set one."""
        if self.may_be_generated:
            return f"{ROOT_IS_MISSING}, or run 'quorate up --stack {self.stack}', which generates one in {self.file}"
        if self.file.exists():
            return f"{ROOT_IS_MISSING}; {self.file} is used only by a rendered lab without other secrets in {STATE}"
        return ROOT_IS_MISSING

    def placeholders(self) -> str:
        """Returns the warning of a preview without a root secret."""
        return (
            "this preview contains placeholders instead of secrets, so Secrets and what contains them are shown as "
            f"changed, and it cannot be applied: quorate:rootSecret {self.missing()}"
        )


def is_own(backend: str | None) -> bool:
    """Whether a backend's URL may name the clone's state directory. Without a URL, the user's login decides."""
    if not backend:
        return True
    parts = urlsplit(backend)
    return parts.scheme == "file" and not parts.netloc and Path(unquote(parts.path)).resolve() == STATE.resolve()
