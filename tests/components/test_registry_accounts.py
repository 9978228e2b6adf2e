"""Accounts for registries: in a Secret of pods and in containerd's file of prepared machines, and nowhere else."""

from __future__ import annotations

import base64
import json
import tomllib
from typing import Any

import pulumi
import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile import given_secrets
from components import preparation, registry_accounts
from components.cloud import Cloud, CloudArgs
from components.secrets import Keyring
from components.target.render import Render
from tests.recording import Recorded, record
from tests.stacks import full_size, parsed

PASSWORD = 'p4ssw0rd"\\ö🔑'  # noqa: S105
HOST = "registry.example:5000"
ACCOUNTS: dict[str, Any] = {
    HOST: {"user": "robot$pull", "password": {"environment": "REGISTRY"}},
    "docker.io": {"user": "hub", "password": {"file": "hub-password"}},
}
KEYRING = Keyring("kubernetes", None)
JOB = "cloud-openstack-keystone-db-sync"
CONTAINERD = "/etc/containerd/config.toml"


def made(**changes: Any) -> Plan:
    images: dict[str, Any] = {"accounts": ACCOUNTS, "pullSecrets": ["mine"]} | changes.pop("images", {})
    return plan(parsed(full_size("100", images=images, **changes)))


def built(of: Plan, values: dict[str, str] | None) -> list[Recorded]:
    def build() -> None:
        given = pulumi.Output.secret(values) if values is not None else None
        Cloud("cloud", CloudArgs(of, "test", Render("test"), pulumi.Output.secret("root"), given))

    return record(build)


@pytest.fixture(scope="module")
def prepared() -> list[Recorded]:
    return built(made(prepare="packages"), {"given/REGISTRY": PASSWORD, "given/file/hub-password": "second"})


def templates(resources: list[Recorded]) -> dict[str, dict[str, Any]]:
    """Pod templates of workloads, Jobs and CronJobs, by the resource's kind and name."""
    found: dict[str, dict[str, Any]] = {}
    for each in resources:
        spec = each.inputs.get("spec")
        if each.kind == "CronJob" and spec:
            spec = spec["jobTemplate"]["spec"]
        if isinstance(spec, dict) and "template" in spec:
            found[f"{each.kind} {each.name}"] = spec["template"]["spec"]
    return found


def test_passwords_are_found_where_the_stack_says() -> None:
    wanted = given_secrets.used(made().settings)
    assert {key: secret.key for key, secret in wanted.items()} == {
        f"quorate:images.accounts.{HOST}.password": "given/REGISTRY",
        "quorate:images.accounts.docker.io.password": "given/file/hub-password",
    }


def test_every_pod_has_the_secret_with_the_accounts(prepared: list[Recorded]) -> None:
    (secret,) = (each for each in prepared if each.name == "cloud-openstack-registry-accounts")
    assert (secret.kind, secret.inputs["type"]) == ("Secret", "kubernetes.io/dockerconfigjson")
    name = secret.inputs["metadata"]["name"]
    auths = json.loads(secret.inputs["stringData"]["value"][".dockerconfigjson"])["auths"]
    assert auths.keys() == {HOST, "https://index.docker.io/v1/"}
    assert (auths[HOST]["username"], auths[HOST]["password"]) == ("robot$pull", PASSWORD)
    assert base64.b64decode(auths[HOST]["auth"]).decode() == f"robot$pull:{PASSWORD}"
    pods = templates(prepared)
    assert {key.split()[0] for key in pods} >= {"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"}
    for key, pod in pods.items():
        assert pod["imagePullSecrets"] == [{"name": "mine"}, {"name": name}], key
    workloads = [each for each in prepared if each.kind in ("Deployment", "DaemonSet", "Job")]
    first = [each for each in workloads if "cloud-openstack-registry-accounts" in each.depends_on]
    assert "cloud-openstack-keystone-databases" in {each.name for each in first}


def test_passwords_are_in_secret_objects_and_secret_files_only(prepared: list[Recorded]) -> None:
    assert {each.kind for each in prepared if "p4ssw0rd" in json.dumps(each.inputs)} == {"Secret", "Tree"}
    trees = [each for each in prepared if each.kind == "Tree"]
    assert len(trees) > 5
    for each in trees:
        plain = {key: value for key, value in each.inputs.items() if key != "secrets"}
        assert "p4ssw0rd" not in json.dumps(plain), each.name


def test_containerd_of_every_prepared_node_has_the_accounts(prepared: list[Recorded]) -> None:
    for tree in (each for each in prepared if each.kind == "Tree"):
        text = tree.inputs["secrets"]["value"][CONTAINERD]  # encrypted in the state, beside the SDK's mark of a secret
        registry = tomllib.loads(text)["plugins"]["io.containerd.grpc.v1.cri"]["registry"]
        assert registry["config_path"] == "/etc/containerd/certs.d"
        assert registry["configs"][HOST]["auth"] == {"username": "robot$pull", "password": PASSWORD}
        assert registry["configs"]["registry-1.docker.io"]["auth"]["password"] == "second"  # noqa: S105


def test_a_password_is_toml_whatever_it_has() -> None:
    accounts = made().settings.images.accounts
    for password in (PASSWORD, "a\x7fb\tc", "'''\"\"\"", "${x}", "back\\slash"):
        text = registry_accounts.containerd_tables(accounts, lambda _, found=password: found)
        found = tomllib.loads(text)["plugins"]["io.containerd.grpc.v1.cri"]["registry"]["configs"]
        assert found[HOST]["auth"] == {"username": "robot$pull", "password": password}
        assert "registry-1.docker.io" in found


def test_only_with_accounts_containerds_file_is_secret() -> None:
    for of, is_plain in ((made(prepare="packages"), False), (plan(parsed(full_size("100", prepare="packages"))), True)):
        (file,) = (each for each in preparation.parts(of, of.nodes[0], KEYRING).files if each.path == CONTAINERD)
        assert (isinstance(file.content, str), file.secret, file.mode == 0o644) == (is_plain, not is_plain, is_plain)
        assert file.restarts is not None


def test_the_name_of_a_job_follows_its_secrets(prepared: list[Recorded]) -> None:
    """The pod template of a Job cannot change."""
    (before,) = (each for each in built(made(images={"accounts": {}}), None) if each.name == JOB)
    (after,) = (each for each in prepared if each.name == JOB)
    assert before.inputs["metadata"]["name"] != after.inputs["metadata"]["name"]
