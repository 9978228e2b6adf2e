"""A secret that another system gave, such as the password of an LDAP server: where `up` finds it, never its value."""

from __future__ import annotations

import hashlib
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

PREFIX = "given/"
"""Beginning of the names of these secrets."""
FORMS = "{environment: NAME}, {file: path}, or {secure: …} as 'pulumi config set --secret --path' writes it"
"""The forms of a secret in a stack file, for messages."""


class GivenSecret(BaseModel):
    """The place of a secret that Quorate does not derive. Exactly one field is set."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, json_schema_extra={"minProperties": 1, "maxProperties": 1}
    )

    secure: Annotated[
        str | None, Field(description="the encrypted value; written by 'pulumi config set --secret --path'")
    ] = None
    environment: Annotated[
        str | None,
        StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"),
        Field(description="variable of the environment in which 'quorate up' runs"),
    ] = None
    file: Annotated[
        str | None,
        StringConstraints(pattern=r"^[-A-Za-z0-9_./]{1,1024}$"),
        Field(description="file whose text is the secret, without the end of its last line"),
    ] = None

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if [self.secure, self.environment, self.file].count(None) != 2:
            raise ValueError("not one place")
        return self

    @property
    def key(self) -> str:
        """Name of the secret in a keyring and in annotations of pods; a value that is encrypted anew has another."""
        if self.secure is not None:
            return f"{PREFIX}{sealed_name(self.secure)}"
        return f"{PREFIX}{self.environment or f'file/{self.file}'}"


def sealed_name(encrypted: str) -> str:
    """Returns the name of an encrypted value, which is the same in the stack file and in its copy for Pulumi."""
    return hashlib.sha256(encrypted.encode()).hexdigest()[:12]
