from policy.rules.machine_files import machine_facts_match_files, machine_has_its_files
from tests.policy.cases import case
from tests.policy.world import SERVER, UNKNOWN, Given, etcd, etcd_machines, machine, machine_pool, stack, with_files

there, agree = machine_has_its_files, machine_facts_match_files

KUBEADM, KUBELET = "/etc/kubernetes/kubeadm.yaml", "/etc/kubernetes/patches/kubelet.yaml"
UNIT = "/etc/systemd/system/etcd.service"


def node(name: str = "rabbitmq-1", pool: str = "rabbitmq") -> Given:
    return with_files(machine(name, pool))


def master(name: str = "master-1") -> Given:
    return with_files(machine(name, "master", roles=["master"]))


def without(given: Given, *paths: str) -> Given:
    """Returns the machine without these files."""
    return given.but(files={path: text for path, text in given.props["files"].items() if path not in paths})


def written(given: Given, path: str, old: str, new: str) -> Given:
    """Returns the machine with a text in a file replaced."""
    text = given.props["files"][path]
    assert old in text, f"{old} is not in {path}"
    return given.but(files={**given.props["files"], path: text.replace(old, new)})


def holding(given: Given, path: str, text: object) -> Given:
    """Returns the machine with an additional file."""
    return given.but(files={**given.props["files"], path: text})


CASES = (
    case(there, "a worker and a master", node(), master(), etcd(), passes="rabbitmq-1 master-1"),
    case(there, "a pool", with_files(machine_pool("compute")), passes="computes"),
    case(
        there, "no files at all", machine("n1", "rabbitmq"), fails="n1", message="machine n1: no kubeadm configuration"
    ),
    case(there, "no kubeadm configuration", without(node(), KUBEADM), fails="rabbitmq-1"),
    case(
        there,
        "no kubelet configuration",
        without(node(), KUBELET),
        fails="rabbitmq-1",
        message="no kubelet configuration; expected a document of kind KubeletConfiguration",
    ),
    case(
        there,
        "a member without its unit",
        without(master(), UNIT),
        etcd(),
        fails="master-1",
        message="nothing runs etcd; expected a systemd unit or a static pod for the member",
    ),
    case(
        there,
        "a unit that runs something else",
        written(master(), UNIT, "bin/etcd", "bin/true"),
        etcd(),
        fails="master-1",
    ),
    case(there, "a master that is not a member", without(master(), UNIT), passes="master-1"),
    case(
        there,
        "a member in a static pod",
        holding(
            without(master(), UNIT), "/etc/kubernetes/manifests/etcd.yaml", "spec: {containers: [{image: r/etcd:3.6}]}"
        ),
        etcd(),
        passes="master-1",
    ),
    case(there, "a machine that is not a node", machine("virt1", "")),
    case(
        there,
        "machines of etcd have no kubelet",
        etcd("etcd-1", "etcd-2", "etcd-3"),
        etcd_machines("etcd-1", "etcd-2", "etcd-3"),
        passes="etcd-1 etcd-2 etcd-3",
    ),
    case(
        there,
        "a machine of etcd without its unit",
        etcd("etcd-1"),
        without(etcd_machines("etcd-1")[0], UNIT),
        fails="etcd-1",
        message="nothing runs etcd; expected a systemd unit or a static pod for the member",
    ),
    case(there, "no machine", stack()),
    case(there, "an unknown file", holding(node(), KUBEADM, UNKNOWN), undecided="rabbitmq-1"),
    case(agree, "a worker and a master", node(), master(), passes="rabbitmq-1 master-1"),
    case(agree, "a machine of etcd", etcd("etcd-1"), etcd_machines("etcd-1"), passes="etcd-1"),
    case(agree, "a pool", with_files(machine_pool("compute")), passes="computes"),
    case(
        agree,
        "a label that only the properties have",
        node().but(labels={"quorate.io/pool": "rabbitmq", SERVER: "other"}),
        fails="rabbitmq-1",
        message="label quorate.io/server is rabbitmq-1 in JoinConfiguration and other in the properties; expected",
    ),
    case(
        agree, "a label that the files lack", written(node(), KUBEADM, f",{SERVER}=rabbitmq-1", ""), fails="rabbitmq-1"
    ),
    case(
        agree,
        "a taint that the files lack",
        written(node(), KUBELET, "quorate.io/dedicated", "quorate.io/other"),
        fails="rabbitmq-1",
        message="taints are quorate.io/other=rabbitmq:NoSchedule in KubeletConfiguration and",
    ),
    case(agree, "another name", written(node(), KUBEADM, '"name": "rabbitmq-1"', '"name": "x"'), fails="rabbitmq-1"),
    case(
        agree,
        "another address",
        written(
            node(), KUBEADM, '"kubeletExtraArgs": [', '"kubeletExtraArgs": [{"name": "node-ip", "value": "10.0.0.9"}, '
        ).but(address="10.0.0.1"),
        fails="rabbitmq-1",
    ),
    case(
        agree,
        "a master that joins as a worker",
        written(master(), KUBEADM, ', "controlPlane": {}', ""),
        fails="master-1",
        message="kubeadm makes it a worker, and its roles are master; expected the role master for masters only",
    ),
    case(
        agree,
        "flags of kubelet",
        holding(node(), "/etc/default/kubelet", "KUBELET_EXTRA_ARGS=--node-labels=quorate.io/server=x"),
        fails="rabbitmq-1",
    ),
    case(
        agree,
        "one server for all of a pool",
        written(with_files(machine_pool("compute")), KUBEADM, "${server}", "host1"),
        fails="computes",
    ),
    case(agree, "no files", machine("n1", "rabbitmq")),
    case(agree, "an unknown label", node().but(labels={SERVER: UNKNOWN}), undecided="rabbitmq-1"),
)
