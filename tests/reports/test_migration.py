"""Reports about instances that have to leave a compute: Nova asked libvirt on a port that it did not have."""

from __future__ import annotations

from tests.reports.stacks import named, objects, planned


def test_computes_migrate_instances_over_tls_by_their_addresses() -> None:
    made = objects(planned())
    nova = named(made, "ConfigMap", "nova-compute-kolla")["data"]["nova.conf"]
    assert "live_migration_scheme = tls\n" in nova
    assert "live_migration_with_native_tls = true\n" in nova.lower()
    (container,) = named(made, "DaemonSet", "nova-compute")["spec"]["template"]["spec"]["containers"]
    (inbound,) = (each for each in container["env"] if each["name"] == "OS_LIBVIRT__LIVE_MIGRATION_INBOUND_ADDR")
    assert inbound["valueFrom"]["fieldRef"]["fieldPath"] == "status.hostIP"
    daemon = named(made, "ConfigMap", "nova-libvirt-kolla")["data"]["libvirtd.conf"]
    assert {"listen_tcp = 0", "listen_tls = 1"} <= set(daemon.splitlines())


def test_stopped_instances_move_by_ssh_between_computes() -> None:
    """Nova makes their directory on the other compute by it, as the user that both sides know."""
    made = objects(planned())
    (daemon,) = named(made, "DaemonSet", "nova-ssh")["spec"]["template"]["spec"]["containers"]
    assert [port["containerPort"] for port in daemon["ports"]] == [8022]
    assert "AllowUsers nova\n" in named(made, "ConfigMap", "nova-ssh-kolla")["data"]["sshd_config"]
    assert "  Port 8022\n  User nova\n" in named(made, "ConfigMap", "nova-compute-kolla")["data"]["ssh_config"]
