"""Where a number or a decision comes from: a list document (000 to 004, docs/rules.md) or a document of the project."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Count = Annotated[int, Field(ge=1)]
Text = Annotated[str, StringConstraints(min_length=1)]


class Facts(BaseModel):
    """Base of data read from files: unknown keys are refused, values are not converted, and objects are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Source(Facts):
    """A section of a list document ("004", "5.3.12"), or "project" with the document that gives the reason."""

    seed: Annotated[str, StringConstraints(pattern=r"^(\d{3}|project)$")]
    section: Text
    says: Text
    """What the section says, summarized."""

    def __str__(self) -> str:
        return f"{self.seed}, {self.section}"
