"""DNS on every node: its address, its DaemonSet, and the name servers of pods."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.node_software import COREDNS
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import machine_files
from components.k8s_master import kubeadm, node_dns
from components.machine import variables
from components.machine.parts import filled
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.fakes import script
from tests.stacks import ROOT, STACKS, full_size, parsed

DEV = plan(load_file(STACKS["dev"]))


def addon(planned: Plan) -> dict[str, Any]:
    text = filled(node_dns.addon(planned, planned.masters[0]), variables(planned.masters[0]))[node_dns.FILE]
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def pod(planned: Plan) -> dict[str, Any]:
    return addon(planned)["DaemonSet"]["spec"]["template"]["spec"]


def test_pods_ask_their_node_first_and_the_service_second() -> None:
    file = next(
        each for each in kubeadm.parts(DEV, DEV.masters[0], CERTIFICATES).files if each.path.endswith("kubeadm.yaml")
    )
    documents = {each["kind"]: each for each in yaml.safe_load_all(str(file.content))}
    assert documents["KubeletConfiguration"]["clusterDNS"] == ["169.254.20.10", str(DEV.settings.networks.services[10])]


def test_every_machine_has_the_address_before_it_joins() -> None:
    """kubelet starts pods as soon as it has joined; without the address their first lookups would have no answer."""
    for node in DEV.nodes:
        steps = [each.name for each in machine_files.parts(DEV, node, CERTIFICATES).ordered_steps()]
        joins = "initialise" if node == DEV.masters[0] else "join"
        assert steps.index("add-dns-address") < steps.index(joins), node.name


def test_a_slow_node_keeps_its_dns() -> None:
    """Restarted no sooner than members of a quorum; kubelet's period is 10 s where a probe gives none."""
    probe = pod(DEV)["containers"][0]["livenessProbe"]
    assert probe.get("periodSeconds", 10) * probe["failureThreshold"] == 120


def test_only_the_first_master_applies_it() -> None:
    having = [
        node.name
        for node in DEV.nodes
        if node_dns.FILE in {file.path for file in machine_files.parts(DEV, node, CERTIFICATES).files}
    ]
    assert having == [DEV.masters[0].name]


def test_it_runs_on_every_node_and_is_not_a_pod_of_the_service() -> None:
    """Its pods would otherwise get queries to the Service, on an address where they do not listen."""
    template = addon(DEV)["DaemonSet"]["spec"]["template"]
    assert template["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert template["spec"]["priorityClassName"] == "system-node-critical"
    assert "k8s-app" not in template["metadata"]["labels"]


def test_it_asks_the_api_through_its_node_and_notices_a_dead_master() -> None:
    (container,) = pod(DEV)["containers"]
    variables = {each["name"]: each["value"] for each in container["env"]}
    assert (variables["KUBERNETES_SERVICE_HOST"], variables["KUBERNETES_SERVICE_PORT"]) == ("127.0.0.1", "6443")
    assert variables["HTTP2_READ_IDLE_TIMEOUT_SECONDS"] == "5"


def test_a_change_of_the_configuration_replaces_the_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    before = addon(DEV)["DaemonSet"]["spec"]["template"]["metadata"]["annotations"]
    monkeypatch.setattr(node_dns, "COREFILE", node_dns.COREFILE.replace("cache 30", "cache 20"))
    assert addon(DEV)["DaemonSet"]["spec"]["template"]["metadata"]["annotations"] != before


def test_the_image_is_pinned_where_the_stack_pins_it() -> None:
    digest = "sha256:" + "0123456789abcdef" * 4
    pinned = plan(parsed(full_size("100", images={"digests": {"coredns": digest}})))
    assert pod(pinned)["containers"][0]["image"] == f"{COREDNS}@{digest}"
    assert pod(DEV)["containers"][0]["image"] == COREDNS


def test_the_lab_builds_the_version_of_the_image() -> None:
    text = (ROOT / "toolchain/cluster/coredns/go.mod").read_text(encoding="utf-8")
    assert f"github.com/coredns/coredns {COREDNS.rpartition(':')[2]}\n" in text


def test_the_lab_links_every_plugin_of_the_corefile() -> None:
    """CoreDNS does not start with a plugin that it does not have."""
    main = (ROOT / "toolchain/cluster/coredns/main.go").read_text(encoding="utf-8")
    order = re.findall(r'"(\w+)"', main[main.index("Directives") :])
    used = re.findall(r"^ {4}(\w+)", node_dns.corefile(), re.MULTILINE)
    assert len(used) == 9
    for plugin in used:
        assert f'/plugin/{plugin}"' in main
        assert plugin in order


@pytest.mark.parametrize(
    ("enabled", "line", "left"),
    [
        (True, "1: lo    inet 169.254.20.10/32 scope global lo", False),
        (False, "1: lo    inet 169.254.20.10/32 scope global lo", True),
        (True, "1: lo    inet 169.254.20.101/32 scope global lo", True),
        (True, "1: lo    inet 127.0.0.1/8 scope host lo", True),
    ],
)
def test_the_step_is_left_while_unit_or_address_is_missing(
    tmp_path: Path, enabled: bool, line: str, left: bool
) -> None:
    (step,) = node_dns.parts().steps
    script(tmp_path, "systemctl", f"exit {0 if enabled else 1}\n")
    script(tmp_path, "ip", f"echo '{line}'\n")
    done = subprocess.run(["sh", "-euc", step.check], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False)
    assert (done.returncode != 0) is left
