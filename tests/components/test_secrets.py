"""Secrets of services: derived, independent of each other, and only in Secret objects."""

from __future__ import annotations

import base64
import json
from itertools import product
from typing import Any

import pulumi
import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from formats import ssh_key
from formats.derived_secret import derive
from openstack.config import cephx
from openstack.config.formats import public_text, secret_names, secret_text
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, TextFile
from tests.recording import Recorded, record
from tests.stacks import STACKS

ROOT = "root secret of a test"
FILE = ConfigFile(
    "keystone.conf",
    "ini",
    (Layer(Origin.PROJECT, "-", {"database": {"connection": Secret("keystone/database", "mysql://k:{}@h"), "a": 1}}),),
    fragment="/etc/keystone/keystone.conf.d/secrets.conf",
)


def test_a_secret_follows_root_environment_name_and_generation_and_nothing_else() -> None:
    inputs = list(product(("one root", "another"), ("blue", "green"), ("nova/database", "nova/identity"), (1, 2)))
    found = {derive(*each) for each in inputs}
    assert len(found) == len(inputs)
    assert found == {derive(*each) for each in inputs}


def test_derivation_stays_as_it_is() -> None:
    """Other values would lock every service of a running cloud out of its database."""
    assert derive(ROOT, "openstack", "keystone/database", 1) == "epTVHMfWLLZZl9uLqI8q1yft4EsLQOsTsGUx_Q4K4KI="


def test_a_secret_is_a_fernet_key_and_safe_in_a_url() -> None:
    secret = derive(ROOT, "openstack", "keystone/fernet-key-1", 1)
    assert len(base64.urlsafe_b64decode(secret)) == 32
    assert set(secret) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=")


def test_options_with_secrets_are_in_the_fragment_and_the_others_in_the_file() -> None:
    assert public_text(FILE) == "[database]\na = 1\n"
    assert secret_text(FILE, str.upper) == "[database]\nconnection = mysql://k:KEYSTONE/DATABASE@h\n"
    assert secret_names(FILE) == {"keystone/database"}


def test_a_text_with_a_secret_is_secret_as_a_whole() -> None:
    file = TextFile("client.cnf", ("password=", Secret("a/b"), "\n"))
    assert public_text(file) is None
    assert secret_text(file, str.upper) == "password=A/B\n"
    assert public_text(TextFile("x", ("text",))) == "text"
    assert secret_text(TextFile("x", ("text",)), str.upper) is None


def test_a_file_with_secrets_and_no_fragment_is_secret_as_a_whole() -> None:
    whole = ConfigFile("nova.conf", "ini", FILE.layers)
    assert public_text(whole) is None
    text = secret_text(whole, str.upper) or ""
    assert (public_text(FILE) or "").splitlines()[-1] in text
    assert (secret_text(FILE, str.upper) or "").splitlines()[-1] in text


def cloud(root: str | None) -> list[Recorded]:
    made = plan(load_file(STACKS["dev"]))

    def build() -> None:
        secret = pulumi.Output.secret(root) if root else None
        Cloud("cloud", CloudArgs(made, "test", Render("test"), secret))

    return record(build)


@pytest.fixture(scope="module")
def dev() -> list[Recorded]:
    return cloud(ROOT)


def texts(inputs: dict[str, Any]) -> str:
    return json.dumps(inputs)


def secret_values(dev: list[Recorded]) -> set[str]:
    names = {
        pair.partition("=")[0]
        for each in dev
        if "spec" in each.inputs and "template" in each.inputs["spec"]
        for pair in each.inputs["spec"]["template"]["metadata"]["annotations"]
        .get("quorate.io/secret-generations", "")
        .split(",")
    }
    return {_written(name, derive(ROOT, "openstack", name, 1)) for name in names if name}


def _written(name: str, secret: str) -> str:
    """Returns a secret as a Secret object contains it: Ceph's as a cephx key, Heat's as the first 32 characters.

    Of a private key of SSH, this is a line of its file.
    """
    if name.startswith("nova/ssh"):
        return ssh_key.derived(secret).private.splitlines()[-3]
    if name == "ceph/fsid":
        return cephx.fsid(secret)
    return cephx.key(secret) if name.startswith("ceph/") else secret[:32]


def test_secrets_are_in_secret_objects_and_nowhere_else(dev: list[Recorded]) -> None:
    values = secret_values(dev)
    assert len(values) > 15
    for each in dev:
        if each.kind != "Secret":
            assert not [value for value in values if value in texts(each.inputs)], each.name
    written = "".join(texts(each.inputs) for each in dev if each.kind == "Secret")
    assert not [value for value in values if value not in written]
    assert ROOT not in "".join(texts(each.inputs) for each in dev)


def test_only_secret_objects_go_to_the_directory_of_secrets(dev: list[Recorded]) -> None:
    providers = {each.name: each.inputs["renderYamlToDirectory"] for each in dev if each.kind == "kubernetes"}
    assert providers["render-secrets"] == "build/test/secrets/manifests"


def test_without_the_root_secret_placeholders_stand_for_secrets() -> None:
    written = [texts(each.inputs) for each in cloud(None) if each.name == "cloud-openstack-keystone-secrets"]
    assert "<secret keystone/database>" in written[0]


def test_computes_have_no_password_of_a_database(dev: list[Recorded]) -> None:
    for name in ("nova-compute", "neutron-l2-agent", "neutron-l3-agent", "neutron-dhcp-agent"):
        held = [each for each in dev if each.kind == "Secret" and each.name == f"cloud-openstack-{name}-secrets"]
        assert all("mysql" not in texts(each.inputs) for each in held), name
