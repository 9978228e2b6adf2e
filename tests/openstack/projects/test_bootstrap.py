"""The project that makes what a new cloud contains: when it is built, and its place in the order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile import cloud_content
from tests.components.test_cloud import cloud
from tests.recording import Recorded
from tests.stacks import full_size, parsed

IMAGE = {"name": "own", "url": "https://images.example/disk.raw", "sha256": "0" * 64, "diskFormat": "raw"}


def built(**settings: Any) -> dict[str, Recorded]:
    """The Kubernetes objects of the project, by kind."""
    made = cloud(plan(parsed(full_size("100", **settings))))
    return {each.kind: each for each in made if each.name.startswith("cloud-openstack-bootstrap-")}


@pytest.fixture(scope="module")
def objects() -> dict[str, Recorded]:
    return built(bootstrap={"image": IMAGE})


def test_without_the_setting_nothing_is_built() -> None:
    assert built() == {}


def test_one_job_waits_for_all_services_that_it_uses(objects: dict[str, Recorded]) -> None:
    assert objects.keys() == {"Job", "ConfigMap", "Secret"}
    assert {
        ("Deployment", "cloud-openstack-keystone"), ("Deployment", "cloud-openstack-glance-api"),
        ("Deployment", "cloud-openstack-neutron-server"), ("Deployment", "cloud-openstack-nova-api"),
        ("DaemonSet", "cloud-openstack-nova-compute"),
    } <= objects["Job"].after  # fmt: skip
    pod = objects["Job"].inputs["spec"]["template"]
    assert pod["metadata"]["annotations"] == {"quorate.io/companion-of": "keystone-all"}, "it runs where keystone may"


def test_the_job_reads_the_stack_files_content(objects: dict[str, Recorded]) -> None:
    data = objects["ConfigMap"].inputs["data"]
    content = json.loads(data["content.json"])
    assert content["url"] == "http://keystone.openstack.svc:5000/v3"
    assert content["image"] == {
        "name": "own", "url": "https://images.example/disk.raw", "sha256": "0" * 64, "disk_format": "raw",
    }  # fmt: skip
    assert content["networks"]["external"] is None
    assert [each["name"] for each in content["flavors"]] == [each.name for each in cloud_content.FLAVORS]
    assert objects["Secret"].inputs["stringData"]["value"].keys() == {"OS_PASSWORD"}


def test_other_content_is_another_job(objects: dict[str, Recorded]) -> None:
    def name(given: dict[str, Recorded]) -> str:
        return given["Job"].inputs["metadata"]["name"]

    assert name(built(bootstrap={"image": IMAGE})) == name(objects)
    assert name(built(bootstrap={"image": {**IMAGE, "name": "other"}})) != name(objects)


def test_zones_are_a_job_of_their_own_that_runs_again_for_another_compute() -> None:
    def names(computes: int, **settings: Any) -> dict[str, str]:
        given = full_size("100", computes, bootstrap=settings)
        given["servers"][-1]["rack"] = "r1"
        made = [each for each in cloud(plan(parsed(given))) if each.name.startswith("cloud-openstack-bootstrap-")]
        jobs = [each.inputs["metadata"]["name"] for each in made if each.kind == "Job"]
        return {name.rpartition("-")[0]: name for name in jobs}

    three, four = (names(computes, availabilityZones={"az1": ["r1"]}) for computes in (3, 4))
    assert three.keys() == {"bootstrap-cloud", "bootstrap-zones"}
    assert three["bootstrap-zones"] != four["bootstrap-zones"]
    assert three["bootstrap-cloud"] == four["bootstrap-cloud"] == names(3)["bootstrap-cloud"]


def test_a_stack_without_a_service_that_it_needs_is_refused() -> None:
    running = {"keystone", "nova-api", "neutron-server"}
    (problem,) = cloud_content.missing(cloud_content.Bootstrap(), running)
    assert str(problem) == (
        "quorate:bootstrap: the stack does not run glance-api; place them, or remove quorate:bootstrap"
    )
    assert list(cloud_content.missing(None, running)) == []
    assert list(cloud_content.missing(cloud_content.Bootstrap(), {*running, "glance-api"})) == []
