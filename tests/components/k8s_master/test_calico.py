"""Calico's steps on masters, run by `sh` below a temporary root with fake kubectl and curl."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.k8s_master import calico, cluster_objects
from components.machine import Parts, Step, filled, variables
from tests.components.machine.test_apply import Machine
from tests.stacks import STACKS, full_size, parsed

DEV = plan(load_file(STACKS["dev"]))
LARGE = plan(parsed(full_size("1000", computes=4)))
WIDE = plan(parsed(full_size("100", computes=60)))
MANIFEST = "kind: List\n"
KUBECTL = """\
#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
echo "kubectl $*" >>"$ROOT/log"
case $1 in
  diff) [ -f "$ROOT/applied-$(basename "$5")" ] ;;
  apply) : >"$ROOT/applied-$(basename "$5")" ;;
  scale) echo "${4#--replicas=}" >"$ROOT/typhas" ;;
  get) case $2 in
    daemonset) ls "$ROOT"/applied-calico* >/dev/null 2>&1 ;;
    deployment) cat "$ROOT/typhas" ;;
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
    digest = hashlib.sha256(MANIFEST.encode()).hexdigest()
    monkeypatch.setattr(calico, "_DIGESTS", dict.fromkeys(("calico", "calico-typha"), digest))
    (found.root / "published").write_text(MANIFEST, encoding="utf-8")
    (found.root / "online").touch()
    return found


def first(made: Plan) -> Parts:
    return Parts((), (MADE,)) + calico.parts(made, made.masters[0])


def test_calico_is_installed_once(machine: Machine) -> None:
    machine.render(first(DEV))
    assert "apply step 02-install-calico" in machine.apply()
    manifest = machine.file(f"{calico.DIRECTORY}/calico-{calico.VERSION}.yaml")
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
    path = machine.file(f"{calico.DIRECTORY}/calico-{calico.VERSION}.yaml")
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
    assert calico.typhas(plan(parsed(full_size("100", computes=nodes - others)))) == expected


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
