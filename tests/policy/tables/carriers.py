from policy.rules.carriers import carriers_have_own_pods
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, daemons

own = carriers_have_own_pods


def running(*programs: object) -> Given:
    """A DaemonSet whose pods run these images, as containers c0, c1 and so on."""
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(programs)]
    return daemons("switch", "compute").but(spec__template__spec__containers=containers)


CASES = (
    case(own, "the switch alone", cloud(), running("mirror/openvswitch-vswitchd:1"), passes="switch"),
    case(
        own,
        "both processes of the switch",
        cloud(),
        running("openvswitch-vswitchd:1", "ovs/ovsdb-server:3"),
        passes="switch",
    ),
    case(own, "libvirtd alone", cloud(), running("nova-libvirt:1"), passes="switch"),
    case(
        own,
        "the switch beside Neutron's agent",
        cloud(),
        running("neutron-openvswitch-agent:1", "openvswitch-vswitchd:1", "openvswitch-db-server:1"),
        fails="switch",
        message="neutron-openvswitch-agent restarts with it; expected a pod of its own",
    ),
    case(
        own,
        "libvirtd beside nova-compute",
        cloud(),
        running("mirror/openstack.kolla/nova-compute:1", "nova-libvirt:1"),
        fails="switch",
        message="nova-compute restarts with it",
    ),
    case(
        own,
        "images that say nothing, and containers that do",
        cloud(),
        daemons("node", "compute").but(
            spec__template__spec__containers=[
                {"name": "libvirt", "image": "site/all:1"},
                {"name": "nova-compute", "image": "site/all:1"},
            ]
        ),
        fails="node",
    ),
    case(own, "agents alone", cloud(), running("neutron-openvswitch-agent:1", "nova-compute:1")),
    case(own, "exporters and clients", cloud(), running("libvirt-exporter:1", "openvswitch-exporter:1")),
    case(own, "an image that is not known", cloud(), running("openvswitch-vswitchd:1", UNKNOWN), undecided="switch"),
)
