"""Tests of the configuration of Ceph and its clients: keys, addresses and rights."""

from __future__ import annotations

import base64
import struct
import uuid
from collections.abc import Iterable
from dataclasses import replace

from blueprint.plan.planner import plan
from components.secrets import derive, placeholder
from openstack import ceph_client
from openstack.config import cephx
from openstack.config.formats import public_text, secret_text
from openstack.config.layers import WrittenFile
from openstack.config.wiring import Wiring, wiring
from tests.projects import PROCESSES
from tests.projects import PROJECTS as ALL
from tests.stacks import full_size, parsed

PLAN = plan(parsed(full_size("100")))
WIRING = wiring(PLAN, "openstack")
WITHOUT = replace(WIRING, monitors=())
CEPH, GLANCE, CINDER, NOVA, RADOSGW = (
    next(each for each in ALL if each.name == name) for name in ("ceph", "glance", "cinder", "nova", "radosgw")
)
PROJECTS = (CEPH, GLANCE, CINDER, NOVA, RADOSGW)


def reveal(name: str) -> str:
    return derive("root", "openstack", name, 1)


def by_name(files: Iterable[WrittenFile]) -> dict[str, WrittenFile]:
    return {file.name: file for file in files}


def storage_jobs(around: Wiring) -> dict[str, dict[str, WrittenFile]]:
    jobs = [job for project in PROJECTS for job in project.jobs(around)]
    return {job.name: by_name(job.written) for job in jobs if job.name.endswith("-storage")}


def test_a_key_has_cephs_form_and_is_always_the_same() -> None:
    key = cephx.key(reveal("ceph/client.glance"))
    raw = base64.b64decode(key)
    assert struct.unpack("<HIIH", raw[:12]) == (1, 0, 0, 16)
    assert len(raw) == 28
    assert key == cephx.key(reveal("ceph/client.glance")) != cephx.key(reveal("ceph/client.cinder"))


def test_the_identifier_is_a_uuid_of_the_stack() -> None:
    found = cephx.fsid(reveal("ceph/fsid"))
    assert str(uuid.UUID(found)) == found != cephx.fsid(derive("another root", "openstack", "ceph/fsid", 1))


def test_a_placeholder_stays_visible() -> None:
    assert cephx.key(placeholder("ceph/mgr")) == cephx.fsid(placeholder("ceph/mgr")) == "<secret ceph/mgr>"


def test_every_node_that_may_run_a_monitor_is_listed() -> None:
    entry = next(each for each in PLAN.processes if each.name == "ceph-mon")
    nodes = [node for node in PLAN.nodes if node.pool in entry.pools]
    assert len(nodes) >= 3
    text = public_text(ceph_client.configuration(WIRING)) or ""
    assert f"mon_host = {','.join(node.address for node in nodes)}\n" in text


def test_the_first_members_stay_when_monitors_are_added() -> None:
    five = replace(WIRING, instances={**WIRING.instances, "ceph-mon": 5})
    three, more = (by_name(CEPH.configure(each, "ceph-mon")) for each in (WIRING, five))
    assert public_text(more["monitors"]) == public_text(three["monitors"])
    assert (public_text(three["monitors"]) or "").count("\n") == 3


def test_copies_are_as_many_as_storage_nodes_up_to_three() -> None:
    for nodes, copies, alone in ((1, 1, "true"), (2, 2, "false"), (3, 3, "false"), (9, 3, "false")):
        around = replace(WIRING, instances={**WIRING.instances, "ceph-osd": nodes})
        text = public_text(by_name(CEPH.configure(around, "ceph-mon"))["ceph.conf"]) or ""
        assert f"osd_pool_default_size = {copies}\n" in text
        assert f"mon_allow_pool_size_one = {alone}\n" in text


def test_a_client_has_the_key_that_its_job_gives_the_account() -> None:
    made = {name: secret_text(files["account.keyring"], reveal) or "" for name, files in storage_jobs(WIRING).items()}
    assert made.keys() == {"glance-storage", "cinder-storage", "nova-storage", "radosgw-storage"}
    for project, process, job in (
        (GLANCE, "glance-api", "glance-storage"),
        (CINDER, "cinder-backup", "cinder-storage"),
        (NOVA, "nova-compute", "nova-storage"),
        (RADOSGW, "radosgw", "radosgw-storage"),
    ):
        keyrings = [file for file in project.configure(WIRING, process) if file.name.endswith(".keyring")]
        assert keyrings
        for keyring in keyrings:
            account, key = (secret_text(keyring, reveal) or "").splitlines()[:2]
            assert f"{account}\n{key}\n    caps mon" in made[job]


def test_a_job_reads_its_own_ceph_conf() -> None:
    """A file of the project with the same name would replace it, and the gateway's names another keyring."""
    plain = public_text(ceph_client.configuration(WIRING))
    for project in PROJECTS:
        for job in project.jobs(WIRING):
            files = (*job.written, *project.configure(WIRING, job.name))
            assert {public_text(file) for file in files if file.name == "ceph.conf"} <= {plain}, job.name


def test_an_account_writes_into_its_own_pool_only() -> None:
    rights = cephx.block_devices("vms", reads=("images",))
    assert rights["osd"] == "profile rbd pool=vms, profile rbd-read-only pool=images"
    for files in storage_jobs(WIRING).values():
        assert 'osd = "allow *"' not in (secret_text(files["account.keyring"], reveal) or "")


def test_libvirt_knows_the_keys_under_the_identifiers_that_nova_and_cinder_name() -> None:
    compute = by_name(NOVA.configure(WIRING, "nova-compute"))
    libvirt = by_name(NOVA.configure(WIRING, "nova-libvirt"))
    for entity, text in (
        ("client.nova", public_text(compute["nova.conf"])),
        ("client.cinder", public_text(by_name(CINDER.configure(WIRING, "cinder-volume"))["cinder.conf"])),
    ):
        number = cephx.libvirt_secret(entity)
        assert f"rbd_secret_uuid = {number}\n" in (text or "")
        assert f"<uuid>{number}</uuid>" in (public_text(libvirt[f"{entity}.xml"]) or "")
        assert secret_text(libvirt[f"{entity}.base64"], reveal) == cephx.key(reveal(f"ceph/{entity}"))
        (path,) = {
            file.path
            for container in PROCESSES["nova-libvirt"].containers
            for file in container.files
            if file.name == f"{entity}.base64"
        }
        assert path == f"/etc/libvirt/secrets/{number}.base64"


def test_no_key_is_in_a_public_text() -> None:
    for project in PROJECTS:
        for process in project.processes:
            for file in project.configure(WIRING, process.name):
                assert "AQAAAAAAAAAAABAA" not in (public_text(file) or ""), file.name


def test_a_stack_without_monitors_writes_nothing_of_ceph() -> None:
    assert storage_jobs(WITHOUT) == {}
    for project in PROJECTS:
        for process in project.processes:
            names = by_name(project.configure(WITHOUT, process.name)).keys()
            assert not {name for name in names if name == "ceph.conf" or name.endswith((".keyring", ".base64"))}
