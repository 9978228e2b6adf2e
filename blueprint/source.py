"""Where a number or a decision comes from: a seed and its section, or ours."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Count = Annotated[int, Field(ge=1)]
Text = Annotated[str, StringConstraints(min_length=1)]


class Facts(BaseModel):
    """Data that comes with Quorate or in its form: no unknown key, no silent conversion, no change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Source(Facts):
    """A place in the seeds ("004", "5.3.12"), or "ours" with the document that says why."""

    seed: Annotated[str, StringConstraints(pattern=r"^(\d{3}|ours)$")]
    section: Text
    says: Text
    """What it says there, in our words and short."""

    def __str__(self) -> str:
        return f"{self.seed}, {self.section}"
