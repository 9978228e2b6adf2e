"""The files that a program writes, derived from its words."""

from __future__ import annotations

import pytest

from policy.shell.edits import MANAGER, MOUNTS, Edit, Surroundings, edits
from policy.shell.syntax import UNKNOWN

FILES = {"/src/a": "A", "/src/b": "B", "/etc/known/c": "C"}
ETCD = "/etc/etcd.env"
AROUND = Surroundings("typed", FILES.get, lambda: list(FILES))


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (f"tee {ETCD}", [Edit(ETCD, "typed")]),
        (f"tee -a {ETCD}", [Edit(ETCD, "typed", appends=True)]),
        (f"cp /src/a {ETCD}", [Edit(ETCD, "A")]),
        (f"cp /src/other {ETCD}", [Edit(ETCD, UNKNOWN)]),
        ("cp /src/* /etc/new", [Edit("/etc/new", "A"), Edit("/etc/new", "B")]),
        ("cp /src/a /src/b /etc/new", [Edit("/etc/new/a", "A"), Edit("/etc/new/b", "B")]),
        ("cp -t /etc/new /src/a", [Edit("/etc/new/a", "A")]),
        ("mv /src/a /etc/known", [Edit("/etc/known/a", "A")]),
        ("install -m 600 /src/a /etc/cron.d", [Edit("/etc/cron.d/a", "A")]),
        ("install -d /etc/new", []),
        ("ln -s /src/a /etc/link", [Edit("/etc/link", "A")]),
        ("ln -s /src/other /etc/link", []),
        ("scp -i key /src/a root@m1:/etc/", [Edit("/etc/a", "A", host="m1")]),
        ("scp /src/a m1:/etc/b", [Edit("/etc/b", "A", host="m1")]),
        ("scp /src/a /src/b m1:/etc", [Edit("/etc/a", "A", host="m1"), Edit("/etc/b", "B", host="m1")]),
        ("rsync /src/a m1:", [Edit("a", "A", host="m1")]),
        ("rsync /src/a /etc/b", []),
        (f"curl -sLo {ETCD} https://files.example/a", [Edit(ETCD, UNKNOWN)]),
        (f"curl --output {ETCD} https://files.example/a", [Edit(ETCD, UNKNOWN)]),
        ("curl -o - https://files.example/a", []),
        (f"wget --output-document={ETCD} https://files.example/a", [Edit(ETCD, UNKNOWN)]),
        ("wget https://files.example/a -O", []),
        (f"dd of={ETCD}", [Edit(ETCD, "typed")]),
        (f"dd if=/src/a of={ETCD} oflag=append", [Edit(ETCD, "A", appends=True)]),
        ("dd if=/src/a", []),
        (f"crudini --set {ETCD} section name value", [Edit(ETCD, "name=value\n", appends=True)]),
        (f"crudini --set {ETCD} section", []),
        (f"crudini --get {ETCD} section name", []),
        ("systemctl set-environment A=1 B=2", [Edit(MANAGER, "A=1\nB=2\n", appends=True)]),
        ("systemctl edit etcd", [Edit("/etc/systemd/system/etcd.service.d/override.conf", "typed")]),
        ("systemctl edit --full etcd.timer", [Edit("/etc/systemd/system/etcd.timer", "typed")]),
        (
            "systemctl edit --runtime --drop-in=a.conf etcd",
            [Edit("/run/systemd/system/etcd.service.d/a.conf", "typed")],
        ),
        ("systemctl restart etcd", []),
        (
            "mount -t tmpfs -o size=1G tmpfs /var/lib/etcd",
            [Edit(MOUNTS, "tmpfs /var/lib/etcd tmpfs size=1G 0 0\n", appends=True)],
        ),
        ("mount --bind /fast /var/lib/etcd", [Edit(MOUNTS, "/fast /var/lib/etcd auto bind 0 0\n", appends=True)]),
        ("mount /var/lib/etcd", [Edit(MOUNTS, "none /var/lib/etcd auto defaults 0 0\n", appends=True)]),
        ("mount", []),
        ("/usr/bin/vim /etc/etcd.env", []),
    ],
)
def test_a_program_writes_files(words: str, written: list[Edit]) -> None:
    assert edits(words.split(), AROUND) == written


def test_without_standard_input_the_text_is_not_known() -> None:
    around = Surroundings(None, FILES.get, lambda: list(FILES))
    assert edits(["tee", ETCD], around) == [Edit(ETCD, UNKNOWN)]
