"""Waivers of tests."""

from __future__ import annotations

from datetime import date

from formats.waiver import Waiver


def written_waiver(  # noqa: PLR0917 - in the order of the stack file
    rule: str, resource: str, reason: str, owner: str, expires: date, approved_by: str | None = None
) -> Waiver:
    """Returns a waiver as a stack file has it."""
    texts = {"rule": rule, "resource": resource, "reason": reason, "owner": owner, "expires": expires.isoformat()}
    return Waiver.from_json({**texts, "approvedBy": approved_by or ""})


def changed(given: Waiver, **values: object) -> Waiver:
    """Returns a waiver with other values, which need not have the form of a stack file."""
    return given.model_copy(update=values)
