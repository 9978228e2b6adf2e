"""Broken stacks with wrong numbers of instances, or with services that do not run on every node."""

from tests.broken.broken import Broken, moved_to, replicas

CASES = [
    Broken(
        "an instance less than the row",
        (("Deployment", "cloud-openstack-glance-api", replicas(2)),),
        {"instances-match-row": {"cloud-openstack-glance-api"}},
    ),
    Broken(
        "the L2 agent away from computes",
        (("DaemonSet", "cloud-openstack-neutron-l2-agent", moved_to("keystone")),),
        {
            "everywhere-rows-are-daemons": {
                "cloud-openstack-neutron-l2-agent",
                "cloud-openstack-neutron-l2-agent-network",
            },
            "l2-agent-goes-along": {"cloud-openstack-nova-compute"},
        },
    ),
]
