"""Defines the form of a waiver in a stack file, for the blueprint, which validates stack files, and the policy pack."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints


def _as_day(value: object) -> object:
    """Converts a text to a date. Pulumi passes an unquoted date as Go prints it: `2027-01-31 00:00:00 +0000 UTC`.

    Returns other values unchanged, so that the model reports them.
    """
    if not isinstance(value, str):
        return value
    try:
        return date.fromisoformat(value.removesuffix(" 00:00:00 +0000 UTC"))
    except ValueError:
        return value  # pydantic then reports that it is not a date


Text = Annotated[str, StringConstraints(pattern=r"\S")]


class WaiverEntry(BaseModel):
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
