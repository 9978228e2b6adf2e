"""Reads Kubernetes quantities, such as `500m` (cores), `2Gi` (memory) or `1e3`."""

from __future__ import annotations

import re
from decimal import Decimal

_WRITTEN = re.compile(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)")
_SUFFIX = {
    "": Decimal(1),
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("n", "u", "m"), start=-3)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}


def parse(text: str) -> Decimal:
    """Converts a Kubernetes quantity to a number of cores or bytes. Raises ValueError if the text is not a quantity."""
    match = _WRITTEN.fullmatch(text)
    if match:
        number, exponent, suffix = match.groups()
        try:
            return Decimal(number) * (Decimal(10) ** int(exponent) if exponent else _SUFFIX[suffix or ""])
        except ArithmeticError:
            pass
    raise ValueError(f"'{text}' is not a valid quantity")
