from policy.rules.etcd import etcd_settings_keep_quorum
from tests.policy.cases import Case, case
from tests.policy.tables.commands import copied, local, ssh
from tests.policy.world import UNKNOWN, Given, config_map, etcd, machine, masters, quorum, reading

keeps = etcd_settings_keep_quorum


def member(number: int, text: object = "", path: str = "/etc/etcd/etcd.env") -> Given:
    return machine(f"master-{number}", "master", roles=["master"], files={path: text})


def pods(*arguments: object, **variables: object) -> Given:
    env = [{"name": name, "value": value} for name, value in variables.items()]
    container = {"name": "etcd", "image": "etcd:3.6", "args": list(arguments), "env": env}
    return quorum("etcd", "etcd").but(spec__template__spec__containers=[container])


SAFE = "ETCD_NAME=x\nETCD_UNSAFE_NO_FSYNC=false\n"
DROP_IN = "/etc/systemd/system/etcd.service.d/fast.conf"
SERVICE = "[Service]\n"
UNSAFE = "master-1 has unsafe-no-fsync=true in "


def changed(text: str, host: str = "10.0.0.1") -> list[Given]:
    """Three members of the stack's own etcd, and a command on the first."""
    members = [member(each, SAFE).but(address=f"10.0.0.{each}") for each in (1, 2, 3)]
    return [etcd(), *members, ssh("tune", text, host)]


def unsafe(about: str, *given: Given | list[Given], place: str = "/etc/etcd/etcd.env") -> Case:
    """A case of a command that makes the first member's writes unsafe."""
    return case(keeps, about, *given, fails="etcd", message=f"{UNSAFE}{place} (tune); expected false")


COMMANDS = (
    unsafe("a line appended by a command", changed("echo ETCD_UNSAFE_NO_FSYNC=true >> /etc/etcd/etcd.env")),
    unsafe("by tee", changed("echo ETCD_UNSAFE_NO_FSYNC=true | sudo tee -a /etc/etcd/etcd.env >/dev/null")),
    unsafe("by sed", changed("sed -i 's/^\\(ETCD_UNSAFE_NO_FSYNC\\)=.*/\\1=true/' /etc/etcd/*.env")),
    unsafe("by extended sed", changed("sed -i -E '/NO_FSYNC/ s#(=)f[a-z]+$#\\1true#' /etc/etcd/etcd.env")),
    unsafe("a line that sed adds", changed("sed -i '$ a ETCD_UNSAFE_NO_FSYNC=1' /etc/etcd/etcd.env")),
    unsafe("by the node's name", changed("echo ETCD_UNSAFE_NO_FSYNC=true >> /etc/etcd/etcd.env", "master-1")),
    unsafe(
        "in a file that starts the member",
        changed("printf 'ETCD_UNSAFE_NO_FSYNC=true\\n' > /etc/etcd/start.env"),
        place="/etc/etcd/start.env",
    ),
    unsafe(
        "in a drop-in",
        changed(f"cat > {DROP_IN} <<'END'\n[Service]\nEnvironment=ETCD_NAME=x ETCD_UNSAFE_NO_FSYNC=true\nEND\n"),
        place=DROP_IN,
    ),
    unsafe(
        "in a drop-in that is edited",
        changed(
            f"systemctl edit --stdin --drop-in=fast.conf etcd <<'END'\n{SERVICE}Environment=ETCD_UNSAFE_NO_FSYNC=1\nEND"
        ),
        place=DROP_IN,
    ),
    unsafe(
        "in a drop-in that is installed",
        changed(
            "printf '[Service]\\nExecStart=\\nExecStart=/usr/bin/etcd --unsafe-no-fsync\\n' > /tmp/fast.conf\n"
            "install -D -m 644 /tmp/fast.conf /etc/systemd/system/etcd.service.d/"
        ),
        place=DROP_IN,
    ),
    unsafe(
        "in a file that a drop-in names",
        changed("echo ETCD_UNSAFE_NO_FSYNC=true > /etc/default/fast"),
        place="/etc/default/fast",
    ),
    unsafe(
        "for all units",
        changed("systemctl set-environment ETCD_UNSAFE_NO_FSYNC=true"),
        place="systemctl set-environment",
    ),
    unsafe(
        "by a program that a command starts",
        changed("systemd-run --unit=member /usr/bin/etcd --name master-1 --unsafe-no-fsync"),
        place="etcd command line",
    ),
    unsafe(
        "from the deployer",
        changed("true"),
        local("tune", "echo ETCD_UNSAFE_NO_FSYNC=true | ssh root@10.0.0.1 'cat >> /etc/etcd/etcd.env'"),
    ),
    unsafe(
        "on all machines",
        changed("true"),
        local("tune", "pdsh -w m[1-3] 'echo ETCD_UNSAFE_NO_FSYNC=true >> /etc/etcd/etcd.env'"),
    ),
    unsafe(
        "by the second of two commands",
        changed("echo ETCD_UNSAFE_NO_FSYNC=true >> /etc/etcd/etcd.env"),
        ssh("tune", "echo '# tuned' >> /etc/etcd/etcd.env", "10.0.0.1"),
    ),
    unsafe(
        "when the command changes",
        changed("true"),
        ssh("tune", "true", "10.0.0.1").but(update="echo ETCD_UNSAFE_NO_FSYNC=true >> /etc/etcd/etcd.env"),
    ),
    unsafe(
        "by a copy",
        changed("true"),
        copied("tune", "ETCD_UNSAFE_NO_FSYNC=true\n", "10.0.0.1", "/etc/etcd/fast.env"),
        place="/etc/etcd/fast.env",
    ),
    case(
        keeps,
        "a command that changes nothing of this",
        changed("sed -i 's/NAME=x/NAME=y/' /etc/etcd/etcd.env; cp /etc/etcd/etcd.env /root/; ln -s /a /etc/etcd/b"),
        passes="etcd",
    ),
    case(
        keeps,
        "programs and certificates that are fetched",
        changed(
            "curl -fsSLo /tmp/etcd.tar.gz https://example.org/etcd.tar.gz; install /tmp/etcd/etcd /usr/local/bin/etcd\n"
            "curl -fso /etc/etcd/ca.crt https://example.org/ca; ETCDCTL_API=3 etcdctl endpoint health; etcd --version"
        ),
        passes="etcd",
    ),
    case(
        keeps, "on another host", changed("echo ETCD_UNSAFE_NO_FSYNC=true >> /etc/etcd/etcd.env", "m9"), passes="etcd"
    ),
    case(
        keeps,
        "data in memory",
        etcd(),
        member(1, "[Service]\nExecStart=/usr/bin/etcd\n", "/etc/etcd/etcd.unit"),
        ssh("tune", "sed -i 's#^ExecStart=.*#& --data-dir /dev/shm/etcd#' /etc/etcd/etcd.unit", "master-1"),
        fails="etcd",
        message="master-1 has data-dir=/dev/shm/etcd in /etc/etcd/etcd.unit (tune), which is empty after a restart",
    ),
    case(keeps, "a file that is fetched", changed("curl -so /etc/etcd/etcd.env http://x"), undecided="etcd"),
    case(keeps, "an edit that is not computed", changed("sed -i 'y/af/fa/' /etc/etcd/etcd.env"), undecided="etcd"),
)

KUBEADM = "kind: ClusterConfiguration\netcd:\n  local:\n    dataDir: {}\n    extraArgs: {}\n"


def by_kubeadm(directory: str, arguments: str) -> Given:
    return member(1, KUBEADM.format(directory, arguments), "/etc/kubernetes/kubeadm.yaml")


CASES = (
    *COMMANDS,
    case(keeps, "kubeadm's etcd", by_kubeadm("/var/lib/etcd", "[]"), passes="master-1"),
    case(
        keeps,
        "kubeadm's etcd in memory",
        by_kubeadm("/tmp/etcd", "[]"),  # noqa: S108 - named, not used
        fails="master-1",
        message="data-dir=/tmp/etcd in kubeadm's etcd.local, which is empty after a restart",
    ),
    case(
        keeps,
        "unsafe writes of kubeadm's etcd",
        by_kubeadm("/var/lib/etcd", "[{name: unsafe-no-fsync, value: 'true'}]"),
        fails="master-1",
        message="unsafe-no-fsync=true in kubeadm's etcd.local; expected false",
    ),
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
        message="master-1 has force-new-cluster=true in /etc/systemd/system/etcd.service; expected false",
    ),
    case(
        keeps, "unsafe writes", pods(ETCD_UNSAFE_NO_FSYNC="true"), fails="etcd", message="=true in ETCD_UNSAFE_NO_FSYNC"
    ),
    case(
        keeps,
        "removal without a majority",
        etcd(),
        member(2, "name: b\nstrict-reconfig-check: false\n", "/etc/etcd/etcd.yaml"),
        fails="etcd",
        message="master-2 has strict-reconfig-check=false in /etc/etcd/etcd.yaml; expected true",
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
