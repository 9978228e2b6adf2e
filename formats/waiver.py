"""Defines a waiver: the form that a stack file must have, and what the policy pack, its record and audits carry.

The policy pack imports this module only for a stack with waivers: pydantic takes a third of a second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _as_day(value: object) -> object:
    """Converts a text to a date. Pulumi passes an unquoted date as Go prints it: `2027-01-31 00:00:00 +0000 UTC`.

    Returns other values unchanged, so that the model reports them.
    """
    if not isinstance(value, str):
        return value
    text = value.removesuffix(" 00:00:00 +0000 UTC")
    try:
        # Python reads 20270131 and the week 2027-W05-1 too, which a reader may take for another day.
        return date.fromisoformat(text) if _DAY.fullmatch(text) else value
    except ValueError:
        return value  # pydantic then reports that it is not a date


Text = Annotated[str, StringConstraints(pattern=r"\S")]


class Waiver(BaseModel):
    """A failure of a rule that its owner accepts until a date. Only the policy pack uses it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    rule: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)+$"),
        Field(description="the rule's id in docs/rules.md"),
    ]
    resource: Annotated[Text, Field(description="the resource's name, or a pattern such as cloud-openstack-nova-*")]
    reason: Annotated[Text, Field(description="why the failure is accepted")]
    owner: Annotated[Text, Field(description="the person responsible for the failure")]
    expires: Annotated[
        date,
        BeforeValidator(_as_day),
        Field(description="the last day on which the waiver is valid, such as 2027-01-31"),
    ]
    approved_by: Annotated[
        Text | None,
        Field(
            alias="approvedBy", description="a second person, who approves the waiver; required if the rule is critical"
        ),
    ] = None

    def __str__(self) -> str:
        approved = f", approved by {self.approved_by}" if self.approved_by else ""
        return f"waived until {self.expires} by {self.owner}{approved} ({self.reason})"

    def to_json(self) -> dict[str, str]:
        """Returns the waiver in the format of findings.json and of the policy pack's record."""
        return {
            "rule": self.rule,
            "resource": self.resource,
            "reason": self.reason,
            "owner": self.owner,
            "expires": self.expires.isoformat(),
            "approvedBy": self.approved_by or "",
        }

    @classmethod
    def from_json(cls, written: Mapping[str, str]) -> Waiver:
        """Reads a waiver that `to_json` wrote. Raises ValueError if it is not one."""
        return cls.model_validate({key: value for key, value in written.items() if value})
