"""CPU and memory that a stack file gives to the pods of a service, in place of the record's.

The form is Kubernetes' own: requests and limits, each with quantities such as 500m and 2Gi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from blueprint.problems import shown
from blueprint.stackfile.values import Strict, error
from formats import kubernetes_quantity

_MILLICORE, _MIB = Decimal("0.001"), Decimal(1024**2)
_MOST_MILLICORES, _MOST_MIB = 1_000_000, 24 * 1024**2
"""1000 cores and 24 TiB: more than a server has. Catches other units."""


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _amount(unit: Decimal, most: int, advice: str) -> Callable[[str], str]:
    """Returns a check that a quantity is a whole number of a unit, from one to `most`."""

    def checked(value: str) -> str:
        try:
            amount = kubernetes_quantity.parse(value) / unit
        except ValueError:
            amount = Decimal(0)
        if not 1 <= amount <= most or amount % 1:
            raise error(f"{shown(value)} does not fit; write {advice}")
        return value

    return checked


Cpu = Annotated[
    str, BeforeValidator(_as_text), AfterValidator(_amount(_MILLICORE, _MOST_MILLICORES, "cores such as 2 or 500m"))
]
Memory = Annotated[
    str, BeforeValidator(_as_text), AfterValidator(_amount(_MIB, _MOST_MIB, "memory such as 512Mi or 4Gi"))
]


class Amounts(Strict):
    """CPU and memory of a pod, all its containers together."""

    cpu: Annotated[Cpu | None, Field(description="cores, such as 2 or 500m")] = None
    memory: Annotated[Memory | None, Field(description="memory, such as 512Mi or 4Gi")] = None

    @property
    def cpu_m(self) -> int | None:
        """The CPU in millicores; None if it is not given."""
        return int(kubernetes_quantity.parse(self.cpu) / _MILLICORE) if self.cpu else None

    @property
    def memory_mi(self) -> int | None:
        """The memory in MiB; None if it is not given."""
        return int(kubernetes_quantity.parse(self.memory) / _MIB) if self.memory else None


class PodSize(Strict):
    """Requests and limits of one pod of a service; what is left out is the record's."""

    requests: Annotated[Amounts, Field(description="what the scheduler keeps free for a pod on its node")] = Amounts()
    limits: Annotated[Amounts, Field(description="what a pod may use; by default, its CPU has no limit")] = Amounts()

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yields a key and a message for each limit below its request."""
        for name, least, most in (
            ("cpu", self.requests.cpu_m, self.limits.cpu_m),
            ("memory", self.requests.memory_mi, self.limits.memory_mi),
        ):
            if least is not None and most is not None and most < least:
                yield f"limits.{name}", f"is less than requests.{name}; write as much or more"
