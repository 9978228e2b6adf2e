"""Stacks with etcd on machines of its own, on the real engine: physical ones, and virtual machines of three servers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands import stack
from commands.trials import lab_stack
from components.k8s_master import etcd
from policy.facts.components import PreviousFacts
from policy.facts.stack import Facts
from policy.resource import Resource
from policy.rules.updates import changes
from tests.engine.conftest import PACK, Done, FirstRun, FirstRuns, Project, Projects, copied, open_project
from tests.engine.test_history import named, replace, violations
from tests.engine.test_lifecycle import edit, servers
from tests.engine.test_ssh_machines import HOST_KEY, inputs
from tests.shared import made_once
from tests.stacks import STACKS, server

NAMES = {"etcd1", "etcd2", "etcd3"}
PHYSICAL = server("etcd[1-3]", ["etcd"], "10.20.0.25", rack="r[1-3]")
VIRTUAL = {"id": 4, "name": "etcd[1-3]", "cpu": 2, "ram": 4, "address": "10.20.0.61", "roles": ["etcd"]}


def opened(directory: Path, engine: dict[str, str], name: str, *, is_live: bool = False) -> Project:
    """The stack ra100 with three servers of etcd, or dev with a virtual machine of etcd on each of its servers.

    `is_live`: with the target live and a host key for each machine.
    """
    document = stack.read_document(STACKS[name])
    if name == "dev":
        document["config"]["quorate:servers"][0]["vms"].append(VIRTUAL)
    else:
        document["config"]["quorate:servers"].append(PHYSICAL)
    written = directory / f"{name}.yaml"
    written.write_text("# with machines of etcd\n" + yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    if is_live:
        settings = load_file(written)
        keys = dict.fromkeys((each.name for each in plan(settings).machines), HOST_KEY)
        document["config"][stack.TARGET] = "live"
        document["config"]["quorate:servers"] = lab_stack.with_host_keys(
            document["config"]["quorate:servers"], settings, keys
        )
        written.write_text("# live\n" + yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return open_project(directory / "project", name, engine, written)


def reported(done: Done) -> set[str]:
    """Names of the rules that reported something, in a lab also those that only warn."""
    return {each["policyEvent"]["policyName"] for each in done.events if "policyEvent" in each}


@pytest.fixture(scope="module")
def with_etcd(tmp_path_factory: pytest.TempPathFactory, engine: dict[str, str]) -> FirstRuns:
    """The first updates of the stacks of `opened`, for tests that change nothing in their projects."""

    def update(name: str, directory: Path) -> None:
        FirstRun.make(directory, opened(directory, engine, name), "up", "--yes", "--skip-preview")

    return lambda name: FirstRun.read(
        made_once(tmp_path_factory, f"with-etcd-{name}", partial(update, name)), name, engine
    )


@pytest.mark.parametrize("name", ["ra100", "dev"])
def test_what_is_rendered(name: str, with_etcd: FirstRuns, first_up: FirstRuns, tmp_path: Path) -> None:
    assert reported(with_etcd(name).done) == reported(first_up(name).done)
    own = copied(with_etcd(name).project, tmp_path / "project")
    assert own.run("preview", "--expect-no-changes", *PACK).code == 0
    machines = own.build / "machines"
    assert {path.name for path in machines.iterdir() if not path.name.startswith(".")} == {
        each.name for each in own.plan.machines
    }
    for each in NAMES:
        found = own.files(f"machines/{each}")
        assert {"apply", "leave", "manifest", f"root{etcd.MEMBERS}", "quorums/etcd"} <= found.keys()
        assert not [path for path in found if "kube" in path or "node.yaml" in path]
        assert {f"/{path}" for path in own.files(f"secrets/machines/{each}")} == set(etcd.CERTIFICATES)
    master = own.files("machines/master1")
    assert not [path for path in master if "/etcd" in path]
    assert {path for path in own.files("secrets/machines/master1") if "etcd" in path} == {
        "etc/etcd/pki/ca.crt",
        "etc/kubernetes/pki/apiserver-etcd-client.crt",
        "etc/kubernetes/pki/apiserver-etcd-client.key",
    }
    urls = [f"https://{each.address}:2379" for each in own.plan.etcd_machines]
    documents = yaml.safe_load_all(master["root/etc/kubernetes/kubeadm.yaml"])
    (cluster,) = (each for each in documents if each["kind"] == "ClusterConfiguration")
    assert cluster["etcd"]["external"]["endpoints"] == urls
    assert_recorded(own)


def assert_recorded(own: Project) -> None:
    """The program records the members of its plan, the rules read them from the resources: both are the same."""
    state: dict[str, Any] = own.state()
    facts = Facts(
        Resource(each["type"], urn, urn.rpartition("::")[2], lambda each=each: each.get("outputs", {}))
        for urn, each in state.items()
    )
    output = own.quorum_state()
    left = PreviousFacts(Resource(PreviousFacts.TYPE, "", "previous", lambda output=output: {"stood": output}))
    assert set(left.quorums()["etcd"].nodes) == NAMES
    seen = Facts([*facts.resources, left.resource])
    assert {change.name: change.now for change in changes(seen)} == left.quorums()


def test_over_ssh_machines_of_etcd_are_started_first_and_masters_are_not(
    tmp_path: Path, engine: dict[str, str]
) -> None:
    own = opened(tmp_path, engine, "dev", is_live=True)
    done = own.run("preview")
    assert done.code == 0, done.output
    found = inputs(done)
    for each in own.plan.machines:
        commands = [given["create"] for name, given in found.items() if name.endswith("-apply") and "create" in given]
        runs = [text for text in commands if f"/{each.name}/apply " in text]
        started = [text for text in runs if text.endswith(" --before join-etcd")]
        assert (len(runs), len(started)) == ((2, 1) if each in own.plan.members else (1, 0)), each.name
        assert any(f"/{each.name}/leave " in given.get("delete", "") for given in found.values())


def test_a_machine_of_etcd_may_be_replaced(tmp_path: Path, with_etcd: FirstRuns) -> None:
    own = copied(with_etcd("ra100").project, tmp_path / "project")
    rest = named(own, "etcd[1-3]", name="etcd[1-2]", rack="r[1-2]")
    replace(own, "etcd[1-3]", rest, named(own, "etcd[1-3]", name="etcd9", address="10.20.0.29", rack="r3"))
    assert violations(own.run("preview", *PACK)) == {}
    others = named(own, "etcd[1-2]", name="etcd[7-8]", address="10.20.0.27", rack="r[1-2]", countFrom=7)
    replace(own, "etcd[1-2]", others)
    assert "majority-survives-change" in violations(own.run("preview", *PACK))


def test_etcd_does_not_move_from_the_masters_in_an_update(standing: Projects) -> None:
    ra100 = standing("ra100")
    edit(ra100, servers=[*servers(ra100), PHYSICAL])
    done = ra100.run("preview", *PACK)
    assert done.code != 0
    assert violations(done)["majority-survives-change"] == {"cloud-masters-etcd"}
    said = "quorum etcd: 3 of 3 members are removed at once (master1, master2, master3 no longer among its nodes); "
    assert said + "expected at least 2 of them to stay" in done.output
    assert "To move etcd between masters and machines of role etcd, restore a copy of its data there" in done.output
