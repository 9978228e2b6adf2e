"""Reports pinned versions that are older than a year or whose support has ended: `python -m versions.check`.

The nightly workflow runs it. Versions that the table keeps until a later day are printed, but do not count.
"""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime

from versions.support import reported


def report(today: date) -> tuple[str, int]:
    """Returns the lines for a day, and the exit code: 1 if a version is reported that is not kept until a later day."""
    lines: list[str] = []
    code = 0
    for component, trouble in reported(today):
        kept = component.kept
        if kept and today < kept.until:
            lines.append(f"kept until {kept.until}: {component.name} {component.version}: {trouble} ({kept.why})")
        else:
            lines.append(f"FAIL {component.name} {component.version}: {trouble}; see {component.source}")
            code = 1
    return "\n".join([*lines, "Write what you find into versions/table.yaml."] if code else lines) + "\n", code


def main() -> int:
    """Prints the report of today and returns its exit code."""
    text, code = report(datetime.now(UTC).date())
    sys.stdout.write(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
