"""What `quorate status` says of the operation under way."""

from __future__ import annotations

import json

import pytest

from cluster.api import Api, ApiError
from operations import operation_lease, under_way
from operations.operation_lease import CloudOperation, held
from operations.under_way import NO_OPERATION
from tests.operations.maintenance.small_cloud import SmallCloud


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.setattr(operation_lease, "whoami", lambda: "ada@desk")
    return SmallCloud().cluster().api


def test_an_operation_that_a_process_works_on(api: Api) -> None:
    with held(api, CloudOperation("virt1"), "prod", print) as lease:
        lease.change(out=("virt1",), step="3. disable nova-compute on virt1")
        found = under_way.read(api, "prod")
    assert found.lines()[0].startswith("Maintenance of virt1 is under way: ada@desk began it at 20")
    assert found.lines()[1:] == (
        "          - out, or on the way: virt1",
        "          - step 3. disable nova-compute on virt1",
        "          - a process of ada@desk works on it, unless it was killed",
        "          - `quorate maintenance virt1 --stack prod` goes on, "
        "`quorate maintenance virt1 --end --stack prod` ends it",
    )


def test_an_operation_that_nobody_works_on(api: Api) -> None:
    with held(api, CloudOperation("pool compute"), "prod", print) as lease:
        lease.change(done=("cmp1",), failed={"cmp2": "it stalls:\nmore", "cmp3": ""})
    found = under_way.read(api, "prod")
    assert "          - no process works on it now" in found.lines()
    assert "          - cmp2 has failed: it stalls:" in found.lines()
    assert json.loads(json.dumps(found.document())) == {
        "subject": "pool compute", "kind": "maintenance", "new": "", "osds": [], "identity": "", "beside": [],
        "out": [], "done": ["cmp1"], "cold": [], "do": "", "stops": [], "did": [], "boots": {}, "source": "",
        "failed": {"cmp2": "it stalls:\nmore", "cmp3": ""},
        "by": "ada@desk", "since": lease.operation.since, "step": "", "worker": None,
        "go_on": "quorate maintenance --pool compute --stack prod",
        "end": "quorate maintenance --pool compute --end --stack prod",
    }  # fmt: skip


def test_no_operation(api: Api) -> None:
    assert under_way.read(api, "prod") == NO_OPERATION
    assert (NO_OPERATION.lines(), NO_OPERATION.document()) == ((), None)


def test_a_lease_that_may_not_be_read(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_words: object) -> None:
        raise ApiError(403, "Forbidden", "you may not")

    monkeypatch.setattr(api, "ask", refuse)
    found = under_way.read(api, "prod")
    assert "operations under way are not known, Lease quorate-operation was not read: " in found.lines()[0]
    assert found.document() is None


def test_a_replacement_goes_on_by_its_own_command(api: Api) -> None:
    with held(api, CloudOperation("ctl05", operation_lease.REPLACEMENT, new="ctl10"), "prod", print):
        found = under_way.read(api, "prod")
    assert found.lines()[0].startswith("Replacement of ctl05 is under way: ada@desk began it at 20")
    assert found.go_on == "quorate replace ctl05 --dead --with ctl10 --stack prod"
    assert found.end == "quorate replace ctl05 --end --stack prod"
