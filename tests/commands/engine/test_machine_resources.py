"""Resources of a dead machine leave a state that the engine accepts, and nothing else does."""

from __future__ import annotations

from typing import Any

from commands.engine.machine_resources import without_machine

MACHINES = ["master3", "master2", "a-master3", "cmp1"]


def resource(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"urn": f"urn:pulumi:cloud::quorate::{kind}::{name}", "type": kind, **more}


def command(name: str, *after: dict[str, Any]) -> dict[str, Any]:
    kind = "command:remote:CopyToRemote" if name.endswith("-files") else "command:remote:Command"
    return resource(kind, name, dependencies=[each["urn"] for each in after])


def without(machine: str, *resources: dict[str, Any], claims: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    state = {"version": 3, "deployment": {"manifest": {"a": 1}, "resources": list(resources)}}
    found, gone = without_machine(state, machine, MACHINES, claims)
    assert found["version"] == 3
    assert found["deployment"]["manifest"] == {"a": 1}
    assert state["deployment"]["resources"] == list(resources), "the state that was given stays"  # type: ignore[index]
    left = found["deployment"]["resources"]
    assert sorted(gone) == sorted({each["urn"] for each in resources} - {each["urn"] for each in left})
    return left


def names(resources: list[dict[str, Any]]) -> list[str]:
    return [each["urn"].rpartition("::")[2] for each in resources]


def test_only_what_sets_the_machine_up_leaves() -> None:
    files = command("cloud-masters-master3-files")
    own = [command(f"cloud-masters-master3-{each}", files) for each in ("start-files", "start-apply", "apply")]
    others = [
        command("cloud-masters-master2-apply"),
        command("cloud-masters-a-master3-apply"),
        command("cloud-masters-master33-apply"),
        resource("quorate:machine:Machine", "cloud-masters-master3"),
        resource("kubernetes:core/v1:PersistentVolume", "openstack-mysqld-master3"),
    ]
    assert without("master3", files, *own, *others) == others
    assert without("cmp9", files, *own, *others) == [files, *own, *others]


def test_others_lose_the_dependency_only() -> None:
    gone, kept = command("cloud-master3-apply"), command("cloud-master2-apply")
    urns = [gone["urn"], kept["urn"]]
    provider = resource(
        "pulumi:providers:kubernetes",
        "live",
        dependencies=urns,
        propertyDependencies={"kubeconfig": urns, "context": None},
        inputs={"kubeconfig": gone["urn"]},
        deletedWith=gone["urn"],
    )
    left = without("master3", gone, kept, provider)
    assert left[0] == kept
    changed = {"dependencies": [kept["urn"]], "propertyDependencies": {"kubeconfig": [kept["urn"]], "context": None}}
    assert left[1] == {key: each for key, each in (provider | changed).items() if key != "deletedWith"}


def test_claims_that_are_gone_leave_too() -> None:
    claims = [
        resource("kubernetes:core/v1:PersistentVolumeClaim", name, id=f"openstack/{name}")
        for name in ("mysqld-backup", "other-backup")
    ]
    assert names(without("master3", *claims, claims=("mysqld-backup",))) == ["other-backup"]
    assert without("master3", *claims) == claims


def test_an_empty_state_stays() -> None:
    assert without_machine({}, "master3", MACHINES, []) == ({}, [])
