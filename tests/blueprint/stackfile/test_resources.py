"""Which amounts of CPU and memory a stack file may give to pods."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from blueprint.stackfile.resources import Amounts


@pytest.mark.parametrize(
    ("given", "cpu", "memory"),
    [
        ({"cpu": 2, "memory": "512Mi"}, 2000, 512),
        ({"cpu": "500m", "memory": "4Gi"}, 500, 4096),
        ({"cpu": "1m", "memory": "1Mi"}, 1, 1),
        ({"cpu": 1000, "memory": "24Ti"}, 1_000_000, 24 * 1024 * 1024),
        ({"cpu": 0.25}, 250, None),
        ({"memory": 1048576}, None, 1),
    ],
)
def test_amounts_are_whole_millicores_and_mebibytes(
    given: dict[str, object], cpu: int | None, memory: int | None
) -> None:
    amounts = Amounts.model_validate(given)
    assert (amounts.cpu_m, amounts.memory_mi) == (cpu, memory)


@pytest.mark.parametrize("cpu", ["0", "0.5m", "1001", "1000001m", "2Gx", True])
def test_another_cpu_is_refused(cpu: object) -> None:
    with pytest.raises(ValidationError):
        Amounts.model_validate({"cpu": cpu})


@pytest.mark.parametrize("memory", ["0", "1Ki", "1537Ki", "25769803777Ki", "25Ti", "4GB", True])
def test_another_memory_is_refused(memory: object) -> None:
    with pytest.raises(ValidationError):
        Amounts.model_validate({"memory": memory})
