"""etcd on machines of its own: machines of role etcd carry the members, and masters have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.plan.plan_json import to_json
from blueprint.plan.planner import plan
from components import machine_files, previous
from components.cloud import Cloud, CloudArgs
from components.k8s_master import etcd, external_etcd
from components.machine import Step, filled, variables
from components.target.render import Render
from openstack.config.wiring import ENVIRONMENT, wiring
from openstack.monitoring.quorums import quorums
from proof.expected import expected_state
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.machine.test_parts import run
from tests.fakes import script
from tests.recording import Recorded, record
from tests.stacks import full_size, parsed, server

NAMES = ["etcd1", "etcd2", "etcd3"]
URLS = [f"https://10.20.9.{number}:2379" for number in (1, 2, 3)]
KUBELET_CONF = "etc/kubernetes/kubelet.conf"


def physical(**more: Any) -> dict[str, Any]:
    """A production stack with three physical machines of etcd."""
    config = full_size("100", **more)
    config["servers"].append(server("etcd[1-3]", ["etcd"], "10.20.9.1", rack="r[1-3]"))
    return config


def virtual() -> dict[str, Any]:
    """The same with virtual machines on three virt hosts, which also carry the masters."""
    config = full_size("100", features=["reduced-footprint"], acknowledged=["performance", "security"])
    guests = [
        {"id": 0, "name": "master[1-3]", "cpu": 4, "ram": 8, "address": "10.20.0.11", "roles": ["master"]},
        {"id": 1, "name": "etcd[1-3]", "cpu": 2, "ram": 4, "address": "10.20.9.1", "roles": ["etcd"]},
    ]
    hosts = server("virt[1-3]", ["virt"], "10.20.8.1", rack="r[1-3]", vms=guests)
    return {**config, "servers": [*config["servers"][1:], hosts]}


PHYSICAL, VIRTUAL = plan(parsed(physical())), plan(parsed(virtual()))
BOTH = pytest.mark.parametrize("made", [PHYSICAL, VIRTUAL], ids=["physical", "virtual"])


def named(made: Plan, name: str) -> Node:
    return next(each for each in made.machines if each.name == name)


def files(made: Plan, name: str) -> dict[str, str]:
    each = named(made, name)
    return filled(machine_files.parts(made, each, CERTIFICATES), variables(each))


def secret_files(made: Plan, name: str) -> set[str]:
    return set(machine_files.parts(made, named(made, name), CERTIFICATES).secret_files)


def steps(made: Plan, name: str) -> dict[str, Step]:
    return {step.name: step for step in machine_files.parts(made, named(made, name), CERTIFICATES).ordered_steps()}


@BOTH
def test_machines_of_etcd_carry_the_members_and_are_no_nodes(made: Plan) -> None:
    assert [each.name for each in made.members] == [each.name for each in made.etcd_machines] == NAMES
    assert not {each.name for each in made.nodes} & set(NAMES)
    assert [each.name for each in made.masters] == ["master1", "master2", "master3"]
    assert {(each.pool, each.taints, tuple(each.labels)) for each in made.etcd_machines} == {("", (), ())}
    assert made.warnings == plan(parsed(full_size("100"))).warnings or made is VIRTUAL


@BOTH
def test_nothing_is_placed_on_them(made: Plan) -> None:
    before = plan(parsed(full_size("100")))
    assert not {each.node for each in made.assignment} & set(NAMES)
    if made is PHYSICAL:
        assert made.nodes == before.nodes
        assert made.assignment == before.assignment


def test_without_the_role_the_masters_carry_the_members() -> None:
    before = plan(parsed(full_size("100")))
    assert before.members == before.masters
    assert before.machines == before.nodes
    assert "etcdMachines" not in to_json(before)


@BOTH
def test_a_machine_of_etcd_has_its_member_and_nothing_of_kubernetes(made: Plan) -> None:
    found = files(made, "etcd1")
    assert {path for path in found if "kube" in path} == set()
    assert {"/etc/systemd/system/etcd.service", "/etc/systemd/system/etcd-backup.timer", etcd.MEMBERS} <= set(found)
    assert "ETCD_NAME=etcd1\n" in found["/etc/etcd/member.env"]
    peers = ",".join(f"etcd{number}=https://10.20.9.{number}:2380" for number in (1, 2, 3))
    assert f"ETCD_INITIAL_CLUSTER={peers}\n" in found["/etc/etcd/member.env"]
    assert secret_files(made, "etcd1") == set(etcd.CERTIFICATES)
    parts = machine_files.parts(made, named(made, "etcd1"), CERTIFICATES)
    assert set(parts.quorums) == {"etcd"}
    assert parts.meeting == etcd.JOIN
    assert {step.name for step in parts.steps if step.leave} == {
        "start-etcd",
        "start-etcd-backup",
        "start-etcd-backup-test",
        "start-etcd-defragmentation",
    }


@BOTH
def test_a_master_beside_them_has_no_member_but_the_certificates_of_a_client(made: Plan) -> None:
    found = files(made, "master1")
    assert {path for path in found if "etcd" in path} == set()
    assert {path for path in secret_files(made, "master1") if "etcd" in path} == {
        "/etc/etcd/pki/ca.crt",
        "/etc/kubernetes/pki/apiserver-etcd-client.crt",
        "/etc/kubernetes/pki/apiserver-etcd-client.key",
    }
    documents = list(yaml.safe_load_all(found["/etc/kubernetes/kubeadm.yaml"]))
    (cluster,) = (each for each in documents if each["kind"] == "ClusterConfiguration")
    assert cluster["etcd"]["external"]["endpoints"] == URLS
    assert f"--etcd-servers={','.join(URLS)}" in steps(made, "master2")["configure-api-server"].check


@BOTH
@pytest.mark.parametrize(("name", "enters"), [("master1", "initialise"), ("master2", "join")])
def test_a_master_waits_for_etcd_before_it_enters_the_cluster(made: Plan, name: str, enters: str) -> None:
    found = steps(made, name)
    assert found[enters].after == (external_etcd.AWAIT,)
    assert not any(etcd.MEMBERS in text for each in found.values() for text in (each.check, each.apply, each.leave))
    parts = machine_files.parts(made, named(made, name), CERTIFICATES)
    assert parts.quorums == {}
    assert parts.meeting is None


def test_a_change_of_the_machines_restarts_no_other_member() -> None:
    config = physical()
    config["servers"].append(server("etcd[4-5]", ["etcd"], "10.20.9.4", countFrom=4))
    for path, text in files(plan(parsed(config)), "etcd1").items():
        changes = text != files(PHYSICAL, "etcd1")[path]
        assert changes == (path == "/etc/etcd/member.env"), path
    (file,) = (
        each
        for each in machine_files.parts(PHYSICAL, named(PHYSICAL, "etcd1"), CERTIFICATES).files
        if each.path == "/etc/etcd/member.env"
    )
    assert file.restarts is None


@BOTH
def test_prometheus_and_the_record_have_their_members(made: Plan) -> None:
    (watched,) = (each for each in quorums(wiring(made, ENVIRONMENT)) if each.kind == "etcd")
    assert watched.targets == {f"etcd{number}": f"10.20.9.{number}:2381" for number in (1, 2, 3)}
    recorded = previous.quorum_state(made)["quorums"]["etcd"]
    assert (recorded["members"], sorted(recorded["nodes"])) == (3, NAMES)


@BOTH
def test_the_proof_expects_no_nodes_of_them(made: Plan) -> None:
    state = expected_state(made.settings)
    assert state.servers == {each.name: each.server for each in made.nodes}
    assert state.etcd == {each.name: each.server for each in made.members}


def built(made: Plan) -> dict[tuple[str, str], Recorded]:
    def cloud() -> None:
        Cloud("cloud", CloudArgs(made, "test", Render("test"), None))

    return {(each.kind, each.name): each for each in record(cloud)}


def test_components_of_physical_machines() -> None:
    found = built(PHYSICAL)
    machines = {name: each for (kind, name), each in found.items() if kind == "Machine"}
    own = {f"cloud-masters-etcd-{name}" for name in NAMES}
    assert own <= machines.keys()
    assert {machines[name].parent for name in own} == {"cloud-masters-etcd"}
    inputs = machines["cloud-masters-etcd-etcd1"].inputs
    assert (inputs["pool"], inputs["labels"], inputs["taints"], inputs["roles"]) == ("", {}, [], ["etcd"])
    assert [each["node"] for each in found["Etcd", "cloud-masters-etcd"].inputs["members"]] == NAMES
    assert ("Tree", "cloud-masters-etcd-etcd1-tree") in found


def test_components_of_virtual_machines() -> None:
    found = built(VIRTUAL)
    assert found["Machine", "cloud-virt1-etcd1"].parent == "cloud-virt1"
    assert found["Machine", "cloud-virt1-etcd1"].inputs["server"] == "virt1"
    assert {each["node"] for each in found["VirtHost", "cloud-virt1"].inputs["vms"]} == {"etcd1", "master1"}


@BOTH
def test_masters_come_after_etcd_and_each_after_the_one_before(made: Plan) -> None:
    found = built(made)
    machines = {each.inputs["node"]: each for (kind, _), each in found.items() if kind == "Machine"}

    def before(name: str) -> set[str]:
        """The machines that this one depends on."""
        names = {f"{each.name}-tree": node for node, each in machines.items()}
        return {names[each] for each in machines[name].depends_on if each in names}

    assert (before("etcd1"), before("etcd2"), before("etcd3")) == (set(), {"etcd1"}, {"etcd2"})
    assert before("master1") == {"etcd3"}
    assert before("master2") == {"etcd3", "master1"}
    assert before("ctl01") == {"master3"}


def test_masters_beside_machines_of_etcd_may_be_any_number() -> None:
    """API servers keep no state: an even number, and more than seven, is as good as another."""
    for count in (2, 8):
        config = physical()
        config["servers"][0] = server(f"master[1-{count}]", ["master"], "10.20.0.11", rack="r[1-3]")
        assert len(plan(parsed(config)).masters) == count


def test_beside_a_topology_which_places_nothing_on_them() -> None:
    made = plan(
        parsed(
            {
                "profile": "lab",
                "architecture": "100",
                "topology": "tests/data/topologies/stack/three-nodes.yaml",
                "servers": [
                    server("master1", ["master"], "10.20.0.1"),
                    server("etcd[1-3]", ["etcd"], "10.20.9.1"),
                    server("node[1-3]", [], "10.20.1.1"),
                ],
            }
        )
    )
    assert [each.name for each in made.members] == NAMES
    assert [each.name for each in made.nodes] == ["master1", "node1", "node2", "node3"]
    assert not any("etcd1" in each for each in made.warnings)


def test_a_lab_may_have_one_machine_of_etcd_and_is_told() -> None:
    config = full_size("100", profile="lab")
    config["servers"].append(server("etcd1", ["etcd"], "10.20.9.1"))
    assert any(each.startswith("one etcd machine, etcd1: no quorum") for each in plan(parsed(config)).warnings)


def test_a_waiver_admits_an_even_number() -> None:
    waiver = {
        "rule": "etcd-size",
        "resource": "cloud-masters-etcd",
        "reason": "from five to three",
        "owner": "Ada",
        "approvedBy": "Grace",
        "expires": "2027-01-31",
    }
    config = physical(waivers=[waiver])
    config["servers"][-1] = server("etcd[1-4]", ["etcd"], "10.20.9.1")
    made = plan(parsed(config))
    assert any("4 etcd machines are 4 members of etcd: 4 is even" in each for each in made.warnings)


def test_masters_may_not_share_a_host_in_production_beside_machines_of_etcd() -> None:
    config = virtual()
    guests = config["servers"][-1]["vms"]
    config["servers"][-1]["vms"] = [*guests, {**guests[0], "id": 2, "name": "other[1-3]", "address": "10.20.0.21"}]
    with pytest.raises(Exception, match="masters master1 and other1 share the physical host virt1: its loss takes 2 of "
                                        "6 API servers"):  # fmt: skip
        plan(parsed(config))


class TestAwaitEtcd:
    """The step of a master without a member, with an etcdctl that only prints."""

    def prepared(self, root: Path, etcdctl: str, *, joined: bool, begun: bool = False) -> Step:
        script(root, "etcdctl", f'echo "$*" >>{root}/log\n{etcdctl}')
        (root / "etc/kubernetes").mkdir(parents=True)
        if joined:
            (root / KUBELET_CONF).touch()
        if begun:
            (root / "etc/kubernetes/kubeadm.yaml.initialising").touch()
        return steps(PHYSICAL, "master1")[external_etcd.AWAIT]

    @pytest.mark.parametrize(
        ("etcdctl", "joined", "begun", "done"),
        [
            ("exit 0", False, False, True),  # a new cluster
            ("exit 0", True, False, False),  # this master's cluster is not in this etcd
            ("exit 0", True, True, True),  # kubeadm init was interrupted before it stored anything
            ("echo key", True, False, True),
            ("exit 1", False, False, False),  # no majority
        ],
    )
    def test_its_check(self, tmp_path: Path, etcdctl: str, joined: bool, begun: bool, done: bool) -> None:
        step = self.prepared(tmp_path, etcdctl, joined=joined, begun=begun)
        assert (run(tmp_path, step.check, tmp_path) == 0) is done
        log = (tmp_path / "log").read_text(encoding="utf-8")
        assert f"--endpoints={','.join(URLS)} " in log
        assert log.endswith("get --keys-only /registry/configmaps/kube-system/kubeadm-config\n")

    def test_a_master_of_another_cluster_stops(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        """After a move of the members without their data, its API server would serve an empty cluster."""
        step = self.prepared(tmp_path, "exit 0", joined=True)
        assert run(tmp_path, step.apply, tmp_path) == 1
        assert "a master of a cluster that etcd does not have" in capfd.readouterr().err

    def test_it_goes_on_when_etcd_answers(self, tmp_path: Path) -> None:
        step = self.prepared(tmp_path, f"[ -e {tmp_path}/up ] || {{ : >{tmp_path}/up; exit 1; }}", joined=False)
        assert run(tmp_path, step.apply, tmp_path) == 0

    def test_the_first_master_joins_a_cluster_that_etcd_has(self) -> None:
        apply = steps(PHYSICAL, "master1")["initialise"].apply
        asked = external_etcd.stored(PHYSICAL.members, external_etcd.CLUSTER)
        assert f"stored=$({asked})" in apply
