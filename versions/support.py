"""How long versions are supported: the model and loader of table.yaml, and which versions need attention."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field

TABLE = Path(__file__).parent / "table.yaml"
YEAR = timedelta(days=365)
"""Age from which a pinned version is reported."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KeptPin(_Model):
    """Why a version stays that is older than a year or without support."""

    why: str
    until: date
    """The day on which the version is reported again."""


class SupportedComponent(_Model):
    """A version of a component."""

    name: str
    version: str
    released: date
    ends: date | None = None
    """End of upstream support; None if upstream names no date."""
    series: bool = False
    """Whether the version is a series, such as 1.37, whose patch version is chosen elsewhere."""
    in_: Annotated[tuple[str, ...], Field(alias="in")] = ()
    """OpenStack releases whose images of Kolla have the series."""
    source: Annotated[str, Field(pattern=r"^https://")]
    note: str = ""
    kept: KeptPin | None = None

    def trouble(self, today: date) -> str:
        """Returns what is wrong with the version on a day; "" for nothing."""
        if self.ends and self.ends < today:
            return f"support ended on {self.ends}"
        if not self.series and today - self.released > YEAR:
            return f"released on {self.released}, more than a year ago"
        return ""


@cache
def components() -> tuple[SupportedComponent, ...]:
    """Returns the components in the order of the table."""
    document = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return tuple(SupportedComponent.model_validate(each) for each in document["components"])


def ended(name: str, version: str, today: date) -> date | None:
    """Returns the day on which the support of a series ended; None if it goes on, or the series is not in the table."""
    for each in components():
        if each.series and (each.name, each.version) == (name, version) and each.ends and each.ends < today:
            return each.ends
    return None


def reported(today: date) -> Iterator[tuple[SupportedComponent, str]]:
    """Yields the components that need attention on a day, with the reason; those that are kept until later too."""
    for each in components():
        if trouble := each.trouble(today):
            yield each, trouble
