"""When a copy in the object store was restored and compared last, by `quorate copies --test`.

The private key is on no machine of the cloud, so that no schedule of the cloud can do it. Who does it writes the date
into a ConfigMap of the cluster, where `quorate status` and the masters' metrics find it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from cluster.api import MERGE, Api, ApiError
from cluster.objects import texts
from contract import COPY_TESTS
from openstack.config.wiring import ENVIRONMENT
from openstack.monitoring import limits
from operations.living.backups import CopyTest

_PATH = f"/api/v1/namespaces/{ENVIRONMENT}/configmaps"
_FORM = "%Y-%m-%dT%H:%M:%SZ"
_RESTORED, _FAILED = "restored", "failed"


def read(api: Api, databases: Sequence[str]) -> tuple[CopyTest, ...]:
    """Returns the last test of a copy of each database. Raises ApiError or Unreachable."""
    try:
        said = texts(api.ask("GET", f"{_PATH}/{COPY_TESTS}"), "data")
    except ApiError as error:
        if error.status != 404:
            raise
        said = {}
    return tuple(_test(each, said) for each in databases)


def _test(of: str, said: dict[str, str]) -> CopyTest:
    copy, newest = _entry(said.get(f"{of}.{_RESTORED}", ""))
    other, failed = _entry(said.get(f"{of}.{_FAILED}", ""))
    problem = f"the test of {other} at {failed:%Y-%m-%d %H:%M} UTC failed" if failed else ""
    return CopyTest(copy, newest, limits.COPY_TEST, problem=problem, of=of)


def _entry(said: str) -> tuple[str, datetime | None]:
    moment, _, copy = said.partition(" ")
    try:
        return copy, datetime.strptime(moment, _FORM).replace(tzinfo=UTC)
    except ValueError:
        return "", None


def write(api: Api, of: str, copy: str, now: datetime, *, succeeded: bool) -> None:
    """Records the test of a copy. A later success removes what failed. Raises ApiError or Unreachable."""
    entry = f"{now.strftime(_FORM)} {copy}"
    data = {f"{of}.{_RESTORED}": entry, f"{of}.{_FAILED}": None} if succeeded else {f"{of}.{_FAILED}": entry}
    try:
        api.ask("PATCH", f"{_PATH}/{COPY_TESTS}", {"data": data}, content=MERGE)
    except ApiError as error:
        if error.status != 404:
            raise
        known = {key: value for key, value in data.items() if value is not None}
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": COPY_TESTS}, "data": known}
        api.ask("POST", _PATH, made)
