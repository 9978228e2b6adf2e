"""Bad inputs: external Ceph clusters that clients could not reach, and settings that mean nothing with one."""

from __future__ import annotations

from typing import Any

import yaml

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack
from tests.stacks import external_ceph, server, without_storage

KEY = "quorate:ceph.external"
KEYRING = "AQBSHfJXID9pFRAAm4VLpbNXa4XJ9zgAh7dm2g=="
GLANCE = {"key": {"environment": "GLANCE_KEY"}}
CINDER = {"key": {"file": "cinder.key"}}


def external(said: str, **changes: Any) -> Bad:
    """A stack without storage nodes whose external Ceph has these keys changed."""
    return Bad(stack(**{**without_storage("100"), "ceph": external_ceph(**changes)}), said)


def accounts(said: str, **changes: Any) -> Bad:
    return external(said, accounts={"glance": GLANCE, "cinder": CINDER, **changes})


def beside(said: str, **changes: Any) -> Bad:
    """A stack with a valid external Ceph and other keys, which are wrong beside it."""
    return Bad(stack(**{**without_storage("100"), **changes}), said)


def _without(**changes: Any) -> str:
    """A stack file whose external Ceph lacks keys: those whose value is None."""
    document = yaml.safe_load(stack(**without_storage("100")))
    cluster = document["config"]["quorate:ceph"]["external"]
    for name in changes:
        del cluster[name]
    return yaml.safe_dump(document)


SERVERS = without_storage("100")["servers"]
HOST = server("v1", ["virt"], "10.20.9.9", vms=[{"id": 0, "cpu": 4, "ram": 8, "address": "10.20.9.20"}])
CASES = {
    "no cluster": Bad(stack(ceph={}), f"{KEY}: is missing; write it (a cluster that Quorate does not run)"),
    "a bad fsid": external(f"{KEY}.fsid: 'ceph' does not fit; write the cluster's identifier", fsid="ceph"),
    "an fsid of Windows": external(f"{KEY}.fsid: '{{AFCA", fsid="{AFCA8524-2C47-4B81-A0B7-2300E62212F9}"),
    "no fsid": Bad(_without(fsid=None), f"{KEY}.fsid: is missing; write it (what 'ceph fsid' prints)"),
    "no monitors": external(f"{KEY}.monitors: an empty list does not fit; write at least 1", monitors=[]),
    "a monitor with a port": external(f"{KEY}.monitors[0]: '10.9.0.2:6789' does not fit", monitors=["10.9.0.2:6789"]),
    "a monitor twice": external(f"{KEY}.monitors: 'mon1' is listed twice; write it once", monitors=["mon1", "mon1"]),
    "no accounts": Bad(_without(accounts=None), f"{KEY}.accounts: is missing; write it"),
    "no account of Cinder": external(f"{KEY}.accounts.cinder: is missing; write it", accounts={"glance": GLANCE}),
    "an account without a key": accounts(f"{KEY}.accounts.nova.key: is missing; write it", nova={"name": "nova"}),
    "a key in clear text": accounts(
        f"{KEY}.accounts.glance.key: holds a secret in clear text; remove it from the file", glance={"key": KEYRING}
    ),
    "a whole keyring": accounts(
        f"{KEY}.accounts.glance.key: holds a secret in clear text", glance={"key": f"[client.glance]\nkey = {KEYRING}"}
    ),
    "a key at a place that is none": accounts(
        f"{KEY}.accounts.glance.key: is not the place of a secret; write {{environment: NAME}}",
        glance={"key": {"vault": "a/b"}},
    ),
    "an account of another program": accounts(f"{KEY}.accounts.manila: unknown key; write one of", manila=GLANCE),
    "a name as a keyring has it": accounts(
        f"{KEY}.accounts.glance.name: client.images is the name in a keyring; write images, without client.",
        glance={**GLANCE, "name": "client.images"},
    ),
    "a name with spaces": accounts(f"{KEY}.accounts.glance.name: 'a b' does not fit", glance={**GLANCE, "name": "a b"}),
    "two keys of one account": accounts(
        f"{KEY}.accounts: glance and cinder have different keys of openstack; an account has one key",
        glance={**GLANCE, "name": "openstack"},
        cinder={**CINDER, "name": "openstack"},
    ),
    "a default name with the key of another": accounts(
        f"{KEY}.accounts: nova and cinder-backup have different keys of cinder-backup",
        nova={**GLANCE, "name": "cinder-backup"},
        **{"cinder-backup": CINDER},
    ),
    "a pool twice": external(f"{KEY}.pools: 'vms' is the pool of volumes and vms; write one", pools={"volumes": "vms"}),
    "an unknown pool": external(f"{KEY}.pools.metrics: unknown key; write one of: images", pools={"metrics": "m"}),
    "an object store without a password": external(
        f"{KEY}.objectStore.password: is missing; write it", objectStore={"internal": "https://rgw.example"}
    ),
    "an object store without a scheme": external(
        f"{KEY}.objectStore.internal: 'rgw.example/swift' does not fit; write an address such as",
        objectStore={"internal": "rgw.example/swift", "password": {"environment": "RGW"}},
    ),
    "a storage node": beside(
        "quorate:servers[3] (stor1).roles: storage is for Ceph's OSDs, which the stack does not run; with "
        "quorate:ceph.external, remove the role",
        servers=[*SERVERS, server("stor1", ["storage"], "10.20.9.1")],
    ),
    "a virtual machine of role storage": beside(
        "quorate:servers[3] (v1).vms[0].roles: storage is for Ceph's OSDs",
        servers=[*SERVERS, {**HOST, "vms": [{**HOST["vms"][0], "roles": ["storage"]}]}],
        features=["reduced-footprint"],
    ),
    "monitors of the stack": beside(
        "quorate:services.ceph-mon: is not run with quorate:ceph.external; remove it",
        services={"ceph-mon": {"replicas": 5}},
    ),
    "a gateway of the stack": beside(
        "quorate:services.radosgw: is not run with quorate:ceph.external; remove it",
        services={"radosgw": {"replicas": 5}},
    ),
    "a network of OSDs": beside(
        "quorate:networks.storage: the stack has no ceph-osd, which alone uses it; remove it",
        networks={"storage": {"cidr": "10.22.0.0/16"}},
    ),
    "options of Ceph's daemons": beside(
        "quorate:projects.ceph: is for Ceph's daemons, which the stack does not run",
        projects={"ceph": {"options": {"ceph.conf": {"mon": {"mon_allow_pool_delete": True}}}}},
    ),
}
