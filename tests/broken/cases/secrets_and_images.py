"""Broken stacks with secrets in clear text, unpinned images, or access to the host."""

from __future__ import annotations

from collections.abc import Callable

from tests.broken.broken import Broken, Props, pod


def container(**properties: object) -> Callable[[Props], None]:
    """Returns a change of properties of the first container."""

    def break_(props: Props) -> None:
        pod(props)["containers"][0].update(properties)

    return break_


def with_host_path(props: Props) -> None:
    """Adds a directory of the host to the pod's volumes."""
    pod(props).setdefault("volumes", []).append({"name": "host", "hostPath": {"path": "/var/lib/mysql"}})


def with_host_root(props: Props) -> None:
    """Adds the host's root directory, as /etc/.., to the pod's volumes."""
    pod(props).setdefault("volumes", []).append({"name": "host", "hostPath": {"path": "/etc/.."}})


def with_host_pids(props: Props) -> None:
    """Lets the pod see the host's processes."""
    pod(props)["hostPID"] = True


def with_password(props: Props) -> None:
    """Writes a password into a ConfigMap."""
    props["data"]["keystone.conf"] = "[database]\nconnection = mysql+pymysql://keystone:hunter2@mysqld/keystone\n"


def with_token(props: Props) -> None:
    """Writes a bootstrap token into a machine's file that is not secret."""
    props["files"]["join-token.yaml"] = "token: abcdef.0123456789abcdef\n"


CASES = [
    Broken(
        "a password in the environment",
        (("Deployment", "cloud-openstack-keystone", container(env=[{"name": "DB_PASSWORD", "value": "hunter2"}])),),
        {"no-clear-secrets": {"cloud-openstack-keystone"}},
    ),
    Broken(
        "a password in a ConfigMap",
        (("ConfigMap", "cloud-openstack-keystone-kolla", with_password),),
        {"no-clear-secrets": {"cloud-openstack-keystone-kolla"}},
    ),
    Broken(
        "a token among a machine's files",
        (("Machine", "cloud-ctl01", with_token),),
        {"no-clear-secrets": {"cloud-ctl01"}},
    ),
    Broken(
        "an image that may be any version",
        (("Deployment", "cloud-openstack-horizon", container(image="mirror.example/kolla/horizon:latest")),),
        {"no-floating-tag": {"cloud-openstack-horizon"}},
    ),
    Broken(
        "a privileged API",
        (("Deployment", "cloud-openstack-glance-api", container(securityContext={"privileged": True})),),
        {"host-access-where-needed": {"cloud-openstack-glance-api"}},
    ),
    Broken(
        "a database on a directory of the host",
        (("StatefulSet", "cloud-openstack-mariadb-mysqld", with_host_path),),
        {"host-access-where-needed": {"cloud-openstack-mariadb-mysqld"}},
    ),
    Broken(
        "a dashboard that sees the whole host",
        (("Deployment", "cloud-openstack-horizon", with_host_root),),
        {"host-access-where-needed": {"cloud-openstack-horizon"}},
    ),
    Broken(
        "an agent that sees all processes of its host",
        (("DaemonSet", "cloud-openstack-neutron-l2-agent", with_host_pids),),
        {"host-access-where-needed": {"cloud-openstack-neutron-l2-agent"}},
    ),
]
