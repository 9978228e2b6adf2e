"""What doctor finds in kernel settings, and what it leaves to a preparation that has not begun."""

from __future__ import annotations

import pytest

from tests.doctor.test_checks import ETCD, MASTER, WORKER, problems, reading

LIMITS = {
    "fs.inotify.max_user_instances": "8192",
    "fs.inotify.max_user_watches": "1048576",
    "net.netfilter.nf_conntrack_max": "262144",
}
"""Least values of a node with 8 cores."""
BARE = {
    "program": [],
    "swap": ["/dev/sda2"],
    "forwarding": ["0"],
    "synchronized": ["no"],
    "sysctl": ["fs.inotify.max_user_instances 128"],
    "module": [],
}


def settings(**changed: str) -> list[str]:
    return [f"{name} {value}" for name, value in {**LIMITS, **changed}.items() if value]


@pytest.mark.parametrize(("name", "least"), LIMITS.items())
def test_a_limit_may_be_larger_but_not_smaller(name: str, least: str) -> None:
    assert problems(MASTER, reading(sysctl=settings())) == []
    assert problems(MASTER, reading(sysctl=settings(**{name: str(int(least) + 1)}))) == []
    less = str(int(least) - 1)
    assert problems(WORKER, reading(sysctl=settings(**{name: less}))) == [
        ("kernel", f"{name} is {less}, not {least} or more")
    ]


def test_a_limit_that_cannot_be_read_fails_but_that_of_a_module_that_is_not_loaded() -> None:
    assert problems(MASTER, reading(sysctl=settings(**{"net.netfilter.nf_conntrack_max": ""}))) == []
    assert problems(MASTER, reading(sysctl=settings(**{"fs.inotify.max_user_watches": ""}))) == [
        ("kernel", "fs.inotify.max_user_watches is unknown, not 1048576 or more")
    ]
    assert problems(ETCD, reading(sysctl=[])) == []


def test_what_preparation_will_bring_is_no_problem_before_it_has_begun() -> None:
    assert {check for check, _ in problems(MASTER, reading(**BARE))} == {
        "clock",
        "forwarding",
        "kernel",
        "programs",
        "swap",
    }
    assert problems(MASTER, reading(**BARE), prepare="packages") == []
    begun = reading(**BARE, prepared=["yes"])
    assert {check for check, _ in problems(MASTER, begun, prepare="packages")} == {
        "clock",
        "forwarding",
        "kernel",
        "programs",
        "swap",
    }


def test_a_clock_that_is_wrong_fails_before_preparation_too() -> None:
    found = problems(MASTER, reading(clock=["1799999000"]), prepare="packages")
    assert [check for check, _ in found] == ["clock"]


def test_a_distribution_that_cannot_be_prepared_is_named() -> None:
    wanted = "quorate:prepare does not know fedora-43, but debian-12, debian-13, ubuntu-24.04"
    assert problems(MASTER, reading(distribution=["fedora-43"]), prepare="packages") == [("distribution", wanted)]
    assert problems(MASTER, reading(distribution=["fedora-43"])) == []
