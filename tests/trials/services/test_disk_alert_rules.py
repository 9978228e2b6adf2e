"""Disks that are slow, busy, or complete nothing, in the real promtool with the rendered rules."""

from __future__ import annotations

import pytest

from openstack.monitoring import disk_alerts
from tests.trials.services.promtool import Metrics, raised, rules
from trials.services.testbed import ServiceMachine

SAID = "ctl04: the disk sda completes {} requests in a second in which it is busy; on this node may be data of mysqld"


def disk(*, busy: str, writes: str = "0x100", reads: str = "0x100", discards: str = "0x100") -> Metrics:
    """A disk of ctl04, beside one that is fast: seconds and requests of every 15 s."""
    metrics = Metrics(disk_alerts.JOB, [])
    values = (reads, writes, discards, busy)
    for device, told in {"sda": values, "sdb": ("0x100", "0+3000x100", "0x100", "0+15x100")}.items():
        for metric, each in zip(disk_alerts.METRICS, told, strict=True):
            metrics.one("10.20.0.34:9100", metric, each, node="ctl04", device=device, services="mysqld")
    return metrics


@pytest.mark.parametrize(
    ("completed", "busy"),
    [
        # All the time busy with the largest requests that a hard disk completes, whatever waits in its queue.
        ("0+225x100", "0+15x100"),
        # 256 writes at once every 30 s, as when the kernel writes back: each waits for 1.3 s in the mean.
        ("0 256 256 512 512 768 768 1024 1024 1280 1280 1536 1536 1792 1792 2048 2048 2304 2304 2560 2560",
         "0 2.6 2.6 5.2 5.2 7.8 7.8 10.4 10.4 13 13 15.6 15.6 18.2 18.2 20.8 20.8 23.4 23.4 26 26"),
        # One that is idle, and slow with the few requests that it has.
        ("0+5x100", "0+1.4x100"),
        ("0x100", "0x100"),
    ],
    ids=["busy", "write-back", "idle", "unused"],
)  # fmt: skip
@pytest.mark.parametrize("minutes", ["4m", "4m15s", "5m"])
def test_a_healthy_disk_is_not_named(tool: ServiceMachine, completed: str, busy: str, minutes: str) -> None:
    for kind in ("writes", "reads", "discards"):
        assert raised(tool, rules(3), disk(busy=busy, **{kind: completed}), minutes, "disks") == {}


@pytest.mark.parametrize(
    ("each", "writes"), [("5.0", "19075+75x80"), ("0.0", "19000x80")], ids=["slow", "completes nothing"]
)
def test_a_disk_that_becomes_slow_is_named_within_a_minute(tool: ServiceMachine, each: str, writes: str) -> None:
    """A third busy with 1000 writes in 15 s, and from 4:45 on all the time with 75, or with some that do not end."""
    metrics = disk(busy="0+5x19 110+15x80", writes=f"0+1000x19 {writes}")
    assert raised(tool, rules(3), metrics, "5m", "disks") == {}
    named = {"DiskSlow": ("info", SAID.format(each))}
    assert raised(tool, rules(3), metrics, "5m15s", "disks") == named
    assert raised(tool, rules(3), metrics, "6m45s", "disks") == named
    assert raised(tool, rules(3), metrics, "9m15s", "disks") == named | {
        "DiskStaysSlow": ("warning", SAID.format(each))
    }


def test_a_disk_that_was_slow_is_named_no_longer(tool: ServiceMachine) -> None:
    metrics = disk(busy="0+15x40 605+5x60", writes="0+75x40 4000+1000x60")
    assert "DiskSlow" in raised(tool, rules(3), metrics, "10m", "disks")
    assert "DiskSlow" not in raised(tool, rules(3), metrics, "10m45s", "disks")
    assert raised(tool, rules(3), metrics, "12m15s", "disks") == {}


def test_lost_scrapes_hide_no_slow_disk(tool: ServiceMachine) -> None:
    """At 5:00 and 5:15, of a node that is busy itself."""
    metrics = disk(busy="0+15x19 _x2 330+15x80", writes="0+75x19 _x2 1650+75x80")
    assert all("DiskSlow" in raised(tool, rules(3), metrics, minutes, "disks") for minutes in ("5m", "5m15s", "5m30s"))


def test_a_node_whose_disks_are_not_told_is_named_once(tool: ServiceMachine) -> None:
    """By its job `node`."""
    metrics = Metrics("disks", ["10.20.0.34:9100"])
    metrics.lines[0]["values"] = "0x100"
    assert raised(tool, rules(3), metrics, "20m", "nodes") == {}
    node = Metrics("node", ["10.20.0.34:9100"])
    node.lines[0]["values"] = "0x100"
    assert set(raised(tool, rules(3), node, "20m", "nodes")) == {"TargetDown"}
