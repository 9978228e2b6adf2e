"""Reports about instances that have to leave a compute: Nova asked libvirt on a port that it did not have."""

from __future__ import annotations

from pathlib import Path

from tests.reports.stacks import named, objects, planned

ROOT = Path(__file__).parents[2]


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


def test_the_documents_say_that_stopped_instances_do_not_move() -> None:
    """Nova would need SSH between the computes."""
    assert "cold migration and resize of instances" in (ROOT / "docs/not-built.md").read_text(encoding="utf-8")
    assert "`resize`, fail" in (ROOT / "docs/openstack.md").read_text(encoding="utf-8")
