from dataclasses import replace

from policy.rules.commands import command_asks_quorum, commands_one_machine_at_a_time, upgrade_after_backup
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, machine, machine_pool, masters, quorum, stack

asks, one, backup = command_asks_quorum, commands_one_machine_at_a_time, upgrade_after_backup


def ssh(name: str, text: object, host: object = None, *after: str, **props: object) -> Given:
    """A command over SSH, by default on a separate machine."""
    connection = {"host": host or name, "user": "root"}
    made = Given("command:remote:Command", name, {"create": text, "connection": connection, **props})
    return replace(made, after=after)


def local(name: str, text: object, *after: str) -> Given:
    return replace(Given("command:local:Command", name, {"create": text}), after=after)


CHECKED = {"etcd": "etcdctl endpoint health --cluster"}


def member(name: str, *after: str, quorum: object = "etcd", checks: object = CHECKED) -> Given:
    """A master whose restart of etcd disrupts a quorum."""
    made = machine(name, "master").but(restarts={"etcd.service": quorum, "timer": ""}, quorumChecks=checks)
    return replace(made, after=after)


def tree(name: str) -> Given:
    """The resource of a machine at its target, on which the next machine depends."""
    return Given("pulumi-python:dynamic/quorate:Tree", f"{name}-tree", {}, parent=name)


def stepping(name: str, disrupts: object) -> Given:
    """A machine with this step."""
    return machine(name, "master").but(steps=[{"name": "upgrade", "disrupts": disrupts}])


def copied(name: str, text: object, host: str, path: str = "/opt/roll.sh") -> Given:
    """A script that is copied to a machine: its text, or a file that is not here."""
    source = {"path": "no-such-script.sh"} if text is None else {"text": text}
    props = {"source": source, "remotePath": path, "connection": {"host": host}}
    return Given("command:remote:CopyToRemote", name, props)


def nightly(name: str, command: object) -> Given:
    """A CronJob that runs this command at night."""
    pod = {"containers": [{"name": "main", "image": "registry/kubectl:1", "command": command}]}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    return Given("kubernetes:batch/v1:CronJob", name, {"metadata": {"name": name}, "spec": spec})


RESTART = "systemctl restart etcd"
ASKED = "etcdctl endpoint health --cluster && systemctl restart etcd"

APPLY = "sh quorate/machines/m1/apply"
LEAVE = "sh quorate/machines/m1/leave"


def stopping(*command: str) -> Given:
    """A quorum whose containers run this command before they stop."""
    hook = {"preStop": {"exec": {"command": list(command)}}}
    container = {"name": "main", "image": "etcd:3.6", "lifecycle": hook}
    return quorum("etcd", "etcd").but(spec__template__spec__containers=[container])


CASES = (
    case(
        asks,
        "each stop removes the member",
        stopping("sh", "-c", "etcdctl member remove $(cat /id)"),
        fails="etcd",
        message="container main takes a member away (etcdctl member) without a quorum check",
    ),
    case(
        asks,
        "each stop deletes the member's data",
        stopping("sh", "-c", "rabbitmqctl stop_app && rabbitmqctl reset"),
        fails="etcd",
        message="container main deletes a member's data (rabbitmqctl reset)",
    ),
    case(asks, "each stop stops the member's own program", stopping("rabbitmqctl", "stop_app")),
    case(asks, "it asks", ssh("m1", ASKED), passes="m1"),
    case(
        asks,
        "it does not",
        ssh("m1", RESTART),
        fails="m1",
        message="stops or restarts a service (systemctl restart) without a quorum check; "
        "expected a check that can abort the command",
    ),
    case(asks, "in what it does at the end", ssh("m1", "true", delete="reboot"), fails="m1"),
    case(
        asks,
        "the apply of a machine, which states itself what it disrupts",
        copied("files", None, "m1", "quorate/machines"),
        ssh("m1", f"sudo -n {APPLY} --expect {'0' * 64} --secrets - --before join-etcd"),
    ),
    case(
        asks,
        "the apply and leave of a machine",
        ssh("m1", f"{APPLY} --resource cloud-m1", delete=f"sudo -n {LEAVE} --resource cloud-m1"),
    ),
    case(asks, "the apply and leave of a machine, and more", ssh("m1", APPLY, delete=f"{LEAVE}; reboot"), fails="m1"),
    case(asks, "the apply of a machine and more", ssh("m1", f"{APPLY} --secrets -; reboot"), fails="m1"),
    case(asks, "the apply of a machine, and a reboot at the end", ssh("m1", APPLY, delete="reboot"), fails="m1"),
    case(asks, "a script named like it", ssh("m1", "sh quorate/machines/../m1/apply"), undecided="m1"),
    case(
        asks,
        "a job at night",
        nightly("wipe", ["kubectl", "delete", "pvc", "-l", "app=rabbitmq"]),
        nightly("saves", ["etcdctl", "snapshot", "save", "/backup/etcd.db"]),
        nightly("by-image", []),
        fails="wipe",
        message="CronJob wipe: container main deletes pods, workloads or "
        "their volumes (kubectl delete) without a quorum check; "
        "expected a change of the resource in the stack",
    ),
    case(
        asks,
        "an entry of cron, of all forms",
        copied("system", "SHELL=/bin/sh\n# daily\n0 3 * * * root reboot\n", "m1", "/etc/cron.d/nightly"),
        copied("own", "@daily reboot\n", "m1", "/var/spool/cron/root"),
        copied("asking", f"0 3 * * * root {ASKED}\n", "m1", "/etc/cron.d/asking"),
        copied("saving", "0 3 * * * root etcdctl snapshot save /b.db\n", "m1", "/etc/cron.d/saving"),
        fails="system own",
        message="/etc/cron.d/nightly of system: restarts or stops the machine (reboot) without a quorum check",
    ),
    case(asks, "a file that nothing runs by itself", copied("text", "reboot\n", "m1", "/etc/motd")),
    case(asks, "a job that asks", nightly("roll", ["sh", "-ec", ASKED])),
    case(asks, "a job whose command is not known", nightly("roll", UNKNOWN), undecided="roll"),
    case(asks, "a drain keeps to the budgets", local("d", "kubectl drain master1 && ssh master1 reboot"), passes="d"),
    case(
        asks,
        "a drain past the budgets",
        local("d", "kubectl drain master1 --disable-eviction"),
        fails="d",
        message="drains or deletes a node (kubectl drain) without a quorum check; "
        "expected a check that can abort the command",
    ),
    case(asks, "a virtual machine", local("d", "virsh -c qemu+ssh://h/system destroy master1"), fails="d"),
    case(asks, "a member taken away", local("d", "etcdctl member remove 8e9e05c52164694d"), fails="d"),
    case(
        asks,
        "a database that is asked",
        ssh("d", "mysql -e \"show status like 'wsrep_cluster_status'\" | grep Primary && systemctl stop mariadb"),
        passes="d",
    ),
    case(asks, "one that only looks", ssh("m1", "systemctl status etcd; uptime"), local("x", "echo done")),
    case(asks, "a machine whose restart is checked", member("m1"), passes="m1"),
    case(
        asks,
        "a machine whose restart is not checked",
        member("m1", checks={"galera": "true", "etcd": " "}),
        fails="m1",
        message="machine m1: disrupts etcd without a quorum check; expected a check in quorumChecks",
    ),
    case(asks, "a machine whose step is not checked", stepping("m1", "etcd"), fails="m1"),
    case(asks, "a machine whose step harms nothing", stepping("m1", "")),
    case(asks, "a machine that is not known", member("m1", quorum=UNKNOWN), undecided="m1", message="restarts"),
    case(asks, "a check that is not known", member("m1", checks={"etcd": UNKNOWN}), undecided="m1"),
    case(asks, "no command", masters()),
    case(
        asks, "an earlier check whose failure is ignored", ssh("m1", f"etcdctl endpoint health; {RESTART}"), fails="m1"
    ),
    case(asks, "a check after it", ssh("m1", f"{RESTART} && etcdctl endpoint health"), fails="m1"),
    case(asks, "a check in another text", ssh("m1", "etcdctl endpoint health", delete=RESTART), fails="m1"),
    case(
        asks,
        "a copied script",
        copied("script", f"#!/bin/sh\n{RESTART}\n", "m1"),
        ssh("m1", "sh /opt/roll.sh"),
        fails="m1",
        message="stops or restarts a service (systemctl restart) without a quorum check; "
        "expected a check that can abort the command",
    ),
    case(
        asks,
        "a copied script that asks",
        copied("script", f"#!/bin/sh -e\netcdctl endpoint health\n{RESTART}\n", "m1"),
        ssh("m1", "/opt/roll.sh now"),
        passes="m1",
    ),
    case(
        asks,
        "a script that another command writes",
        ssh("write", f"cat > /opt/roll.sh <<EOF\n{RESTART}\nEOF", "m1"),
        ssh("run", "bash /opt/roll.sh", "m1", "write"),
        fails="run",
    ),
    case(
        asks,
        "a script on another machine",
        copied("script", f"#!/bin/sh\n{RESTART}\n", "m2"),
        ssh("m1", "sh /opt/roll.sh"),
        undecided="m1",
        message="command m1: script /opt/roll.sh is not part of the stack",
    ),
    case(
        asks,
        "a script on the machine to which a command connects",
        copied("script", f"#!/bin/sh\n{RESTART}\n", "m1"),
        local("roll", "ssh m1 sh /opt/roll.sh"),
        fails="roll",
    ),
    case(asks, "a script that is not here", copied("script", None, "m1"), ssh("m1", "/opt/roll.sh"), undecided="m1"),
    case(asks, "a script that is fetched", ssh("m1", "curl -s https://example.org/x | bash"), undecided="m1"),
    case(
        asks,
        "text that is not a shell script",
        ssh("m1", "uptime\nif true; then reboot"),
        undecided="m1",
        message="of its shell text cannot be parsed",
    ),
    case(
        asks, "a variable of the resource", ssh("m1", "systemctl stop $UNIT", environment={"UNIT": "etcd"}), fails="m1"
    ),
    case(asks, "an unknown variable", ssh("m1", "rm -rf $D", environment={"D": UNKNOWN}), undecided="m1"),
    case(asks, "a text on standard input", ssh("m1", "sh -s", stdin=RESTART), fails="m1"),
    case(asks, "another language", local("x", "import os").but(interpreter=["python3", "-c"]), undecided="x"),
    case(asks, "a member's data", ssh("m1", "cd /var/lib/etcd && rm -rf member"), fails="m1"),
    case(asks, "a member that is cut off", ssh("m1", "iptables -A INPUT -p tcp --dport 2380 -j DROP"), fails="m1"),
    case(asks, "one that only names it", ssh("m1", f"# {RESTART}\necho '{RESTART}' > /tmp/log; rm -f /tmp/log")),
    case(asks, "an unknown text", ssh("m1", UNKNOWN), undecided="m1", message="create of m1"),
    case(
        one,
        "one after the other",
        ssh("m1", ASKED),
        ssh("m2", ASKED, None, "m1"),
        ssh("m3", ASKED, None, "m2"),
        passes="m1 m2 m3",
    ),
    case(
        one,
        "all at once",
        ssh("m1", ASKED),
        ssh("m2", ASKED),
        ssh("m3", ASKED, None, "m2"),
        fails="m1 m2 m3",
        message="can run at the same time as m2, m3; expected an order set with depends_on",
    ),
    case(one, "twice on one machine", ssh("a", ASKED, "m1"), ssh("b", ASKED, "m1"), passes="a b"),
    case(one, "beside one that harms nothing", ssh("m1", ASKED), ssh("m2", "uptime"), passes="m1"),
    case(
        one,
        "a loop over machines",
        local("all", f"for host in m1 m2 m3; do ssh $host {RESTART}; done"),
        fails="all",
        message="stops or restarts a service (systemctl restart) on several machines; expected one machine per command",
    ),
    case(
        one,
        "machines in order of their trees",
        member("m1"),
        tree("m1"),
        member("m2", "m1-tree"),
        tree("m2"),
        member("m3", "m2-tree"),
        tree("m3"),
        passes="m1 m2 m3",
    ),
    case(
        one,
        "machines at once",
        member("m1"),
        tree("m1"),
        member("m2"),
        tree("m2"),
        member("m3", "m2-tree"),
        tree("m3"),
        fails="m1 m2 m3",
        message="machine m1: can run at the same time as m2, m3; expected an order set with depends_on",
    ),
    case(
        one,
        "a machine after only a part of the other",
        member("m1"),
        tree("m1"),
        replace(tree("m1"), name="m1-more"),
        member("m2", "m1-tree"),
        fails="m1 m2",
    ),
    case(one, "machines of two quorums", member("m1"), member("d1", quorum="galera"), passes="m1 d1"),
    case(
        one,
        "a pool",
        machine_pool("etcd", restarts={"etcd.service": "etcd"}),
        fails="etcds",
        message="disrupts etcd on several machines; expected one Machine for each member",
    ),
    case(one, "a machine and a command on another", member("m1"), ssh("b", ASKED, "m2"), fails="m1 b"),
    case(one, "a machine and a command on it", member("m1"), ssh("b", ASKED, "m1"), passes="m1 b"),
    case(one, "a machine that is not known", member("m1", quorum=UNKNOWN), undecided="m1"),
    case(one, "nothing that harms", ssh("m1", "uptime"), stack()),
    case(
        one,
        "an unknown machine",
        ssh("a", ASKED, UNKNOWN),
        ssh("b", ASKED, "m2"),
        undecided="a b",
        message="connection.host of a",
    ),
    case(backup, "a copy first", ssh("m1", "etcdctl snapshot save /b.db && kubeadm upgrade apply v1.37"), passes="m1"),
    case(
        backup,
        "a copy by an earlier command",
        local("save", "etcdctl snapshot save /b.db"),
        ssh("m1", "kubeadm upgrade apply v1.37", None, "save"),
        ssh("m2", "kubeadm upgrade node", None, "m1"),
        passes="m1 m2",
    ),
    case(
        backup,
        "a copy at the same time",
        local("save", "etcdctl snapshot save /b.db"),
        ssh("m1", "apt-get install -y etcd-server=3.6"),
        fails="m1",
        message="upgrades without an earlier etcd snapshot; expected one in this command or in one it depends on",
    ),
    case(backup, "no upgrade", ssh("m1", ASKED)),
    case(backup, "an unknown text", ssh("m1", UNKNOWN), undecided="m1"),
)
