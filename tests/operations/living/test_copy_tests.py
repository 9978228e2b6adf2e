"""The record of restored tests of copies, in a ConfigMap of the cluster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from cluster.api import MERGE, Api, ApiError
from contract import COPY_TESTS
from openstack.monitoring.limits import COPY_TEST
from operations.living.copy_tests import read, write

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
COPY = "galera/mysqld/2026-11-28T02-17-04Z"


class ConfigMaps:
    """An API server with ConfigMaps of one namespace."""

    def __init__(self) -> None:
        self.data: dict[str, str] | None = None
        self.refuses = 0

    def ask(self, method: str, path: str, body: Any = None, *, content: str = "") -> dict[str, Any]:
        assert path.startswith("/api/v1/namespaces/openstack/configmaps")
        if self.refuses:
            raise ApiError(self.refuses, "Forbidden", "no configmaps")
        if method == "POST":
            assert body["metadata"]["name"] == COPY_TESTS
            self.data = dict(body["data"])
        elif self.data is None:
            raise ApiError(404, "NotFound", path)
        elif method == "PATCH":
            assert content == MERGE
            merged = self.data | body["data"]
            self.data = {key: value for key, value in merged.items() if value is not None}
        return {"data": dict(self.data or {})}


@pytest.fixture
def maps() -> ConfigMaps:
    return ConfigMaps()


def api(maps: ConfigMaps) -> Api:
    return cast("Api", maps)


def test_a_test_that_was_never_made_is_late(maps: ConfigMaps) -> None:
    (found,) = read(api(maps), ["mysqld"])
    assert (found.of, found.newest, found.problem, found.is_late(NOW)) == ("mysqld", None, "", True)


def test_what_was_written_is_read(maps: ConfigMaps) -> None:
    write(api(maps), "mysqld", COPY, NOW, succeeded=True)
    write(api(maps), "etcd", "etcd/master1/20261129T110203Z", NOW - timedelta(days=1), succeeded=True)
    mysqld, other, etcd = read(api(maps), ["mysqld", "neutron-mysqld", "etcd"])
    assert (mysqld.maker, mysqld.newest, mysqld.is_late(NOW + COPY_TEST)) == (COPY, NOW, False)
    assert mysqld.is_late(NOW + COPY_TEST + timedelta(minutes=1))
    assert (other.newest, etcd.newest) == (None, NOW - timedelta(days=1))


@pytest.mark.parametrize("is_first", [True, False])
def test_a_failure_is_a_problem_until_the_next_success(maps: ConfigMaps, is_first: bool) -> None:
    if not is_first:
        write(api(maps), "mysqld", COPY, NOW - timedelta(days=1), succeeded=True)
    write(api(maps), "mysqld", COPY, NOW, succeeded=False)
    (found,) = read(api(maps), ["mysqld"])
    assert found.problem == f"the test of {COPY} at 2026-11-29 12:00 UTC failed"
    assert found.is_late(NOW)
    assert found.newest == (None if is_first else NOW - timedelta(days=1))
    write(api(maps), "mysqld", COPY, NOW, succeeded=True)
    (found,) = read(api(maps), ["mysqld"])
    assert (found.problem, found.is_late(NOW)) == ("", False)


def test_what_others_wrote_there_is_no_test(maps: ConfigMaps) -> None:
    maps.data = {"mysqld.restored": "yesterday", "mysqld.failed": ""}
    (found,) = read(api(maps), ["mysqld"])
    assert (found.newest, found.problem) == (None, "")


def test_a_refusal_is_an_error(maps: ConfigMaps) -> None:
    maps.refuses = 403
    with pytest.raises(ApiError):
        read(api(maps), ["mysqld"])
    with pytest.raises(ApiError):
        write(api(maps), "mysqld", COPY, NOW, succeeded=True)
