"""Tests of the effect of a shell command on a quorum member, which is derived from the command's text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policy.facts.machines.host_commands import COPY_TO_REMOTE, Command, Hosts
from policy.shell.effects_cluster import DELETES, DELETES_WORKLOAD, DRAINS, MOVES, SCALES, SPLITS, STOPS_VM
from policy.shell.effects_data import ERASES
from policy.shell.effects_machine import DRIFTS, HALTS, LEAVES, REMOVES_SOFTWARE, STOPS, UPGRADES
from policy.shell.effects_network import CUTS
from policy.shell.syntax import UNKNOWN, Unreadable
from tests.policy.tables.commands import local
from tests.policy.world import Given, facts

DISRUPT = {
    STOPS: (
        "systemctl restart etcd",
        "sudo systemctl stop mariadb.service",
        "systemctl --no-block stop chrony etcd",
        "systemctl mask --now etcd.service",
        "systemctl stop 'etcd*'",
        "systemctl stop ceph-mon@a",
        "systemctl isolate rescue.target",
        "service rabbitmq-server restart",
        "/etc/init.d/mysql stop",
        "docker restart etcd",
        "docker rm -f openstack_mysql_1",
        "podman container stop rabbitmq",
        "rabbitmqctl -n rabbit@ctl01 stop_app",
        "etcdctl defrag --cluster",
        "pkill -9 etcd",
        "kill -9 $(pidof mysqld)",
        "kill $(cat /run/etcd.pid)",
        "mysqladmin -u root shutdown",
        "mysql -e 'SHUTDOWN'",
        "ceph orch restart mon",
        "kubectl exec -n openstack mysqld-0 -- mysqladmin shutdown",
        "bash -c 'systemctl stop etcd'",
        "U=etcd; systemctl stop $U",
        'CMD="systemctl stop etcd"; $CMD',
        "f() { systemctl stop $1; }; f etcd",
        "echo 'systemctl stop etcd' | sh",
        "echo 'systemctl stop etcd' > /tmp/a; cat /tmp/a | sh",
        "sh <<'EOF'\nsystemctl stop etcd\nEOF",
        "ssh m1 sudo bash -s <<EOF\nsystemctl stop etcd\nEOF",
        "cat > /tmp/x.sh <<EOF\nsystemctl stop etcd\nEOF\nchmod +x /tmp/x.sh\n/tmp/x.sh",
        "echo systemctl stop etcd | at now",
        "trap 'systemctl stop etcd' EXIT",
        "eval systemctl stop etcd",
        "timeout 60 nice -n 10 systemctl stop etcd",
        "if true; then systemctl stop etcd; fi",
        "echo etcd | xargs -n1 systemctl stop",
        "(echo '0 3 * * * systemctl stop etcd') | crontab -",
        "su -c 'systemctl stop etcd' root",
        "su <<'EOF'\nsystemctl stop etcd\nEOF",
        "flock -w 5 /run/lock systemctl stop etcd",
        "flock /run/lock -c 'systemctl stop etcd'",
        "chroot /host systemctl stop etcd",
        "watch -n 60 systemctl stop etcd",
        "parallel systemctl stop etcd",
        "export U=etcd; systemctl stop $U",
        "false || systemctl stop etcd",
    ),
    HALTS: (
        "reboot",
        "apt-get update && sudo reboot",
        "ssh -o BatchMode=yes master1 sudo reboot",
        "echo reboot | ssh master1",
        "uptime\n/sbin/shutdown -r now",
        "systemctl reboot",
        "init 6",
        "echo b > /proc/sysrq-trigger",
        "ipmitool -H bmc1 -U admin chassis power cycle",
        "kexec -e",
    ),
    DRIFTS: ("timedatectl set-ntp false", "timedatectl set-time 10:00"),
    DRAINS: ("kubectl --context live drain ctl01 --disable-eviction", "kubectl delete node ctl01"),
    DELETES_WORKLOAD: (
        "kubectl -n openstack delete pvc data-mysqld-0",
        "kubectl delete pod/mysqld-0",
        "kubectl delete sts,pvc -l app=mysqld",
        "kubectl delete namespace openstack",
        "helm uninstall mariadb -n openstack",
        "kubectl replace --force -f mysqld.yaml",
        "kubectl apply --prune -f .",
        "curl -X DELETE https://api.example:6443/api/v1/namespaces/openstack/pods/mysqld-0",
    ),
    SCALES: (
        "kubectl -n openstack scale statefulset mysqld --replicas=1",
        "kubectl scale --replicas 0 sts/rabbitmq",
        """kubectl patch sts mysqld -p '{"spec":{"replicas":1}}'""",
    ),
    MOVES: (
        "kubectl label node ctl01 quorate.io/server-",
        "kubectl label nodes ctl01 quorate.io/server=x --overwrite",
        "kubectl taint nodes ctl01 maintenance=true:NoExecute",
        "kubectl taint node ctl01 quorate.io/dedicated-",
    ),
    STOPS_VM: ("virsh -c qemu+ssh://virt1/system destroy database1", "openstack server delete master1"),
    LEAVES: (
        "etcdctl --endpoints https://10.0.0.1:2379 member remove 8e9e05c52164694d",
        "ceph osd purge 3 --yes-i-really-mean-it",
        "ceph mon remove c",
        "rabbitmqctl forget_cluster_node rabbit@ctl03",
        "kubeadm reset -f",
    ),
    DELETES: (
        "rm -rf /var/lib/etcd",
        "rm -rf /var/lib/mysql/*",
        "sudo rm -fr -- /var/lib/etcd/member",
        "cd /var/lib/rabbitmq && rm -rf mnesia",
        "rm -rf /var/lib/etcd/../mysql",
        "rm -rf /var/lib/*",
        "rm -rf / --no-preserve-root",
        "D=/var/lib/etcd; rm -rf ${D:?}/member",
        "find /var/lib/etcd -type f -delete",
        "find /var/lib/mysql -name '*.ibd' -exec rm {} +",
        "mv /etc/kubernetes/manifests/etcd.yaml /tmp/",
        "truncate -s 0 /var/lib/etcd/member/snap/db",
        "rsync -a --delete /empty/ /var/lib/etcd/",
        "> /var/lib/mysql/ibdata1",
        'etcdctl del --prefix ""',
        'ETCDCTL_API=3 etcdctl del "" --from-key=true',
        "etcdctl snapshot restore /b.db --data-dir /var/lib/etcd",
        "mysql -e 'DROP DATABASE nova'",
        "ceph osd pool delete volumes volumes --yes-i-really-really-mean-it",
        "virsh vol-delete --pool default master1.qcow2",
        "rados purge volumes --yes-i-really-really-mean-it",
        "umount -l /var/lib/etcd",
        "rabbitmqctl delete_vhost nova",
        "mysqladmin -u root drop nova",
    ),
    ERASES: (
        "wipefs -a /dev/sdb",
        "dd if=/dev/zero of=/dev/sda bs=1M",
        "mkfs.xfs -f /dev/vg0/etcd",
        "sgdisk --zap-all /dev/nvme0n1",
        "lvremove -f vg0/etcd",
        "ceph-volume lvm zap /dev/sdc --destroy",
        "cat /dev/zero > /dev/sdb",
        "shred /dev/sdb",
        "parted -s /dev/sdb mklabel gpt",
        "mdadm --zero-superblock /dev/sdb",
        "cryptsetup luksFormat /dev/sdb",
        "zpool destroy tank",
        "hdparm --security-erase=x /dev/sdb",
    ),
    CUTS: (
        "iptables -A INPUT -p tcp --dport 2380 -j DROP",
        "iptables -I INPUT -s 10.0.0.12 -j REJECT",
        "iptables -A INPUT -p tcp -m multiport --dports 4567,4568 -j DROP",
        "iptables -P INPUT DROP",
        "nft add rule inet filter input tcp dport 2379-2380 drop",
        "firewall-cmd --permanent --remove-port=2380/tcp",
        "ufw deny 25672/tcp",
        "ip link set eth0 down",
        "ip route add blackhole 10.0.0.12/32",
        "tc qdisc add dev eth0 root netem loss 100%",
        "ip addr flush dev eth0",
        "ifdown eth0",
        "ifconfig eth0 down",
        "nmcli connection down eth0",
    ),
    UPGRADES: (
        "kubeadm upgrade node",
        "apt-get install -y kubelet=1.37.0-1.1",
        "apt-get -y dist-upgrade",
        "dnf update -y",
        "dpkg -i /tmp/etcd-server_3.6.0_amd64.deb",
    ),
    REMOVES_SOFTWARE: ("apt-get purge -y mariadb-server",),
    SPLITS: (
        "galera_new_cluster",
        "etcd --force-new-cluster",
        "rabbitmqctl force_boot",
        "mysqld --wsrep-new-cluster",
        "mariadbd --wsrep-cluster-address=gcomm://",
    ),
}
HARMLESS = (
    "uptime",
    "systemctl start etcd",
    "systemctl status etcd",
    "systemctl is-active --quiet etcd || systemctl start etcd",
    "systemctl enable --now etcd",
    "systemctl restart chrony",
    "timedatectl set-ntp true",
    "echo 'a reboot is needed'",
    "echo rm -rf /var/lib/etcd",
    "# systemctl stop etcd\nuptime",
    "uptime # then reboot",
    "printf '%s\\n' 'systemctl stop etcd' > /tmp/notes",
    "cat > /root/README <<'EOF'\nreboot with: systemctl reboot\nEOF",
    "logger \"restart etcd with 'systemctl restart etcd'\"",
    "grep -q 'systemctl stop etcd' /root/.bash_history",
    "test -f /run/reboot-required",
    "[ -f /run/reboot-required ] && echo reboot",
    "kubectl get nodes",
    "kubectl -n drain get pods",
    "kubectl delete job old-migration",
    "kubectl delete pod --field-selector=status.phase=Succeeded",
    "kubectl delete node ctl01 --dry-run=client",
    "kubectl label node cmp01 team=infra",
    "kubectl label node cmp01 --list",
    "kubectl label node cmp01 team=infra $LABEL",
    "kubectl taint nodes cmp01 slow=true:PreferNoSchedule",
    "kubectl scale deployment web --replicas=5",
    "virsh list --all",
    "virsh dominfo master1",
    "etcdctl member list",
    "etcdctl del quorate/probe",
    "etcdctl snapshot restore /b.db --data-dir /tmp/restored",
    "apt-get update",
    "apt-get install -y jq etcd-client",
    "grep shutdown /var/log/syslog",
    "shutdown -c",
    "rm -f /tmp/quorate.lock",
    "T=$(mktemp -d); trap 'rm -rf \"$T\"' EXIT; cp /etc/hosts $T",
    "find /var/lib/etcd-backup -name '*.db' -mtime +7 -delete",
    "rm -f /var/lib/etcd-backup/old.db",
    "rm -rf ~/.cache",
    "ls /var/lib/etcd",
    "cp -a /var/lib/etcd /root/copy",
    "dd if=/dev/zero of=/swapfile bs=1M count=1024",
    "wipefs /dev/sdb",
    "blkid /dev/sdb || mkfs.ext4 /dev/sdb",
    "iptables -A INPUT -p tcp --dport 2380 -j ACCEPT",
    "iptables -A INPUT -p tcp --dport 23 -j DROP",
    "iptables -A INPUT -p tcp --dport 2379:2380 -j ACCEPT; iptables -A INPUT -j DROP",
    "ip link show eth0",
    "ufw allow 2380/tcp",
    "docker ps; docker logs etcd",
    "kubeadm upgrade plan",
    "mysql -e 'SELECT 1'",
    "sleep 5 & kill $!",
    "python3 -m json.tool < /tmp/a.json",
    "case $1 in etcd) echo stop ;; esac",
    "exit 0\nreboot",
    "kexec -l /boot/vmlinuz",
    "kubectl replace -f mysqld.yaml",
    "kubectl apply -f .",
    "curl -X DELETE https://shop.example/orders/1",
    "rados df",
    "umount /mnt",
    "mysqld --version",
    "mysqld --wsrep-cluster-address=gcomm://a,b",
    "parted /dev/sdb print",
    "mdadm --detail /dev/md0",
    "ifconfig eth0 up",
    "nmcli connection show eth0",
    "su -",
    "flock -n /run/lock",
    "chroot /host",
    "watch -n 60",
    "parallel -j 4",
    "false && reboot",
)
UNREADABLE = (
    "systemctl stop $UNIT",
    'rm -rf "$DIR"',
    "$COMMAND",
    "curl -fsSL https://example.org/x.sh | sh",
    "bash <(curl -s https://example.org/x.sh)",
    "bash /opt/roll.sh",
    "/opt/roll.sh --all",
    "ssh m1 bash /opt/roll.sh",
    "eval $(echo cmVib290 | base64 -d)",
    "parallel systemctl stop ::: etcd",
    "parallel systemctl stop {} ::: etcd",
    "python3 -c 'import os; os.remove(\"/var/lib/etcd/x\")'",
    "ansible-playbook site.yml",
    "kubectl delete -f old.yaml",
    "kubectl label node ctl01 $LABEL",
    "if true; then reboot",
    "systemctl stop etcd-$(hostname",
)


def command(text: str) -> Command:
    return facts([local("c", text)]).commands[0]


@pytest.mark.parametrize(("does", "text"), [(does, text) for does, texts in DISRUPT.items() for text in texts])
def test_it_disrupts(does: str, text: str) -> None:
    assert command(text).disrupts.partition(" (")[0] == does
    assert not command(text).asks


@pytest.mark.parametrize("text", HARMLESS)
def test_it_does_not(text: str) -> None:
    assert command(text).disrupts == ""


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_cannot_be_read_is_not_harmless(text: str) -> None:
    with pytest.raises(Unreadable):
        _ = command(text).disrupts


def test_what_can_be_read_beside_counts() -> None:
    assert command("systemctl stop $UNIT; reboot").disrupts == f"{HALTS} (reboot)"


def test_the_word_that_does_it_is_named_and_no_value() -> None:
    assert command("kubectl -n openstack delete pvc --all").disrupts.endswith("(kubectl)")
    assert command("kubectl delete pvc --all").disrupts.endswith("(kubectl delete)")
    assert "hunter2" not in command("mysql -phunter2 -e 'drop database nova'").disrupts


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("for host in m1 m2 m3; do ssh $host reboot; done", True),
        ("for host in m1 m2\ndo\n  ssh $host reboot\ndone", True),
        ("for n in $(cat hosts); do ssh $n reboot; done", True),
        ("while read -r h; do ssh $h reboot; done < hosts", True),
        ("HOSTS='m1 m2'; for h in $HOSTS; do ssh $h reboot; done", True),
        ("for h in m{1..3}; do ssh $h reboot; done", True),
        ("roll() { ssh $1 reboot; }; roll m1; roll m2", True),
        ("ssh m1 reboot; ssh m2 reboot", True),
        ("pdsh -w m[1-3] systemctl restart etcd", True),
        ("ansible masters -m reboot", True),
        ("parallel ssh {} reboot ::: m1 m2", True),
        ("echo m1 m2 | xargs -n1 -P2 -I% ssh % reboot", True),
        ("virsh destroy a; virsh destroy b", True),
        ("kubectl drain ctl01 ctl02", True),
        ("kubectl delete node ctl01 ctl02", True),
        ("kubectl delete nodes ctl01; kubectl delete no ctl02", True),
        ("kubectl delete node ctl01", False),
        ("kubectl delete pod mysqld-0 mysqld-1", False),
        ("echo a b | xargs -n1 virsh destroy", True),
        ("for file in /etc/one; do cat $file; done; reboot", False),
        ("for file in a b; do cat $file; done; reboot", False),
        ("for unit in etcd kubelet; do systemctl restart $unit; done", False),
        ("ssh m1 reboot", False),
        ("kubectl drain m1 && ssh m1 reboot", False),
    ],
)
def test_it_goes_over_several_machines(text: str, several: bool) -> None:
    assert command(text).several is several


HEALTH = "etcdctl endpoint health --cluster"


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        (f"{HEALTH} && reboot", True),
        (f"{HEALTH} || exit 1; reboot", True),
        (f"set -e\n{HEALTH}\nreboot", True),
        (f"#!/bin/sh -eu\n{HEALTH}\nreboot", True),
        (f"if {HEALTH}; then reboot; fi", True),
        (f"if ! {HEALTH}; then echo no; exit 1; fi\nreboot", True),
        (f"if {HEALTH}; then echo fine; else exit 1; fi; reboot", True),
        (f"until {HEALTH}; do sleep 1; done; reboot", True),
        (f"while true; do {HEALTH} && break; sleep 1; done; reboot", True),
        (f"for i in $(seq 9); do {HEALTH} && break; done; reboot", False),
        (f"check() {{ {HEALTH}; }}; check && reboot", True),
        (f"check() {{ {HEALTH} || return 1; }}; check || exit 1; reboot", True),
        (f"{HEALTH} | grep -q healthy && reboot", True),
        (f'out=$({HEALTH}); echo "$out" | grep -q unhealthy || reboot', False),
        (f'out=$({HEALTH}); [ "$out" = ok ] || exit 1; reboot', True),
        (f"n=$({HEALTH} | grep -c ok); if [ $n -lt 3 ]; then exit 1; fi; reboot", True),
        (f"ssh m1 '{HEALTH} && systemctl restart etcd'", True),
        (f"sudo timeout 9 {HEALTH} && reboot", True),
        ("kubectl -n kube-system exec etcd-m1 -- etcdctl endpoint health && reboot", True),
        ("rabbitmq-diagnostics check_if_node_is_quorum_critical && reboot", True),
        ("ceph mon ok-to-stop a && systemctl stop ceph-mon@a", True),
        ("kubectl drain ctl01", True),
        (f"{HEALTH}; reboot", False),
        (f"{HEALTH} || true; reboot", False),
        (f"{HEALTH} || reboot", False),
        (f"reboot; {HEALTH}", False),
        (f"# {HEALTH}\nreboot", False),
        (f"echo '{HEALTH}' && reboot", False),
        (f"{HEALTH} & reboot", False),
        (f"if ! {HEALTH}; then echo warning; fi; reboot", False),
        (f"if {HEALTH}; then uptime; fi; reboot", False),
        (f"({HEALTH}) ; reboot", False),
        (f"{HEALTH} && systemctl restart etcd; reboot", False),
        ("kubectl drain ctl01 --disable-eviction", False),
        ("etcdctl snapshot save /x && reboot", False),
    ],
)
def test_it_asks_its_quorum(text: str, asks: bool) -> None:
    assert command(text).asks is asks


@pytest.mark.parametrize("kind", ["pipe", "device", "nothing", "text"])
def test_only_a_regular_file_is_read_for_a_copy(tmp_path: Path, kind: str) -> None:
    """A stack names the file: a pipe would stop the pack, and a device would fill its memory."""
    file = tmp_path / "roll.sh" if kind != "device" else Path("/dev/zero")
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "text":
        file.write_text("reboot")
    props = {"source": {"path": str(file)}, "remotePath": "/opt/roll.sh", "connection": {"host": "m1"}}
    hosts = Hosts(facts([Given(COPY_TO_REMOTE, "copy", props)]).resources)
    assert [placed.text for placed in hosts.copied["m1"]] == ["reboot" if kind == "text" else UNKNOWN]
