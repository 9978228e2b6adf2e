"""Calico's steps on masters, run by `sh` below a temporary root with fake kubectl and curl."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml

from blueprint import node_software
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.k8s_master import calico, calico_objects, cluster_objects
from components.machine import Parts, Step, filled, variables
from tests.components.machine.test_apply import Machine
from tests.stacks import STACKS, full_size, parsed

DEV = plan(load_file(STACKS["dev"]))
LARGE = plan(parsed(full_size("1000", computes=4)))
WIDE = plan(parsed(full_size("100", computes=60)))
MANIFEST = "kind: List\n"
DIGEST = hashlib.sha256(MANIFEST.encode()).hexdigest()
KUBECTL = """\
#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
echo "kubectl $*" >>"$ROOT/log"
case $1 in
  diff) [ -f "$ROOT/applied-$(basename "$5")" ] ;;
  apply)
    : >"$ROOT/applied-$(basename "$5")"
    [ ! -d "$5" ] || sed -n 's/.*quorate.io.manifest: //p' "$5/changes.yaml" | tr -d \\' >"$ROOT/stamp"
    [ ! -d "$5" ] || sed -n 's/.*count: //p' "$5/kustomization.yaml" >"$ROOT/typhas" ;;
  delete) shift; for each; do grep -vx "$each" "$ROOT/objects" >"$ROOT/kept"; mv "$ROOT/kept" "$ROOT/objects"; done ;;
  get) case $2 in
    daemonset) cat "$ROOT/stamp" 2>/dev/null ;;
    deployment) cat "$ROOT/typhas" ;;
    bgppeers*) cat "$ROOT/objects" 2>/dev/null ;;
  esac ;;
esac
"""
CURL = """\
#!/bin/sh
echo "curl" >>"$ROOT/log"
[ -f "$ROOT/online" ] || { echo "curl: (6) Could not resolve host" >&2; exit 6; }
while [ "$1" != --output ]; do shift; done
cp "$ROOT/published" "$2"
"""
MADE = Step(cluster_objects.INITIALISE, "Makes the cluster.", check="true", apply="true")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine that can download MANIFEST, which is taken for Calico's own manifest."""
    found = Machine(tmp_path)
    for name, text in (("kubectl", KUBECTL), ("curl", CURL)):
        program = tmp_path / "bin" / name
        program.write_text(text.replace("$ROOT", str(found.root)), encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setattr(node_software, "_CALICO_SUMS", dict.fromkeys(("calico", "calico-typha"), DIGEST))
    monkeypatch.setattr(cluster_objects, "TRIES", 1)  # no waits of 2 s between comparisons
    (found.root / "published").write_text(MANIFEST, encoding="utf-8")
    (found.root / "online").touch()
    return found


def first(made: Plan) -> Parts:
    return Parts((), (MADE,)) + calico.parts(made, made.masters[0])


def test_calico_is_installed_once(machine: Machine) -> None:
    machine.render(first(DEV))
    assert "apply step 02-install-calico" in machine.apply()
    manifest = machine.file(f"{calico.DIRECTORY}/calico-{DIGEST[:12]}.yaml")
    assert manifest.read_text(encoding="utf-8") == MANIFEST
    machine.log()
    assert machine.apply() == ["nothing to change"]
    assert "curl" not in machine.log()


def test_a_manifest_with_another_digest_is_not_applied(machine: Machine) -> None:
    (machine.root / "published").write_text("kind: Other\n", encoding="utf-8")
    machine.render(first(DEV))
    said = "\n".join(machine.apply(code=1))
    assert "FAILED" in said
    assert not any(line.startswith("kubectl apply") for line in machine.log())


def test_a_manifest_that_is_there_is_not_downloaded(machine: Machine) -> None:
    (machine.root / "online").unlink()
    machine.render(first(DEV))
    assert "Could not resolve host" in "\n".join(machine.apply(code=1))
    path = machine.file(f"{calico.DIRECTORY}/calico-{DIGEST[:12]}.yaml")
    path.write_text(MANIFEST, encoding="utf-8")
    assert "apply step 02-install-calico" in machine.apply()


def test_a_lost_replica_of_typha_is_given_back(machine: Machine) -> None:
    machine.render(first(WIDE))
    machine.apply()
    assert (machine.root / "typhas").read_text(encoding="utf-8") == "3\n"
    assert machine.apply() == ["nothing to change"]
    (machine.root / "typhas").write_text("1\n", encoding="utf-8")
    assert machine.apply()[0] == "apply step 02-install-calico"
    assert (machine.root / "typhas").read_text(encoding="utf-8") == "3\n"


@pytest.mark.parametrize(("nodes", "expected"), [(50, 0), (51, 3), (600, 3), (601, 4), (1078, 6)])
def test_typhas_follow_the_number_of_nodes(nodes: int, expected: int) -> None:
    others = len(plan(parsed(full_size("100", computes=1))).nodes) - 1
    assert calico_objects.typhas(plan(parsed(full_size("100", computes=nodes - others)))) == expected


def test_each_master_of_a_large_cluster_reflects_routes_after_it_has_joined() -> None:
    for number, master in enumerate(LARGE.masters):
        made = calico.parts(LARGE, master)
        (step,) = (each for each in made.steps if each.name == "reflect-routes")
        assert step.after == (("configure-calico",) if number == 0 else ("join",))
        document = yaml.safe_load(filled(made, variables(master))[f"{calico.DIRECTORY}/route-reflector.yaml"])
        assert document["metadata"]["name"] == master.name
        assert document["metadata"]["annotations"] == {"projectcalico.org/RouteReflectorClusterID": "244.0.0.1"}
    assert calico.parts(DEV, DEV.masters[1]) == Parts()


def test_another_network_plugin_leaves_calico_out() -> None:
    made = plan(parsed(full_size("100", cni="none")))
    assert calico.parts(made, made.masters[0]) == Parts()


def test_a_change_of_a_setting_applies_the_manifest_again(machine: Machine) -> None:
    machine.render(first(DEV))
    machine.apply()
    machine.log()
    machine.render(first(with_calico(mtu=8950)))
    assert "apply step 02-install-calico" in machine.apply()
    assert "curl" not in machine.log()


def test_what_the_stack_no_longer_has_is_deleted(machine: Machine) -> None:
    kept = "ippool.crd.projectcalico.org/default-ipv4-ippool"
    machine.render(first(DEV))
    machine.apply()
    (machine.root / "objects").write_text(f"{kept}\nbgppeer.crd.projectcalico.org/router-10-20-0-2\n", encoding="utf-8")
    assert machine.apply()[0] == "apply step 03-configure-calico"
    assert (machine.root / "objects").read_text(encoding="utf-8") == f"{kept}\n"
    assert machine.apply() == ["nothing to change"]


def test_packets_between_nodes_are_not_tunnelled() -> None:
    (pool,) = (each for each in calico_objects.network(DEV) if each["kind"] == "IPPool")
    assert pool["metadata"]["name"] == "default-ipv4-ippool", "the one that Calico made in an earlier version"
    assert (pool["spec"]["ipipMode"], pool["spec"]["vxlanMode"]) == ("Never", "Never")
    assert pool["spec"]["cidr"] == str(DEV.settings.networks.pods)
    assert calico_objects.ENVIRONMENT["NO_DEFAULT_POOLS"] == "true", "else it makes one with tunnels"


@pytest.mark.parametrize(
    ("encapsulation", "modes"), [("ipip", ("Always", "Never")), ("vxlan", ("Never", "Always"))], ids=["ipip", "vxlan"]
)
def test_tunnels_have_addresses_of_their_own(encapsulation: str, modes: tuple[str, str]) -> None:
    made = with_calico(encapsulation=encapsulation, tunnels="10.30.0.0/20")
    pods, tunnels = (each["spec"] for each in calico_objects.network(made) if each["kind"] == "IPPool")
    assert (pods["allowedUses"], tunnels["allowedUses"]) == (["Workload"], ["Tunnel"])
    assert tunnels["cidr"] == "10.30.0.0/20"
    assert all((each["ipipMode"], each["vxlanMode"]) == modes for each in (pods, tunnels))


def test_routers_of_racks_peer_with_the_nodes_of_their_rack() -> None:
    peers = [{"address": "10.20.0.2", "asNumber": 64601, "rack": "a"}, {"address": "10.20.0.3", "asNumber": 64602}]
    one, other = (
        each["spec"] for each in calico_objects.network(with_calico(peers=peers)) if each["kind"] == "BGPPeer"
    )
    assert one == {"nodeSelector": "quorate.io/rack == 'a'", "peerIP": "10.20.0.2", "asNumber": 64601}
    assert other == {"nodeSelector": "all()", "peerIP": "10.20.0.3", "asNumber": 64602}


def test_a_manifest_of_a_mirror_is_downloaded_there() -> None:
    source = {"url": "https://mirror.example.org/calico.yaml", "sha256": "0" * 64}
    made = with_calico(manifest=source)
    install = calico.parts(made, made.masters[0]).steps[0]
    assert source["url"] in install.apply
    assert source["sha256"] in install.check
    assert "github" not in install.apply


def with_calico(**settings: object) -> Plan:
    """A stack with settings of Calico, whose servers are in rack a."""
    stack = full_size("100", computes=1)
    for server in stack["servers"]:
        server["rack"] = "a"
    return plan(parsed({**stack, "calico": settings}))
