"""Durations of `--plan` are those that docs/cloud.md reports."""

from __future__ import annotations

from operations.maintenance import measured
from tests.stacks import ROOT

NAMES = {"placement-api": "Placement", "neutron-server": "Neutron", "horizon": "Horizon", "keystone": "Keystone"}


def test_the_figures_are_in_their_source() -> None:
    text = (ROOT / "docs" / "cloud.md").read_text(encoding="utf-8")
    (row,) = (
        line for line in text.splitlines() if line.startswith("| every node drained, in 50 minutes | 2026-11-26 |")
    )
    for process, seconds in measured.SILENCES.items():
        assert f"{NAMES[process]} {seconds} s" in row
    said = " ".join(text.split())
    assert "each machine with messaging or databases took 7 to 9, those with storage a minute" in said
    assert set(measured.DRAINS.values()) == {"7 to 9 minutes", "a minute"}
    assert "2026-11-26, docs/cloud.md" in measured.SOURCE
    assert "cmp2 ran 1 min 45 s after its last instance had left, and was whole 1.5 minutes later" in said
    assert "1 min 45 s" in measured.REBOOT
    assert "1.5 minutes" in measured.REBOOT


def test_what_was_not_measured_has_no_figure() -> None:
    assert measured.drain(["keystone"]) == ""
    assert measured.silence(["mysqld"]) == ""
    assert measured.reboots("storage", 3) == ""
    assert measured.moves([]) == ""


def test_figures_are_scaled_by_instances_and_machines() -> None:
    assert (
        measured.moves(["cmp1"] * 4 + ["cmp2"] * 2)
        == "takes: about 2 min 14 s, at 33.5 s each; more memory takes longer"
    )
    assert measured.reboots("compute", 10).startswith(
        "All reboots take about 32 min 30 s, one after the other at 3 min 15 s"
    )
    assert "about 16 min 00 s" in measured.reboots("controller", 3)
