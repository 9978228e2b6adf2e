from policy.rules.ceph_copies import ceph_acknowledges_two_copies, ceph_copies_on_servers
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, config_map, daemons, machine, machines

copies, servers = ceph_acknowledges_two_copies, ceph_copies_on_servers
OSDS = daemons("ceph-osd", "storage", row="ceph-osd")


def configured(text: object) -> Given:
    return config_map("ceph", {"ceph.conf": text})


CASES = (
    case(servers, "three servers", cloud(), machines("storage"), OSDS, passes="ceph-osd"),
    case(
        servers,
        "two servers and Ceph's default",
        cloud(),
        machines("storage", 2),
        OSDS,
        fails="ceph-osd",
        message="OSDs can run on 2 servers: storage-1, storage-2; expected 3, one for each copy",
    ),
    case(
        servers,
        "three nodes of two servers",
        cloud(),
        machines("storage", 2),
        machine("storage-3", "storage", server="storage-2"),
        OSDS,
        fails="ceph-osd",
    ),
    case(
        servers,
        "two copies on two servers",
        cloud(),
        machines("storage", 2),
        OSDS,
        configured("[global]\nosd_pool_default_size = 2\n"),
        passes="ceph-osd",
    ),
    case(servers, "no OSDs", cloud(), machines("storage", 2)),
    case(servers, "unknown copies", cloud(), machines("storage"), OSDS, configured(UNKNOWN), undecided="ceph-osd"),
    case(
        copies,
        "two of three",
        configured("[mon]\nosd_pool_default_size = 3\nosd_pool_default_min_size = 2\n"),
        passes="ceph-config",
    ),
    case(
        copies,
        "the default is more than half",
        configured("[global]\nosd pool default size = 3\n"),
        passes="ceph-config",
    ),
    case(
        copies,
        "one of three",
        configured("[global]\nosd pool default min size = 1\n"),
        fails="ceph-config",
        message="osd_pool_default_min_size is 1; expected 2 or more",
    ),
    case(copies, "a lab of one copy", configured("[mon]\nosd_pool_default_size = 1\nosd_pool_default_min_size = 1\n")),
    case(copies, "no pools", configured("[global]\nfsid = a\n"), config_map("other", {"nova.conf": "[DEFAULT]\n"})),
    case(copies, "unknown", configured(UNKNOWN), undecided="ceph-config"),
    case(
        copies,
        "no number",
        configured("[mon]\nosd_pool_default_size = many\n"),
        undecided="ceph-config",
        message="'many'",
    ),
)
