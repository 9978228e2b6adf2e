"""What the plan of a replacement says about its duration."""

from __future__ import annotations

from operations.replacement import durations


def test_a_measured_role_has_its_durations_and_their_source() -> None:
    text = durations.replacement(["virt", "master"])
    assert text.startswith("Measured: a master was removed in ")
    assert durations.SOURCE in text


def test_each_role_of_a_machine_is_named() -> None:
    text = durations.replacement(["controller", "storage"])
    assert "a controller was removed" in text
    assert "a storage was" not in text
    assert "a storage node was removed" in text


def test_a_role_without_a_measurement_has_no_figure() -> None:
    assert durations.replacement(["virt"]) == "What it takes was not measured."


def test_the_state_transfer_of_a_member_is_as_long_as_its_data_takes() -> None:
    (small,) = durations.transfers({"mysqld": durations.TRANSFER * 2**20 * 60})
    assert small.startswith(f"The new member of mysqld takes over {60 * durations.TRANSFER} MiB: about 1 min 00 s at ")
    (large,) = durations.transfers({"neutron-mysqld": durations.TRANSFER * 2**20 * 600})
    assert "about 10 min 00 s" in large


def test_a_disk_has_the_durations_of_what_was_on_it() -> None:
    assert "an OSD was removed in 7 s" in durations.disk("ceph-osd")
    assert durations.disk("rabbitmq") == "What it takes was not measured."
