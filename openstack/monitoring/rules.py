"""The form of an alert rule in Prometheus' file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Rule = Mapping[str, Any]


def alert(name: str, expression: str, after: str, severity: str, summary: str, **labels: str) -> Rule:
    """Returns an alert. `after`: how long its condition must hold, such as 5m. `labels`: those beside the severity."""
    return {
        "alert": name,
        "expr": expression,
        "for": after,
        "labels": {"severity": severity, **labels},
        "annotations": {"summary": summary},
    }
