"""Tests of clients of an external Ceph cluster: addresses, pools, accounts and keys are those of the stack file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from blueprint.openstack import given_secret
from blueprint.openstack.projects.process_definition import ProcessDefinition
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile import given_secrets
from blueprint.stackfile.loader import from_pulumi
from openstack import ceph_client, configuration
from openstack.config import cephx
from openstack.config.formats import public_text, secret_names, secret_text
from openstack.config.layers import ConfigFile, Setting, WrittenFile
from openstack.config.wiring import Wiring, wiring
from openstack.definition import JobDefinition
from tests.projects import PROCESSES, PROJECTS
from tests.stacks import external_ceph, parsed, without_storage

KEYS = {"given/GLANCE_KEY": "glances", "given/CINDER_KEY": "cinders", "given/NOVA": "novas", "given/BACKUP": "backups"}
ACCOUNTS = {
    "glance": {"name": "east-images", "key": {"environment": "GLANCE_KEY"}},
    "cinder": {"name": "east-volumes", "key": {"environment": "CINDER_KEY"}},
    "nova": {"key": {"environment": "NOVA"}},
    "cinder-backup": {"name": "east-backups", "key": {"environment": "BACKUP"}},
}
POOLS = {"images": "east-i", "volumes": "east-v", "vms": "east-d", "backups": "east-b"}
STORE = {"internal": "https://rgw.example/swift/v1/AUTH_%(project_id)s", "password": {"environment": "RGW"}}


def planned(**changes: Any) -> Plan:
    return plan(parsed(without_storage("100") | {"ceph": external_ceph(**changes)}))


DEFAULT, NAMED = planned(), planned(accounts=ACCOUNTS, pools=POOLS, objectStore=STORE)


def around(of: Plan) -> Wiring:
    return wiring(of, "openstack")


def written(of: Plan, service: str) -> dict[str, WrittenFile]:
    return {file.name: file for file in configuration.of_service(of, service)}


def placed(of: Plan, service: str) -> ProcessDefinition:
    return ceph_client.placed(PROCESSES[service], of.settings.external_ceph)


def paths(process: ProcessDefinition) -> dict[str, str]:
    return {file.name: file.path for container in process.containers for file in container.files}


def options(file: WrittenFile, section: str) -> Mapping[str, Setting]:
    assert isinstance(file, ConfigFile)
    return file.document()[section]


def jobs(of: Plan) -> list[JobDefinition]:
    return [job for project in PROJECTS for job in project.jobs(around(of))]


def all_files(of: Plan) -> Iterator[tuple[str, WrittenFile]]:
    for entry in of.processes:
        yield from ((entry.name, file) for file in configuration.of_service(of, entry.name))


def test_clients_get_the_clusters_monitors_and_identifier() -> None:
    for service in ("glance-api", "cinder-volume", "cinder-backup", "nova-compute", "nova-libvirt"):
        text = public_text(written(DEFAULT, service)["ceph.conf"]) or ""
        assert "fsid = afca8524-2c47-4b81-a0b7-2300e62212f9\n" in text, service
        assert "mon_host = 10.90.0.2,10.90.0.3,10.90.0.4\n" in text, service


def test_no_secret_of_a_stacks_own_ceph_is_derived() -> None:
    names = {name for _, file in all_files(NAMED) for name in secret_names(file)}
    names |= {name for job in jobs(NAMED) for file in job.written for name in secret_names(file)}
    assert not [name for name in names if name.startswith("ceph/")]
    assert names >= KEYS.keys()


def test_nothing_of_ceph_is_planned_and_no_job_asks_its_administrator() -> None:
    for of in (DEFAULT, NAMED):
        assert not {"ceph-mon", "ceph-osd", "radosgw"} & {entry.process for entry in of.processes}
        assert not [job.name for job in jobs(of) if job.name.endswith("-storage")]
        assert not [job.name for job in jobs(of) if "ceph-mon" in job.quorums]
        assert not [warning for warning in of.warnings if "OSD" in warning]


def test_services_use_the_clusters_pools_and_accounts() -> None:
    glance, cinder = written(NAMED, "glance-api")["glance-api.conf"], written(NAMED, "cinder-volume")["cinder.conf"]
    store, volumes, disks = (
        options(glance, "ceph"),
        options(cinder, "ceph"),
        options(written(NAMED, "nova-compute")["nova.conf"], "libvirt"),
    )
    assert (store["rbd_store_pool"].value, store["rbd_store_user"].value) == ("east-i", "east-images")
    assert (volumes["rbd_pool"].value, volumes["rbd_user"].value) == ("east-v", "east-volumes")
    assert (disks["images_rbd_pool"].value, disks["rbd_user"].value) == ("east-d", "nova")
    backups = options(cinder, "DEFAULT")
    assert (backups["backup_ceph_pool"].value, backups["backup_ceph_user"].value) == ("east-b", "east-backups")


def test_a_keyring_is_where_clients_look_for_the_accounts_name() -> None:
    assert (
        paths(placed(NAMED, "glance-api"))["ceph.client.glance.keyring"] == "/etc/ceph/ceph.client.east-images.keyring"
    )
    assert secret_text(written(NAMED, "glance-api")["ceph.client.glance.keyring"], KEYS.__getitem__) == (
        "[client.east-images]\n    key = glances\n"
    )
    backup = paths(placed(NAMED, "cinder-backup"))
    assert backup["ceph.client.cinder.keyring"] == "/etc/ceph/ceph.client.east-volumes.keyring"
    assert backup["ceph.client.cinder-backup.keyring"] == "/etc/ceph/ceph.client.east-backups.keyring"
    assert paths(placed(NAMED, "cinder-volume"))["ceph.conf"] == "/etc/ceph/ceph.conf"


def test_nova_and_backups_use_cinders_account_if_they_have_none() -> None:
    disks = options(written(DEFAULT, "nova-compute")["nova.conf"], "libvirt")
    assert disks["rbd_user"].value == "cinder"
    assert disks["rbd_secret_uuid"].value == cephx.libvirt_secret("client.nova")
    assert paths(placed(DEFAULT, "nova-compute"))["ceph.client.nova.keyring"] == "/etc/ceph/ceph.client.cinder.keyring"
    backup = paths(placed(DEFAULT, "cinder-backup"))
    keyrings = [name for name, path in backup.items() if path == "/etc/ceph/ceph.client.cinder.keyring"]
    assert keyrings == ["ceph.client.cinder.keyring"], "one file has one source"


def test_libvirt_gets_the_keys_under_the_identifiers_of_its_files() -> None:
    files = written(NAMED, "nova-libvirt")
    for program, key in (("client.nova", "novas"), ("client.cinder", "cinders")):
        assert secret_text(files[f"{program}.base64"], KEYS.__getitem__) == key
        found = re.search("<uuid>(.*)</uuid>", public_text(files[f"{program}.xml"]) or "")
        assert found
        assert f"/{found[1]}.xml" in paths(placed(NAMED, "nova-libvirt"))[f"{program}.xml"]
    volumes = options(written(NAMED, "cinder-volume")["cinder.conf"], "ceph")
    assert f"<uuid>{volumes['rbd_secret_uuid'].value}</uuid>" in (public_text(files["client.cinder.xml"]) or "")


def test_the_gateway_of_the_cluster_is_in_the_catalog() -> None:
    (job,) = (each for each in jobs(NAMED) if "object-store" in each.name)
    text = "".join(public_text(file) or "" for file in job.written if file.name == "account.json")
    assert text.count('"https://rgw.example/swift/v1/AUTH_%(project_id)s"') == 2
    assert '"type": "object-store"' in text
    assert '"user": "radosgw"' in text
    assert ("PASSWORD", "given/RGW") in [(name, secret.key) for name, secret in job.secrets]
    public = planned(objectStore={**STORE, "public": "https://store.example/swift/v1"})
    (job,) = (each for each in jobs(public) if "object-store" in each.name)
    assert '"public": "https://store.example/swift/v1"' in "".join(public_text(file) or "" for file in job.written)


def test_without_a_gateway_the_cloud_has_no_object_storage() -> None:
    assert not [job.name for job in jobs(DEFAULT) if "object-store" in job.name]
    texts = [public_text(file) or "" for job in jobs(DEFAULT) for file in job.written]
    assert not [text for text in texts if '"type": "object-store"' in text and "rgw" in text]


def test_keys_are_found_where_the_stack_says_and_have_cephs_form() -> None:
    wanted = given_secrets.used(NAMED.settings)
    where = "quorate:ceph.external"
    assert {key: secret.key.removeprefix(given_secret.PREFIX) for key, secret in wanted.items()} == {
        f"{where}.accounts.glance.key": "GLANCE_KEY",
        f"{where}.accounts.cinder.key": "CINDER_KEY",
        f"{where}.accounts.nova.key": "NOVA",
        f"{where}.accounts.cinder-backup.key": "BACKUP",
        f"{where}.objectStore.password": "RGW",
    }
    # From the example of source 004, 2.3.1, and the same with a byte less.
    good, cut = "AQBSHfJXID9pFRAAm4VLpbNXa4XJ9zgAh7dm2g==", "AQBSHfJXID9pFRAAm4VLpbNXa4XJ9zgAh7dm"
    environment = {"GLANCE_KEY": good, "CINDER_KEY": cut, "NOVA": "hunter2", "BACKUP": good, "RGW": "hunter2"}
    values, problems = given_secrets.read(wanted, environment)
    assert [problem.key for problem in problems] == [f"{where}.accounts.{each}.key" for each in ("cinder", "nova")]
    assert all("is not a key of Ceph; write what 'ceph auth get-key" in problem.message for problem in problems)
    assert not [problem for problem in problems if "hunter2" in str(problem) or cut in str(problem)]
    assert values["given/GLANCE_KEY"] == good


def test_a_key_may_be_encrypted_in_the_stack_file() -> None:
    def annotated(secure: str) -> str:
        keys = {name: {"key": {"secure": f"v1:{name}:{secure}"}} for name in ("glance", "cinder")}
        wanted = given_secrets.used(planned(accounts=keys).settings)
        assert given_secrets.read(wanted, {}) == ({}, []), "Pulumi decrypts it"
        return wanted["quorate:ceph.external.accounts.glance.key"].key

    assert annotated("a") == annotated("a") != annotated("b")


def test_pulumi_without_the_stack_s_copy_is_told_of_it() -> None:
    """The engine passes on the whole key `ceph`, decrypted, if one value in it is encrypted."""
    keys = {name: {"key": "AQBSHfJXID9pFRAAm4VLpbNXa4XJ9zgAh7dm2g=="} for name in ("glance", "cinder")}
    stack = without_storage("100") | {"ceph": external_ceph(accounts=keys)}
    config = {f"quorate:{key}": value if isinstance(value, str) else json.dumps(value) for key, value in stack.items()}
    with pytest.raises(InvalidStackError) as refused:
        from_pulumi(config, {"quorate:ceph"})
    told = "quorate:ceph: has encrypted values, which only the stack's copy passes on; run 'quorate'"
    assert [str(problem).startswith(told) for problem in refused.value.problems] == [True]
    assert "AQBS" not in str(refused.value)


def test_a_stack_with_its_own_ceph_is_unchanged() -> None:
    own = replace(around(DEFAULT), external_ceph=None)
    assert ceph_client.client(own, "client.glance") == cephx.own_client("client.glance")
    assert ceph_client.placed(PROCESSES["glance-api"], None) is PROCESSES["glance-api"]
