"""Configuration values of single nodes: which file each node gets, and that no other node's pod changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pytest

from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from openstack import configuration, node_values
from openstack.config.wiring import ENVIRONMENT, wiring
from tests.projects import PROCESSES
from tests.recording import Recorded, record
from tests.stacks import full_size, parsed
from tests.trials.services.stack import documents
from trials.services.containers import read


def compute(**default: Any) -> dict[str, Any]:
    return {"services": {"nova-compute": {"options": {"nova.conf": {"DEFAULT": default}}}}}


def texts(nodes: dict[str, Any], service: str = "nova-compute") -> dict[str, str]:
    made = plan(parsed(full_size("100", nodes=nodes)))
    names = [node.name for node in made.nodes]
    around = wiring(made, ENVIRONMENT)
    return node_values.texts(configuration.of_service(made, service), around, made.settings, service, names)


@cache
def objects(*, with_values: bool) -> dict[tuple[str, str], Recorded]:
    made = plan(parsed(full_size("100", nodes={"cmp2": compute(debug=True)} if with_values else {})))

    def build() -> None:
        Cloud("cloud", CloudArgs(made, "test", Render("test"), pulumi.Output.secret("root")))

    return {(each.kind, each.name): each for each in record(build) if each.type.startswith("kubernetes:")}


def test_each_node_gets_its_own_values_and_no_others() -> None:
    found = texts({"cmp[1-2]": compute(debug=True), "cmp3": compute(reserved_host_cpus=2)})
    assert found == {
        "cmp1.conf": "[DEFAULT]\ndebug = true\n",
        "cmp2.conf": "[DEFAULT]\ndebug = true\n",
        "cmp3.conf": "[DEFAULT]\nreserved_host_cpus = 2\n",
    }
    assert not texts({"cmp1": compute(debug=True)}, "neutron-l2-agent")


def test_of_several_patterns_the_last_in_lexicographic_order_overrides() -> None:
    found = texts({"cmp[2-3]": compute(debug=True), "cmp[1-2]": compute(debug=False)})
    assert {name: text.splitlines()[1] for name, text in found.items()} == {
        "cmp1.conf": "debug = false",
        "cmp2.conf": "debug = true",
        "cmp3.conf": "debug = true",
    }


def test_values_add_one_config_map_and_change_no_other_object() -> None:
    without, with_values = objects(with_values=False), objects(with_values=True)
    (added,) = with_values.keys() - without.keys()
    assert with_values[added].inputs["metadata"]["name"] == "nova-compute-nodes"
    assert with_values[added].inputs["data"] == {"cmp2.conf": "[DEFAULT]\ndebug = true\n"}
    assert {key for key, each in without.items() if each.inputs != with_values[key].inputs} == set()


def test_the_services_that_the_stack_file_accepts_are_those_that_read_values() -> None:
    reading = {name for name, each in PROCESSES.items() if any(container.node_values for container in each.containers)}
    # Open vSwitch reads the bridges of its node, which are not options.
    assert reading - {"openvswitch-vswitchd"} == {"nova-compute", "neutron-l2-agent"}
    for name in reading - {"openvswitch-vswitchd"}:
        main = PROCESSES[name].containers[0]
        assert main.command.startswith(f"sh {node_values.START.path} ")
        assert "--config-file" in main.command


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_every_script_that_a_command_starts_is_copied_into_its_container(stack: str) -> None:
    missing: list[str] = []
    started = 0
    for container in read(documents(stack)).values():
        shell = re.match(r"(?:sh|bash|python3) (/\S+)", container.command)
        started += shell is not None
        if shell and shell[1] not in container.files:
            missing.append(f"{container.workload}/{container.name}: {shell[1]}")
    assert started
    assert not missing


def test_the_start_script_adds_the_file_of_its_node_only(tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    (text,) = node_values.SCRIPT.parts
    assert isinstance(text, str)
    assert node_values.DIRECTORY in text
    script.write_text(text.replace(node_values.DIRECTORY, str(tmp_path)), encoding="utf-8")
    (tmp_path / "cmp2.conf").touch()

    def started(node: str) -> str:
        command = ["sh", str(script), "echo", "--config-file", "a b"]
        return subprocess.run(
            command, env={node_values.VARIABLE: node}, capture_output=True, text=True, check=True
        ).stdout

    assert started("cmp1") == "--config-file a b\n"
    assert started("cmp2") == f"--config-file a b --config-file {tmp_path}/cmp2.conf\n"


def test_the_start_script_removes_the_variables_that_would_override_the_file(tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    (text,) = node_values.SCRIPT.parts
    script.write_text(str(text).replace(node_values.DIRECTORY, str(tmp_path)), encoding="utf-8")
    values = "[DEFAULT]\nmy_ip = 10.30.0.51\n\n[vnc]\nserver_listen = [::]\n\n[ovs.a-b]\nlocal_ip = x = y\n"
    (tmp_path / "cmp1.conf").write_text(values, encoding="utf-8")
    environment = {
        "OS_DEFAULT__MY_IP": "1",
        "OS_DEFAULT__HOST": "2",
        "OS_VNC__SERVER_LISTEN": "3",
        "OS_VNC__MY_IP": "4",
        "OS_OVS.A-B__LOCAL_IP": "5",
    }

    def kept(node: str) -> set[str]:
        code = "import os; print(*(name for name in os.environ if name.startswith('OS_')))"
        command = ["sh", str(script), sys.executable, "-c", code]
        variables = environment | {node_values.VARIABLE: node, "PATH": os.environ["PATH"]}
        return set(subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout.split())

    assert kept("cmp2") >= environment.keys() - {"OS_OVS.A-B__LOCAL_IP"}  # some shells drop such a name themselves
    assert kept("cmp1") == {"OS_DEFAULT__HOST", "OS_VNC__MY_IP"}
