from policy.rules.ceph_copies import ceph_acknowledges_two_copies
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, config_map

copies = ceph_acknowledges_two_copies


def configured(text: object) -> Given:
    return config_map("ceph", {"ceph.conf": text})


CASES = (
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
