"""The stack "dev" with masters, a machine of etcd on each virt host, and workers; and its lab."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from console.progress import Reporter
from tests.stacks import STACKS
from tests.trials.machines import by_hand
from tests.trials.machines.changing_lab import Changing, write_directory
from trials.cloud import bring_up, host
from trials.cloud.lab_machines import lab_of

LAB = f"etcd{by_hand.OF_A_TEST}"
MEMBERS = ("etcd1", "etcd2", "etcd3")


@contextmanager
def etcd_lab(work: Path, planned: Plan, names: Sequence[str]) -> Generator[Changing]:
    """Starts the machines `names` of a plan, and removes them at the end.

    Skips the test if another lab is on this host, or if the host lacks something.
    """
    by_hand.skip_beside_another_lab()
    with host.alone():
        tree = work / "tree"
        for name in names:
            write_directory(planned, name, tree)
        whole = lab_of(LAB, planned, tree)
        machines = tuple(replace(each, has_disk=False) for each in whole.machines if each.name in names)
        lab = replace(whole, machines=machines)
        by_hand.skip_unless_able(lab)
        bring_up.take_down()
        try:
            bring_up.bring_up(lab, [], Reporter())
            yield Changing(lab, work)
        finally:
            bring_up.take_down()


def etcd_plan(work: Path, masters: int, *, has_machines: bool = True) -> Plan:
    """Returns the plan of the stack "dev" with this number of masters, each on a virt host of its own.

    `has_machines`: whether etcd is on machines of its own, one on each of three virt hosts.
    """
    document: dict[str, Any] = yaml.safe_load(STACKS["dev"].read_text(encoding="utf-8"))
    (server,) = document["config"]["quorate:servers"]
    master, *others = server["vms"]
    etcd: dict[str, Any] = {
        "id": 4,
        "name": "etcd[1-3]",
        "cpu": 2,
        "ram": 4,
        "address": "10.20.0.61",
        "roles": ["etcd"],
    }
    servers: list[dict[str, Any]] = [
        server | {"name": f"virt{number}", "address": f"10.20.0.{10 + number}", "rack": f"lab{number}", "vms": []}
        for number in (1, 2, 3)
    ]
    for number, each in enumerate(servers, start=1):
        vms = [*others, *([etcd] if has_machines else []), *([master] if number <= masters else [])]
        each["vms"] = [
            vm | {"name": vm["name"].replace("[1-3]", str(number)), "address": _address(vm["address"], number)}
            for vm in vms
        ]
    document["config"] |= {"quorate:servers": servers, "quorate:cni": "none"}
    path = work / "Pulumi.etcd.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return plan(load_file(path))


def _address(first: str, number: int) -> str:
    network, _, last = first.rpartition(".")
    return f"{network}.{int(last) + number - 1}"
