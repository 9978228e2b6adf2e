"""Counts of instances, and services that run everywhere."""

from tests.broken.broken import Broken, moved_to, replicas

CASES = [
    Broken(
        "an instance less than the row",
        (("Deployment", "cloud-glance-api", replicas(2)),),
        {"instances-match-row": {"cloud-glance-api"}},
    ),
    Broken(
        "the L2 agent away from computes",
        (("DaemonSet", "cloud-neutron-l2-agent", moved_to("keystone")),),
        {
            "everywhere-rows-are-daemons": {"cloud-neutron-l2-agent"},
            "l2-agent-goes-along": {"cloud-nova-compute"},
        },
    ),
]
