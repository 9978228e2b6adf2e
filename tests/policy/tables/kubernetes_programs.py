from policy.rules.kubernetes_programs import api_server_lists_etcd, dns_scale, leader_election
from tests.policy.cases import case
from tests.policy.tables.api import LARGE, configured, kubeadm
from tests.policy.world import UNKNOWN, Given, cloud, masters, names, quorum, service, stack, workload

leader, dns, lists = leader_election, dns_scale, api_server_lists_etcd

PODS = [quorum("etcd", "etcd"), names("etcd")]


def coredns(replicas: object) -> Given:
    return workload("dns", image="registry.k8s.io/coredns/coredns:v1.12", replicas=replicas, namespace="kube-system")


def running(program: str, *arguments: object) -> Given:
    """A program of Kubernetes in a Deployment."""
    container = {"name": "main", "image": f"registry.k8s.io/{program}:v1.34.0", "command": [program, *arguments]}
    return workload(program, namespace="kube-system").but(spec__template__spec__containers=[container])


def api_server(urls: str) -> Given:
    """An API server with these URLs of etcd."""
    return running("kube-apiserver", f"--etcd-servers={urls}")


CASES = (
    case(leader, "by kubeadm's default", configured(kubeadm()), passes="master-1"),
    case(leader, "written", configured(kubeadm(scheduler="{name: leader-elect, value: 'true'}")), passes="master-1"),
    case(
        leader,
        "switched off",
        configured(kubeadm(manager="{name: leader-elect, value: 'false'}")),
        fails="master-1",
        message="controllerManager has leader-elect=false",
    ),
    case(leader, "no configuration", masters()),
    case(leader, "unknown configuration", stack(), configured(UNKNOWN), undecided="quorate-test"),
    case(
        dns,
        "six, in a file of the master",
        LARGE,
        configured(kubeadm(), "kind: Deployment\nmetadata: {name: coredns}\nspec: {replicas: 6}\n"),
        passes="master-1",
    ),
    case(
        dns,
        "kubeadm's own two",
        LARGE,
        configured(kubeadm()),
        fails="master-1",
        message="2 replicas; expected at least 6",
    ),
    case(dns, "two, by hand", LARGE, coredns(2), configured(kubeadm()), fails="dns"),
    case(dns, "six, by hand", LARGE, coredns(6), passes="dns"),
    case(dns, "two in a small cluster", cloud("300"), configured(kubeadm()), passes="master-1"),
    case(
        dns, "one in a small cluster", cloud("300"), coredns(1), fails="dns", message="1 replica; expected at least 2"
    ),
    case(dns, "one in a lab", cloud(profile="lab"), coredns(1)),
    case(dns, "unknown replicas", LARGE, coredns(UNKNOWN), stack(), undecided="quorate-test"),
    case(
        leader,
        "a Deployment",
        running("kube-scheduler", "--leader-elect=false"),
        running("kube-controller-manager", "--leader-elect=true"),
        fails="kube-scheduler",
        passes="kube-controller-manager",
        message="container main has --leader-elect=false; expected true",
    ),
    case(lists, "every member", PODS, api_server("http://etcd-0.e:2379,http://etcd-1.e:2379"), passes="kube-apiserver"),
    case(lists, "the member of its node", PODS, api_server("https://127.0.0.1:2379"), passes="kube-apiserver"),
    case(lists, "an address of its node", PODS, api_server("https://$(HOST_IP):2379"), passes="kube-apiserver"),
    case(
        lists,
        "a Service of all members",
        PODS,
        service("etcd"),
        api_server("https://etcd.openstack:2379"),
        passes="kube-apiserver",
    ),
    case(
        lists,
        "one of three",
        PODS,
        api_server("http://etcd-0.etcd-members:2379"),
        fails="kube-apiserver",
        message="etcd-servers lists http://etcd-0.etcd-members:2379 only; expected all 3 members of etcd",
    ),
    case(lists, "no etcd in the stack", api_server("http://etcd-0:2379")),
    case(lists, "an unknown list", PODS, running("kube-apiserver", UNKNOWN), undecided="kube-apiserver"),
)
