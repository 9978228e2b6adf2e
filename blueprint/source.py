"""Defines the source of a number or a decision: a source document (000 to 004, docs/rules.md) or a project document."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Count = Annotated[int, Field(ge=1)]
Text = Annotated[str, StringConstraints(min_length=1)]


class DataModel(BaseModel):
    """Base of models for data files: unknown keys are errors, values are not converted, and objects are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Source(DataModel):
    """A section of a source document, such as 5.3.12 of "004", or a project document that gives a reason."""

    seed: Annotated[str, StringConstraints(pattern=r"^(\d{3}|project)$")]
    section: Text
    says: Text
    """A summary of the section."""

    def __str__(self) -> str:
        return f"{self.seed}, {self.section}"
