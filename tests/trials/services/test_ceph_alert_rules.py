"""Faults of Ceph as its active manager tells them, in the real promtool with the rendered rules."""

from __future__ import annotations

from openstack.monitoring import ceph_alerts
from tests.trials.services.promtool import Metrics, raised, rules
from trials.services.testbed import ServiceMachine

MANAGERS = [f"ceph-mon-{number}" for number in range(3)]


def told(**checks: str) -> Metrics:
    """What the second manager tells of three OSDs. `checks`: severity and values of failed health checks, by name."""
    metrics, active = Metrics("ceph", MANAGERS), MANAGERS[1]
    metrics.one(active, ceph_alerts.HEALTH, "1x100")
    for number in range(3):
        metrics.one(active, ceph_alerts.UP, "1x100", ceph_daemon=f"osd.{number}")
        metrics.one(active, ceph_alerts.IN, "1x100", ceph_daemon=f"osd.{number}")
    for name, said in checks.items():
        severity, values = said.split(maxsplit=1)
        metrics.one(active, ceph_alerts.CHECK, values, name=name, severity=f"HEALTH_{severity}")
    return metrics


def with_quorum(metrics: Metrics, members: int) -> Metrics:
    """Adds that so many monitors are in the quorum."""
    metrics.lines.append({"series": 'quorate:quorum:members{quorum="ceph-mon"}', "values": f"{members}x100"})
    return metrics


def change(metrics: Metrics, start: str, values: str) -> Metrics:
    for line in metrics.lines:
        if line["series"].startswith(start):
            line["values"] = values
    return metrics


def test_a_ceph_that_is_whole_raises_nothing(tool: ServiceMachine) -> None:
    """Nor does a check that is over, or whose alert is that of the quorum."""
    metrics = with_quorum(told(OSD_FULL="ERR 0x100", OSD_DOWN="WARN 0x100", MON_DOWN="WARN 1x100"), 2)
    assert raised(tool, rules(3), metrics, "20m", "ceph") == {}


def test_an_osd_that_is_down_is_named_until_it_is_out(tool: ServiceMachine) -> None:
    """At 5:00 it is down, and at 15:00 out."""
    metrics = with_quorum(told(), 3)
    for line in metrics.lines:
        if 'ceph_daemon="osd.2"' in line["series"]:
            line["values"] = "1x19 0x80" if line["series"].startswith(ceph_alerts.UP) else "1x59 0x40"
    assert raised(tool, rules(3), metrics, "4m45s", "ceph") == {}
    down = {"CephOsdDown": ("info", "Ceph: osd.2 is down")}
    assert raised(tool, rules(3), metrics, "5m", "ceph") == down
    assert raised(tool, rules(3), metrics, "14m45s", "ceph") == down
    assert raised(tool, rules(3), metrics, "15m", "ceph") == {}


def test_health_checks_are_named(tool: ServiceMachine) -> None:
    metrics = with_quorum(told(OSD_FULL="ERR 0x19 1x80", PG_DEGRADED="WARN 0x19 1x80"), 3)
    assert raised(tool, rules(3), metrics, "5m", "ceph") == {}
    fails = {"CephFails": ("critical", "Ceph: OSD_FULL")}
    assert raised(tool, rules(3), metrics, "5m15s", "ceph") == fails
    assert raised(tool, rules(3), metrics, "19m45s", "ceph") == fails
    both = fails | {"CephWarns": ("warning", "Ceph: PG_DEGRADED")}
    assert raised(tool, rules(3), metrics, "20m", "ceph") == both


def test_managers_that_tell_nothing_are_named_while_the_monitors_have_a_majority(tool: ServiceMachine) -> None:
    """Of monitors without one, QuorumLost tells."""
    silent = change(told(), ceph_alerts.HEALTH, "1x19 stale")
    metrics = with_quorum(silent, 2)
    assert raised(tool, rules(3), metrics, "7m45s", "ceph") == {}
    ((name, (severity, _)),) = raised(tool, rules(3), metrics, "8m", "ceph").items()
    assert (name, severity) == ("CephSilent", "warning")
    change(metrics, "quorate:quorum:members", "1x100")
    assert raised(tool, rules(3), metrics, "20m", "ceph") == {}


def test_requests_that_last_too_long_are_named_by_their_daemon(tool: ServiceMachine) -> None:
    metrics = with_quorum(told(), 3)
    for daemon, values in {"osd.0": "0x19 7x80", "osd.1": "0x100"}.items():
        metrics.one(MANAGERS[1], ceph_alerts.SLOW, values, type="SLOW_OPS", ceph_daemon=daemon)
    metrics.one(MANAGERS[1], ceph_alerts.SLOW, "3x100", type="PENDING_CREATING_PGS", ceph_daemon="osd.2")
    assert raised(tool, rules(3), metrics, "4m45s", "ceph") == {}
    said = "Ceph: osd.0 has 7 requests that last for more than 30 s"
    assert raised(tool, rules(3), metrics, "5m", "ceph") == {"CephRequestsSlow": ("info", said)}
