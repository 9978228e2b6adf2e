import json

from policy.rules.class_networks import (
    ceph_in_storage_network,
    migrations_in_migration_network,
    tunnels_in_overlay_network,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, config_map, daemons, machine_pool, machines, reading

tunnels, ceph, migrations = tunnels_in_overlay_network, ceph_in_storage_network, migrations_in_migration_network
OSD = 'ceph-osd --public-addr "$POD_IP" --cluster-addr "$POD_IP"'
BY_FILE = f'POD_IP=$(cat "/var/lib/quorate/node-values/$NODE_NAME.storage")\n{OSD}'
NETWORKS = "[global]\npublic_network = 10.22.0.0/16\n[osd]\ncluster_network = 10.22.0.0/24\n"
NAMES = ("compute-1", "compute-2")


def nodes(**addresses: object) -> list[Given]:
    """Two computes, each with an address in the network of each class: the given one and a 1, or a 2."""
    written = {f"{name}Address": address for name, address in addresses.items()}
    return [
        each.but(**{key: f"{start}{number}" for key, start in written.items()})
        for number, each in enumerate(machines("compute", 2), start=1)
    ]


def pool(*addresses: str) -> Given:
    """A pool of computes with these overlay addresses."""
    rows = [
        {"node": f"compute-{number}", "server": f"s{number}", "rack": "r", "address": f"10.0.0.{number}"}
        | ({"overlayAddress": address} if address else {})
        for number, address in enumerate(addresses, start=1)
    ]
    return machine_pool("compute").but(nodes=json.dumps(rows))


def agent(*config_maps: str) -> Given:
    return reading(daemons("neutron-l2-agent", "compute", row="neutron-l2-agent"), *config_maps)


def ends(*addresses: str) -> Given:
    """The ConfigMap with the ends of the tunnels of each node."""
    pairs = zip(NAMES, addresses, strict=False)
    return config_map("nodes", {f"{name}.conf": f"[ovs]\nlocal_ip = {address}\n" for name, address in pairs})


def controller(*config_maps: str) -> Given:
    return reading(daemons("ovn-controller", "compute", row="neutron-l2-agent"), *config_maps)


def encapsulated(*addresses: str) -> Given:
    """The ConfigMap with the address of each node for ovn-controller's script."""
    pairs = zip(NAMES, addresses, strict=False)
    return config_map("nodes", {f"{name}.overlay": f"{address}\n" for name, address in pairs})


def osds(command: object, *config_maps: str) -> Given:
    built = reading(daemons("ceph-osd", "compute", row="ceph-osd"), *config_maps)
    container = {"name": "main", "image": "registry/ceph:1", "command": ["bash", "-ec"], "args": [command]}
    return built.but(spec__template__spec__containers=[container])


def stored(*addresses: str) -> Given:
    """The ConfigMap with the storage address of each node."""
    pairs = zip(NAMES, addresses, strict=False)
    return config_map("nodes", {f"{name}.storage": f"{address}\n" for name, address in pairs})


def compute() -> Given:
    return reading(daemons("nova-compute", "compute", row="nova-compute"), "nodes")


def inbound(*addresses: str) -> Given:
    """The ConfigMap with the address of migrations of each node, beside other values."""
    pairs = zip(NAMES, addresses, strict=False)
    head = "[DEFAULT]\nreserved_host_cpus = 2\n[libvirt]\nlive_migration_inbound_addr ="
    return config_map("nodes", {f"{name}.conf": f"{head} {address}\n" for name, address in pairs})


CASES = (
    case(
        migrations,
        "each node's own address",
        cloud(),
        nodes(migration="10.23.0."),
        compute(),
        inbound("10.23.0.1", "10.23.0.2"),
        passes="nova-compute",
    ),
    case(
        migrations,
        "the management address on one node",
        cloud(),
        nodes(migration="10.23.0."),
        compute(),
        inbound("10.23.0.1"),
        fails="nova-compute",
        message="uses the management address on compute-2; expected the node's migration address, such as 10.23.0.2 on",
    ),
    case(
        migrations,
        "an address of the storage network",
        cloud(),
        nodes(migration="10.23.0.", storage="10.22.0."),
        compute(),
        inbound("10.22.0.1", "10.22.0.2"),
        fails="nova-compute",
    ),
    case(migrations, "nodes with storage addresses only", cloud(), nodes(storage="10.22.0."), compute(), inbound()),
    case(
        migrations,
        "unknown values",
        cloud(),
        nodes(migration="10.23.0."),
        compute(),
        config_map("nodes", {"compute-2.conf": UNKNOWN}),
        undecided="nova-compute",
    ),
    case(
        ceph,
        "each node's own address",
        cloud(),
        nodes(storage="10.22.0."),
        osds(BY_FILE, "nodes"),
        stored("10.22.0.1", "10.22.0.2"),
        passes="ceph-osd",
    ),
    case(
        ceph,
        "networks of ceph.conf",
        cloud(),
        nodes(storage="10.22.0."),
        osds("exec ceph-osd", "conf"),
        config_map("conf", {"ceph.conf": NETWORKS}),
        passes="ceph-osd",
    ),
    case(
        ceph,
        "the pod's address",
        cloud(),
        nodes(storage="10.22.0."),
        osds(OSD, "nodes", "conf"),
        stored("10.22.0.1", "10.22.0.2"),
        config_map("conf", {"ceph.conf": NETWORKS}),
        fails="ceph-osd",
        message="uses the management address on compute-1, and other addresses on compute-2; expected the node's "
        "storage address, such as 10.22.0.1 on compute-1",
    ),
    case(
        ceph,
        "the address of another node",
        cloud(),
        nodes(storage="10.22.0."),
        osds(BY_FILE, "nodes"),
        stored("10.22.0.1", "10.22.0.1"),
        fails="ceph-osd",
        message="uses 10.22.0.1 on compute-2",
    ),
    case(
        ceph,
        "the file of another network",
        cloud(),
        nodes(storage="10.22.0."),
        osds(BY_FILE.replace(".storage", ".overlay"), "nodes"),
        stored("10.22.0.1", "10.22.0.2"),
        fails="ceph-osd",
        message="uses the management address on compute-1",
    ),
    case(
        ceph,
        "only one of the two networks",
        cloud(),
        nodes(storage="10.22.0."),
        osds("exec ceph-osd", "conf"),
        config_map("conf", {"ceph.conf": "[global]\npublic_network = 10.22.0.0/16\n"}),
        fails="ceph-osd",
    ),
    case(ceph, "no node has an address", cloud(), machines("compute", 2), osds(OSD)),
    case(ceph, "another service", cloud(), nodes(storage="10.22.0."), daemons("node-exporter", "compute")),
    case(
        ceph,
        "networks that cannot be read",
        cloud(),
        nodes(storage="10.22.0."),
        osds("exec ceph-osd", "conf"),
        config_map("conf", {"ceph.conf": "[osd]\npublic_network = storage\n"}),
        undecided="ceph-osd",
    ),
    case(
        ceph,
        "an unknown command",
        cloud(),
        nodes(storage="10.22.0."),
        osds(UNKNOWN, "nodes"),
        stored("10.22.0.1", "10.22.0.2"),
        undecided="ceph-osd",
    ),
    case(
        tunnels,
        "each node's own address",
        cloud(),
        nodes(overlay="10.21.0."),
        agent("nodes"),
        ends("10.21.0.1", "10.21.0.2"),
        passes="neutron-l2-agent",
    ),
    case(
        tunnels,
        "computes of one resource",
        cloud(),
        pool("10.21.0.1", "10.21.0.2"),
        agent("nodes"),
        ends("10.21.0.1", "10.21.0.2"),
        passes="neutron-l2-agent",
    ),
    case(
        tunnels,
        "no values of single nodes",
        cloud(),
        nodes(overlay="10.21.0."),
        agent(),
        fails="neutron-l2-agent",
        message="uses the management address on compute-1, and other addresses on compute-2; expected the node's "
        "overlay address, such as 10.21.0.1 on compute-1",
    ),
    case(
        tunnels,
        "another address on one node",
        cloud(),
        nodes(overlay="10.21.0."),
        agent("nodes"),
        ends("10.21.0.1", "10.22.0.2"),
        fails="neutron-l2-agent",
        message="uses 10.22.0.2 on compute-2; expected the node's overlay address, such as 10.21.0.2 on compute-2",
    ),
    case(
        tunnels,
        "a ConfigMap that the pods do not mount",
        cloud(),
        nodes(overlay="10.21.0."),
        agent(),
        ends("10.21.0.1", "10.21.0.2"),
        fails="neutron-l2-agent",
    ),
    case(
        tunnels,
        "two nodes with one address",
        cloud(),
        pool("10.21.0.1", "10.21.0.1"),
        agent("nodes"),
        ends("10.21.0.1", "10.21.0.1"),
        fails="neutron-l2-agent",
        message="several nodes use 10.21.0.1; expected an address of its own for each",
    ),
    case(
        tunnels,
        "a node without an address",
        cloud(),
        pool("10.21.0.1", ""),
        agent("nodes"),
        ends("10.21.0.1"),
        fails="neutron-l2-agent",
        message="runs on nodes without an address in the overlay network: compute-2; expected one on every node",
    ),
    case(
        tunnels,
        "each node's own address, of ovn-controller",
        cloud(networks="ovn"),
        nodes(overlay="10.21.0."),
        controller("nodes"),
        encapsulated("10.21.0.1", "10.21.0.2"),
        passes="ovn-controller",
    ),
    case(
        tunnels,
        "another address on one node, of ovn-controller",
        cloud(networks="ovn"),
        nodes(overlay="10.21.0."),
        controller("nodes"),
        encapsulated("10.21.0.1"),
        fails="ovn-controller",
        message="uses the management address on compute-2; expected the node's overlay address, such as 10.21.0.2 on "
        "compute-2",
    ),
    case(
        tunnels,
        "unknown address of ovn-controller",
        cloud(networks="ovn"),
        nodes(overlay="10.21.0."),
        controller("nodes"),
        config_map("nodes", {"compute-1.overlay": UNKNOWN}),
        undecided="ovn-controller",
    ),
    case(tunnels, "no node has an address", cloud(), machines("compute", 2), agent("nodes"), ends("10.21.0.1")),
    case(
        tunnels,
        "another service",
        cloud(),
        nodes(overlay="10.21.0."),
        reading(daemons("node-exporter", "compute"), "nodes"),
    ),
    case(
        tunnels,
        "unknown ends",
        cloud(),
        nodes(overlay="10.21.0."),
        agent("nodes"),
        config_map("nodes", {"compute-1.conf": UNKNOWN}),
        undecided="neutron-l2-agent",
    ),
)
