"""A cloud on a Ceph cluster that another team runs: which resources it has, and where the keys are."""

from __future__ import annotations

import json

import pulumi
import pytest

from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from tests.recording import Recorded, record
from tests.stacks import external_ceph, parsed, without_storage

KEYS = {"given/GLANCE_KEY": "k3y-of-glance", "given/CINDER_KEY": "k3y-of-cinder", "given/RGW": "k3y-of-gateway"}
STORE = {"internal": "https://rgw.example/swift/v1", "password": {"environment": "RGW"}}
ACCOUNTS = {
    "glance": {"name": "east-images", "key": {"environment": "GLANCE_KEY"}},
    "cinder": {"name": "east-volumes", "key": {"environment": "CINDER_KEY"}},
}
STACK = without_storage("100") | {"ceph": external_ceph(objectStore=STORE, accounts=ACCOUNTS)}


@pytest.fixture(scope="module")
def built() -> list[Recorded]:
    def build() -> None:
        args = CloudArgs(
            plan(parsed(STACK)), "test", Render("test"), pulumi.Output.secret("root"), pulumi.Output.secret(KEYS)
        )
        Cloud("cloud", args)

    return record(build)


def test_nothing_of_ceph_is_made(built: list[Recorded]) -> None:
    own = ("ceph-mon", "ceph-osd", "cloud-openstack-ceph", "cloud-openstack-radosgw")
    assert [each.name for each in built if any(part in each.name for part in own)] == []
    assert not [each.name for each in built if "-storage" in each.name]
    (environment,) = (each for each in built if (each.kind, each.name) == ("Environment", "cloud-openstack"))
    assert not {"ceph", "radosgw"} & set(environment.inputs["projects"])
    assert "bootstrap" in environment.inputs["projects"]


def test_keys_are_in_secret_objects_only(built: list[Recorded]) -> None:
    holders = [each for each in built if "k3y-of-" in json.dumps(each.inputs)]
    assert {each.kind for each in holders} == {"Secret"}
    found = {
        key: {
            each.name.removeprefix("cloud-openstack-") for each in holders if f"k3y-of-{key}" in json.dumps(each.inputs)
        }
        for key in ("glance", "cinder", "gateway")
    }
    users = ("cinder-volume", "cinder-backup", "nova-compute", "nova-libvirt")
    assert found == {
        "glance": {"glance-api-secrets"},
        "cinder": {f"{name}-secrets" for name in users},
        "gateway": {"bootstrap-object-store-secrets"},
    }


def test_kollas_script_copies_keyrings_to_their_accounts_names(built: list[Recorded]) -> None:
    copied = {
        each.name: [file["dest"] for file in json.loads(each.inputs["data"]["config.json"])["config_files"]]
        for each in built
        if each.kind == "ConfigMap" and "config.json" in each.inputs.get("data", {})
    }
    keyrings = {
        name.removeprefix("cloud-openstack-"): found
        for name, paths in copied.items()
        if (found := [path for path in paths if path.endswith(".keyring")])
    }
    volumes = ["/etc/ceph/ceph.client.east-volumes.keyring"]
    assert keyrings == {
        "glance-api-kolla": ["/etc/ceph/ceph.client.east-images.keyring"],
        **{f"{name}-kolla": volumes for name in ("cinder-volume", "cinder-backup", "nova-compute")},
    }


def test_a_new_key_restarts_the_pods_that_have_it(built: list[Recorded]) -> None:
    (deployment,) = (each for each in built if (each.kind, each.name) == ("Deployment", "cloud-openstack-glance-api"))
    annotations = deployment.inputs["spec"]["template"]["metadata"]["annotations"]
    assert "given/GLANCE_KEY" in json.dumps(annotations)
