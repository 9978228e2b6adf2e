"""Broken stacks with too little room for pods, or with too many computes for the architecture."""

import json

from tests.broken.broken import Broken, Props, requesting


def _another(props: Props) -> None:
    nodes = json.loads(props["nodes"])
    another = nodes[-1] | {"node": "cmp301", "server": "cmp301", "address": "10.20.5.200"}
    props["nodes"] = json.dumps([*nodes, another])


CASES = [
    Broken(
        "a pod that fits no node",
        (("Deployment", "cloud-openstack-keystone", requesting("2", "300Gi")),),
        {"pod-fits-node": {"cloud-openstack-keystone"}},
    ),
    Broken(
        "room in fair weather only",
        (
            ("Deployment", "cloud-openstack-nova-api", requesting("16", "8Gi")),
            ("Deployment", "cloud-openstack-nova-conductor", requesting("16", "8Gi")),
        ),
        {"requests-fit-after-loss": {"cloud-openstack-nova-api"}, "room-in-any-order": {"cloud-ctl04", "cloud-ctl07"}},
    ),
    Broken(
        "more computes than the architecture is for",
        (("MachinePool", "cloud-compute-24c-256g", _another),),
        {"architecture-fits-computes": {"cloud"}},
    ),
]
