"""The resource tree of every stack against a golden file: names and types are identities, reviewed like code.

After a change that is meant: `QUORATE_WRITE_GOLDEN=1 pytest tests/engine/test_tree.py`, then read the difference.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import contract
from tests.engine.conftest import Done, FirstRuns, Projects
from tests.stacks import STACKS

GOLDEN = Path(__file__).parent / "golden"


def tree(done: Done) -> str:
    """Types and names as the engine heard of them, each under its parent, in order of their names."""
    steps: dict[str, dict[str, Any]] = {}
    for event in done.events:
        if step := event.get("resourcePreEvent"):
            steps[step["metadata"]["urn"]] = step["metadata"]["new"]
    children: dict[str, list[str]] = defaultdict(list)
    for urn, new in steps.items():
        children[new.get("parent", "")].append(urn)

    def lines(urn: str, depth: int) -> list[str]:
        kind, name = steps[urn]["type"], urn.rpartition("::")[2]
        below = sorted(children[urn], key=lambda each: (each.rpartition("::")[2], steps[each]["type"]))
        return [f"{'  ' * depth}{kind} {name}", *(line for each in below for line in lines(each, depth + 1))]

    return "\n".join(line for root in sorted(children[""]) for line in lines(root, 0)) + "\n"


@pytest.mark.parametrize("stack", STACKS)
def test_the_tree_is_the_golden_one(first_up: FirstRuns, stack: str) -> None:
    done = first_up(stack).done
    golden = GOLDEN / f"{stack}.txt"
    if os.environ.get("QUORATE_WRITE_GOLDEN"):
        golden.write_text(tree(done), encoding="utf-8")
    assert tree(done) == golden.read_text(encoding="utf-8")


def test_the_token_of_rendered_trees_is_what_the_engine_calls_them(project: Projects) -> None:
    found = tree(project("dev").run("preview"))
    assert f"{contract.TREE} cloud-virt1-master1-tree\n" in found
    assert f"{contract.TREE} cloud-compute-32c-128g-virt-24c-52g-tree\n" in found


def size_of_certificates(resource: dict[str, Any]) -> int:
    """Characters that the certificates of single nodes take in a resource of a state."""
    return sum(len(json.dumps(resource.get(side, {}).get("nodeSecrets"))) for side in ("inputs", "outputs"))


def test_a_thousand_computes_are_one_resource_with_a_small_state(rendered: Projects) -> None:
    """The provider's code would be in it a thousand times over; its name is, once for each resource."""
    project = rendered("ra1000")
    pools = [each for each in project.state().values() if each["type"] == contract.TREE]
    (pool,) = [each for each in pools if "-compute-" in each["urn"].rpartition("::")[2]]
    assert len(json.loads(pool["inputs"]["nodes"])) == 1000
    assert len(pool["inputs"]["__provider"]) < 200
    # Every machine's files are in it twice, as facts and in its tree; a thousand trees would be 20 MB. The certificates
    # of a thousand computes are in it twice too, as input and output: 2.4 MB.
    # 8,661,132 on 2026-11-29, with a third job that has the programs for backups.
    # 8,714,393 with the test of etcd's copies on each machine of a member.
    # 9,210,701 with the timer and the scripts that write metrics of machines.
    # 9,332,151 with the renewal of certificates on the masters.
    # 9,414,374 with the masters' question before other keys of service accounts.
    # 10,394,382 with the script of every node for another authority of Kubernetes, which the step back needs too.
    assert project.state_file.stat().st_size < 10_500_000
    kinds = (contract.TREE, contract.MACHINE, contract.MACHINE_POOL)
    machines = [each for each in project.state().values() if each["type"] in kinds]
    # 2,537,533 on 2026-11-29: 35 trees, with the scripts of each machine, such as those for metrics.
    # 2,604,719 with the masters' questions to RabbitMQ and OpenSearch, and kubeadm's limits.
    # 2,651,364 with the renewal of certificates, and the age of copies of backups in the metrics of masters.
    # 2,725,629 with the masters' question before other keys of service accounts.
    # 3,642,169 with the script of every node for another authority of Kubernetes.
    assert sum(len(json.dumps(each)) - size_of_certificates(each) for each in machines) < 3_700_000
    assert len(list((project.build / "machines").glob("cmp*/root/etc/quorate/node.yaml"))) == 1000
