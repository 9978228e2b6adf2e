from policy.rules.masters import etcd_members_agree, masters_apart, three_masters
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, etcd, etcd_machines, machine, master_tier, masters, stack

three, apart, agree = three_masters, masters_apart, etcd_members_agree

OWN = ("etcd-1", "etcd-2", "etcd-3")
PEERS = "master-1=https://10.0.0.1:2380,master-2=https://10.0.0.2:2380,master-3=https://10.0.0.3:2380"


def configured(name: str, peers: object = PEERS) -> Given:
    """A master with the settings of its etcd."""
    text = f"ETCD_NAME={name}\nETCD_INITIAL_CLUSTER={peers}\nETCD_INITIAL_CLUSTER_TOKEN=quorate\n"
    files = {"etc/etcd/etcd.env": UNKNOWN if peers is UNKNOWN else text, "etc/hostname": name}
    return machine(name, "master", roles=["master"], files=files)


def placed(name: str, host: str, peers: str = PEERS) -> Given:
    """A member on a host, by a command that writes its settings."""
    text = f"cat > /etc/etcd/etcd.env <<EOF\nETCD_NAME={name}\nETCD_INITIAL_CLUSTER={peers}\nEOF\nsystemctl start etcd"
    return Given("command:remote:Command", f"place-{name}", {"create": text, "connection": {"host": host}})


CASES = (
    case(three, "three of them", cloud(), master_tier(), masters(), passes="masters"),
    case(
        three,
        "two of them",
        cloud(),
        master_tier("master-1", "master-2"),
        masters(),
        fails="masters",
        message="2 masters; expected at least 3",
    ),
    case(
        three,
        "one is listed twice",
        cloud(),
        master_tier("master-1", "master-2", "master-2"),
        masters(),
        fails="masters",
    ),
    case(
        three,
        "no machine behind a name",
        cloud(),
        master_tier("master-1", "master-2", "ghost"),
        masters(),
        fails="masters",
        message="masters ghost have no machine with the role master; expected a machine for each master",
    ),
    case(three, "a Cloud without any", cloud(), fails="cloud", message="0 masters"),
    case(three, "a lab", cloud(profile="lab"), master_tier("master-1"), masters()),
    case(three, "nothing that would have masters", stack()),
    case(
        three,
        "unknown masters",
        cloud(),
        Given("quorate:k8s:MasterTier", "masters", {"masters": UNKNOWN}),
        undecided="masters",
    ),
    case(three, "unknown profile", cloud(profile=UNKNOWN), master_tier(), undecided="masters"),
    case(apart, "on three hosts", master_tier(), etcd(), masters(), passes="masters etcd"),
    case(
        apart,
        "two on one host, by the component's own word",
        stack(),
        master_tier("a", "b", "c", a="virt1", b="virt1", c="virt2"),
        fails="masters",
        message="a, b share physical host virt1; expected one member per physical host",
    ),
    case(
        apart,
        "two on one host, by the machines' labels",
        etcd("master-1", "master-2", **{"master-1": "virt1", "master-2": "virt1"}),
        masters(2, server="virt1"),
        fails="etcd",
    ),
    case(
        apart,
        "the component says otherwise than the machine",
        etcd(),
        masters(2),
        machine("master-3", "master", server="virt9", roles=["master"]),
        fails="etcd",
        message="master-3 is declared on master-3, its machine is on virt9; expected the same host",
    ),
    case(
        apart,
        "a member that is listed twice",
        etcd("a", "b", "b"),
        fails="etcd",
        message="node b is listed more than once",
    ),
    case(
        apart,
        "etcd on machines of its own",
        master_tier(),
        masters(),
        etcd(*OWN),
        etcd_machines(*OWN),
        passes="masters etcd",
    ),
    case(
        apart,
        "two machines of etcd on one host, by their properties",
        etcd(*OWN, **{"etcd-1": "virt1", "etcd-2": "virt1"}),
        etcd_machines(*OWN[:2], server="virt1"),
        etcd_machines("etcd-3"),
        fails="etcd",
        message="etcd-1, etcd-2 share physical host virt1; expected one member per physical host",
    ),
    case(
        apart,
        "a machine of etcd is elsewhere than declared",
        etcd(*OWN),
        etcd_machines(*OWN[:2]),
        etcd_machines("etcd-3", server="virt9"),
        fails="etcd",
        message="etcd-3 is declared on etcd-3, its machine is on virt9; expected the same host",
    ),
    case(apart, "no masters", cloud()),
    case(apart, "an unknown server", etcd("a", "b", "c", a=UNKNOWN), undecided="etcd", message="server of etcd"),
    case(
        agree,
        "the same list everywhere",
        etcd(),
        [configured(f"master-{number}") for number in (1, 2, 3)],
        passes="etcd",
    ),
    case(
        agree,
        "one lists another cluster",
        etcd(),
        configured("master-1"),
        configured("master-2"),
        configured("master-3", "master-3=https://10.0.0.3:2380"),
        fails="etcd",
        message="master-3 is configured with master-3; expected the members master-1, master-2, master-3",
    ),
    case(
        agree,
        "one has no etcd",
        etcd(),
        configured("master-1"),
        configured("master-2"),
        fails="etcd",
        message="no etcd configuration on master-3; expected one on every member",
    ),
    case(
        agree,
        "machines without any",
        etcd(),
        masters(),
        fails="etcd",
        message="no etcd configuration on master-1, master-2, master-3; expected one on every member",
    ),
    case(
        agree,
        "one looks for another at a wrong address",
        etcd(),
        configured("master-1"),
        configured("master-2"),
        configured("master-3", PEERS.replace("10.0.0.2", "10.0.0.9")),
        fails="etcd",
        message="master-3 reaches master-2 at 10.0.0.9; expected its address 10.0.0.2",
    ),
    case(agree, "no machine of a member", etcd()),
    case(agree, "machines of its own", etcd(*OWN), etcd_machines(*OWN), masters(), passes="etcd"),
    case(
        agree,
        "a master keeps a member beside machines of etcd",
        etcd(*OWN),
        etcd_machines(*OWN),
        configured("master-1"),
        fails="etcd",
        message="etcd is configured on master-1, which are not members; expected it on members only",
    ),
    case(
        agree,
        "a machine of role etcd is not a member",
        etcd(*OWN[:2]),
        etcd_machines(*OWN[:2]),
        etcd_machines("etcd-3"),
        fails="etcd",
        message="etcd is configured on etcd-3, which are not members; expected it on members only",
    ),
    case(
        agree,
        "members on hosts, by commands",
        [placed(f"master-{number}", f"10.0.0.{number}") for number in (1, 2, 3)],
        passes="place-master-1",
    ),
    case(
        agree,
        "members on hosts, one with a list of its own",
        placed("master-1", "10.0.0.1"),
        placed("master-2", "10.0.0.2"),
        placed("master-3", "10.0.0.3", PEERS.replace("master-1", "master-9")),
        fails="place-master-1",
        message="no etcd configuration on master-9",
    ),
    case(
        apart,
        "members on hosts, two of them domains of one hypervisor",
        [placed(f"master-{number}", f"10.0.0.{number}") for number in (1, 2, 3)],
        [
            Given("libvirt:index/domain:Domain", name, {"name": name}, provider="qemu+ssh://virt1/system")
            for name in ("master-1", "master-2")
        ],
        fails="place-master-1",
        message="share physical host",
    ),
    case(agree, "no etcd", masters()),
    case(
        agree,
        "an unknown file",
        etcd(),
        configured("master-1", UNKNOWN),
        undecided="etcd",
        message="files.etc/etcd/etcd.env of master-1",
    ),
)
