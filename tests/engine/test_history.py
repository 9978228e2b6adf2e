"""A change of a deployed stack, which the policies compare with the record of its last deployment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from contract import VERSIONS_OUTPUT
from openstack.planned_versions import planned_versions
from policy.facts.components import PreviousFacts
from policy.facts.deployed_versions import deployed_versions
from policy.facts.stack import Facts
from policy.resource import Resource
from policy.rules.updates import changes
from tests.engine.conftest import PACK, Done, FirstRuns, Project, Projects, copied
from tests.engine.test_lifecycle import edit, servers
from tests.stacks import STACKS


def violations(done: Done) -> dict[str, set[str]]:
    """Names of the resources that a rule stopped, by rule."""
    found: dict[str, set[str]] = {}
    for event in done.events:
        if (policy := event.get("policyEvent")) and policy["enforcementLevel"] == "mandatory":
            found.setdefault(policy["policyName"], set()).add(policy["resourceUrn"].rpartition("::")[2])
    return found


def replace(project: Project, name: str, *others: dict[str, Any]) -> None:
    """Replaces a pattern of servers in the stack file by these servers."""
    edit(project, servers=[new for each in servers(project) for new in (others if each["name"] == name else [each])])


def named(project: Project, pattern: str, **changes: Any) -> dict[str, Any]:
    """Returns a server of the stack with changed keys."""
    return next(each for each in servers(project) if each["name"] == pattern) | changes


def test_what_is_left_behind_is_what_the_policies_see(rendered: Projects) -> None:
    """The program records the members of its plan, the rule reads them from the resources: both are the same."""
    for stack in STACKS:
        project = rendered(stack)
        facts = Facts(
            Resource(each["type"], urn, urn.rpartition("::")[2], lambda each=each: each.get("outputs", {}))
            for urn, each in project.state().items()
        )
        output = project.quorum_state()
        left = PreviousFacts(Resource(PreviousFacts.TYPE, "", "previous", lambda output=output: {"stood": output}))
        quorums = left.quorums()
        assert quorums.keys() >= {"etcd", "mysqld", "rabbitmq", "ceph-mon"}
        seen = Facts([*facts.resources, left.resource])
        assert {change.name: change.now for change in changes(seen)} == quorums
        assert deployed_versions(facts) == planned_versions(project.plan)
        done = project.run("stack", "output", VERSIONS_OUTPUT, "--json")
        assert json.loads(done.output) == planned_versions(project.plan)


def test_the_first_deployment_and_one_that_changes_nothing_pass(
    first_preview: FirstRuns, first_up: FirstRuns, standing: Projects
) -> None:
    assert violations(first_preview("ra100").done) == {}
    assert violations(first_up("ra100").done) == {}
    ra100 = standing("ra100")
    assert ra100.state()[f"urn:pulumi:ra100::quorate::{PreviousFacts.TYPE}::previous"].get("outputs", {}) == {}
    again = ra100.run("preview", "--expect-no-changes", *PACK)
    assert again.code == 0, again.output
    assert violations(again) == {}


@dataclass(frozen=True)
class Replaced:
    """A stack one of whose masters another machine has replaced."""

    project: Project
    previewed: Done
    failed: Done
    """The update, which could not write the files of the new master."""
    recorded: tuple[dict[str, Any], ...]
    """The record of quorums before the update, after it failed, and after the next one, which succeeded."""
    updated: Done


@pytest.fixture(scope="module")
def replaced(rendered: Projects, tmp_path_factory: pytest.TempPathFactory) -> Replaced:
    """The project of all tests of a replaced master, which change nothing in it."""
    ra100 = copied(rendered("ra100"), tmp_path_factory.mktemp("replaced") / "project")
    rest = named(ra100, "master[1-3]", name="master[1-2]", rack="r[1-2]")
    replace(ra100, "master[1-3]", rest, named(ra100, "master[1-3]", name="master9", address="10.20.0.19", rack="r3"))
    previewed = ra100.run("preview", *PACK)
    before = ra100.quorum_state()
    in_the_way = ra100.build / "machines" / "master9"
    in_the_way.write_text("a file where a directory must be")
    failed = ra100.run("up", "--yes", "--skip-preview")
    after_failure = ra100.quorum_state()
    in_the_way.unlink()
    updated = ra100.up()
    return Replaced(ra100, previewed, failed, (before, after_failure, ra100.quorum_state()), updated)


def test_one_master_may_be_replaced(replaced: Replaced) -> None:
    assert violations(replaced.previewed) == {}
    assert replaced.previewed.code == 0, replaced.previewed.output
    assert replaced.project.run("preview", "--expect-no-changes", *PACK).code == 0


def test_versions_follow_those_that_are_deployed(standing: Projects) -> None:
    """A release back with everything that comes with it is stopped; after an update, the record is the new version."""
    ra100 = standing("ra100")
    edit(ra100, release="2025.1")
    done = ra100.run("preview", *PACK)
    assert violations(done) == {"version-step-supported": {"previous"}, "one-version-at-a-time": {"previous"}}
    assert "quorate:release: OpenStack from 2026.1 to 2025.1 goes back" in done.output
    edit(ra100, release=None, kubernetes="1.36.3")
    assert violations(ra100.run("preview", *PACK)) == {"version-step-supported": {"previous"}}


def test_two_masters_may_not(standing: Projects) -> None:
    assert_two_masters_may_not(standing("ra100"))


def assert_two_masters_may_not(ra100: Project) -> None:
    rest = named(ra100, "master[1-3]", name="master1", rack="r1")
    others = named(ra100, "master[1-3]", name="master[8-9]", address="10.20.0.18", rack="r[2-3]", countFrom=8)
    replace(ra100, "master[1-3]", rest, others)
    done = ra100.run("preview", *PACK)
    assert done.code != 0
    assert violations(done) == {
        "one-server-at-a-time": {"previous"},
        "one-member-at-a-time": {"cloud-masters-etcd"},
        "majority-survives-change": {"cloud-masters-etcd"},
    }
    assert "quorum etcd: 2 of 3 members are removed at once (master2, master3 no longer among its nodes)" in done.output


def test_an_update_that_fails_leaves_what_stood(replaced: Replaced) -> None:
    """A failed update keeps the old record: else the next change would be compared with members never created."""
    before, after_failure, after = replaced.recorded
    assert replaced.failed.code != 0
    assert after_failure == before
    assert before["quorums"]["etcd"]["nodes"].keys() == {"master1", "master2", "master3"}
    assert after["quorums"]["etcd"]["nodes"].keys() == {"master1", "master2", "master9"}


def test_the_record_is_one_line_of_pulumis_output(replaced: Replaced) -> None:
    """As a secret output it is not printed member by member."""
    assert "10.20.0" not in replaced.project.run("stack", "output").output
    assert "address" not in replaced.updated.output.partition("Outputs:")[2]


def test_the_record_of_an_earlier_version_is_compared(standing: Projects) -> None:
    """Stacks that were deployed before the record was marked as a secret have it in the state in clear text."""
    ra100 = standing("ra100")
    recorded = ra100.quorum_state()
    document = json.loads(ra100.state_file.read_text(encoding="utf-8"))
    stack = next(
        each for each in document["checkpoint"]["latest"]["resources"] if "standing" in each.get("outputs", ())
    )
    assert "ciphertext" in stack["outputs"]["standing"]
    stack["outputs"]["standing"] = recorded
    ra100.state_file.write_text(json.dumps(document), encoding="utf-8")
    assert ra100.quorum_state() == recorded
    assert violations(ra100.run("preview", "--expect-no-changes", *PACK)) == {}
    assert_two_masters_may_not(ra100)
