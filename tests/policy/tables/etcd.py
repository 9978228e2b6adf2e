from policy.rules.etcd import etcd_settings_keep_quorum
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, config_map, etcd, machine, masters, quorum, reading

keeps = etcd_settings_keep_quorum


def member(number: int, text: object = "", path: str = "/etc/etcd/etcd.env") -> Given:
    return machine(f"master-{number}", "master", roles=["master"], files={path: text})


def pods(*arguments: object, **variables: object) -> Given:
    env = [{"name": name, "value": value} for name, value in variables.items()]
    container = {"name": "etcd", "image": "etcd:3.6", "args": list(arguments), "env": env}
    return quorum("etcd", "etcd").but(spec__template__spec__containers=[container])


CASES = (
    case(keeps, "defaults", etcd(), [member(each, "ETCD_NAME=x\n") for each in (1, 2, 3)], passes="etcd"),
    case(
        keeps,
        "slower members, all alike",
        etcd(),
        [member(each, "ETCD_HEARTBEAT_INTERVAL=200\nETCD_ELECTION_TIMEOUT=2000\n") for each in (1, 2, 3)],
        passes="etcd",
    ),
    case(keeps, "in pods", pods("--heartbeat-interval=100", "--election-timeout=1000"), passes="etcd"),
    case(
        keeps,
        "values as separate words",
        pods("--heartbeat-interval", "100", "--election-timeout", "1000"),
        passes="etcd",
    ),
    case(
        keeps,
        "a short election timeout as a separate word",
        pods("--heartbeat-interval", "100", "--election-timeout", "150", "--pre-vote"),
        fails="etcd",
        message="election timeout 150 ms",
    ),
    case(keeps, "a comment", etcd(), member(1, "# ETCD_FORCE_NEW_CLUSTER=true\n"), passes="etcd"),
    case(
        keeps,
        "a new cluster at each start",
        etcd(),
        member(1, "[Service]\nExecStart=/usr/bin/etcd --force-new-cluster\n", "/etc/systemd/system/etcd.service"),
        fails="etcd",
        message="master-1 has force-new-cluster=true; expected false",
    ),
    case(keeps, "unsafe writes", pods(ETCD_UNSAFE_NO_FSYNC="true"), fails="etcd", message="unsafe-no-fsync=true"),
    case(
        keeps,
        "removal without a majority",
        etcd(),
        member(2, "name: b\nstrict-reconfig-check: false\n", "/etc/etcd/etcd.yaml"),
        fails="etcd",
        message="master-2 has strict-reconfig-check=false; expected true",
    ),
    case(
        keeps,
        "a timeout below five heartbeats of the default",
        etcd(),
        member(1, "ETCD_ELECTION_TIMEOUT=300\n"),
        fails="etcd",
        message="master-1 has election timeout 300 ms and heartbeat interval 100 ms",
    ),
    case(
        keeps,
        "one member waits longer",
        etcd(),
        member(1, "ETCD_ELECTION_TIMEOUT=5000\n"),
        member(2),
        fails="etcd",
        message="(100 and 1000 ms, 100 and 5000 ms); expected the same",
    ),
    case(
        keeps,
        "in a file of a ConfigMap",
        reading(pods(), "conf"),
        config_map("conf", {"etcd.conf.yml": "force-new-cluster: true\n"}),
        fails="etcd",
    ),
    case(keeps, "no files, or no etcd", etcd(), masters(), quorum()),
    case(keeps, "an unknown file", etcd(), member(1, UNKNOWN), undecided="etcd"),
    case(keeps, "a timeout in words", etcd(), member(1, "ETCD_ELECTION_TIMEOUT=1s"), undecided="etcd", message="'1s'"),
)
