"""For any content, a file's reader accepts the file or reports an error: no other exception, and at most 5 s."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from blueprint.architecture.loader import FOLDER, load_architecture
from blueprint.imports import FORMATS, ImportFormat, import_file
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import from_pulumi, load_file
from blueprint.stackfile.settings import Settings
from blueprint.topology.node_pattern import MOST_WAYS, PatternError, compiled
from blueprint.topology.place import place
from blueprint.topology.sections import read_topology
from cluster.kubeconfig import read_kubeconfig
from commands.plan.settled_stack import settled
from console.errors import UserError
from files import yaml_reader
from tests.fuzz.texts import ODD, VALUES, as_json, as_yaml, changed, documents
from tests.stacks import ROOT, STACKS

EXAMPLES = int(os.environ.get("QUORATE_FUZZ_EXAMPLES", "10"))
"""Number of examples of each test; `make e2e` sets more."""
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
SECONDS = 5
TOPOLOGY = (ROOT / "tests" / "data" / "topologies" / "topology-example.yaml").read_text(encoding="utf-8")
STACK = STACKS["dev"].read_text(encoding="utf-8")
ARCHITECTURE = (FOLDER / "100.yaml").read_text(encoding="utf-8")
DEPLOYMENT = """
kind: OpenStackDeployment
spec:
  size: tiny
  region_name: North
  features:
    services: [compute, dns]
    neutron: {external_networks: [{physnet: a, bridge: br-a, vlan_ranges: "1:9"}], tenant_network_types: [vlan]}
  services: {identity: {keystone: {values: {pod: {replicas: {api: 2}}, conf: {keystone: {token: {expiration: 9}}}}}}}
"""
INVENTORY = """
[control]
ctl[01:03] ansible_host=10.0.0.1 ansible_user="kolla" node_labels="{'a': 1}"
[control:vars]
neutron_external_interface = ens8
[keystone:children]
control
"""
KUBECONFIG = """
current-context: one
contexts: [{name: one, context: {cluster: one, user: one}}]
clusters: [{name: one, cluster: {server: "https://10.0.0.1", proxy-url: "http://a:b@c:1", tls-server-name: d}}]
users: [{name: one, user: {token: secret, username: a, as: b, as-groups: [c], as-user-extra: {d: [e]}}}]
"""
KEYS = [f"quorate:{field.alias or name}" for name, field in Settings.model_fields.items()]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Makes an empty project the working directory."""
    directory = tmp_path_factory.mktemp("project")
    with contextlib.chdir(directory):
        yield directory


def read(reader: Callable[[Path], object], directory: Path, text: str, *reported: type[Exception]) -> None:
    """Reads a file of this text. Any exception but the reported ones fails the test."""
    file = directory / "file.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    started = time.process_time()
    with contextlib.suppress(*reported):
        reader(file)
    assert time.process_time() - started < SECONDS


def stack(file: Path) -> None:
    plan(load_file(file))


def topology(file: Path) -> None:
    place(read_topology(file), ["node1", "node2", "a" * 63])


@FUZZ
@given(st.text() | VALUES.map(as_yaml))
def test_any_yaml(text: str) -> None:
    with contextlib.suppress(yaml_reader.YamlError):
        yaml_reader.load(text)


@FUZZ
@given(documents(KEYS).map(lambda config: as_yaml({"config": config})) | changed(STACK))
def test_any_stack_file(project: Path, text: str) -> None:
    read(stack, project, text, InvalidStackError)


@FUZZ
@given(st.dictionaries(st.sampled_from(KEYS) | ODD, ODD | VALUES.map(as_json), max_size=6))
def test_any_configuration_of_the_engine(config: dict[str, str]) -> None:
    with contextlib.suppress(InvalidStackError):
        plan(from_pulumi(config, set()))


@FUZZ
@given(documents(["nodes", "roles", "replicas", "services", "configs"]).map(as_yaml) | changed(TOPOLOGY))
def test_any_topology(project: Path, text: str) -> None:
    read(topology, project, text, InvalidStackError)


@FUZZ
@given(st.sampled_from(FORMATS), documents(["all", "kube_node", "kind", "spec"]).map(as_yaml) | changed(DEPLOYMENT))
def test_any_import(project: Path, form: ImportFormat, text: str) -> None:
    read(lambda file: settled(import_file(form, file)), project, text, InvalidStackError)


@FUZZ
@given(changed(INVENTORY))
def test_any_ini_inventory(project: Path, text: str) -> None:
    def inventory(file: Path) -> None:
        file.replace(project / "inventory")
        settled(import_file("kolla", project / "inventory"))

    read(inventory, project, text, InvalidStackError)


@FUZZ
@given(changed(ARCHITECTURE))
def test_any_architecture(project: Path, text: str) -> None:
    read(lambda file: load_architecture(str(file)), project, text, InvalidStackError)


@FUZZ
@given(documents(["current-context", "contexts", "clusters", "users"]).map(as_yaml) | changed(KUBECONFIG))
def test_any_kubeconfig(project: Path, text: str) -> None:
    read(read_kubeconfig, project, text, UserError)


PIECES = st.sampled_from(["a", "[ab]", ".", "*", "+", "?", "{2,9}", "(", ")", "|", "(?:", "$", "^", "-", "\\d"])


@FUZZ
@given(st.lists(PIECES, max_size=24).map("".join))
@example("(a+)+$")
@example("(a|a)*$")
@example("(a|ab)(c|bcd)(d*)")
@example("a*a*a*a*b")
@example("a?" * 25 + "a" * 25)
def test_an_accepted_pattern_matches_in_a_moment(text: str) -> None:
    """Of a second for 1,000 nodes, one name may take a millisecond; the limit leaves room for a busy machine."""
    try:
        pattern, ways = compiled(text)
    except PatternError:
        return
    if ways > MOST_WAYS:
        return
    started = time.process_time()
    for name in ("a" * 63, "ab" * 31, "a" * 62 + "-", "9" * 63):
        pattern.match(name)
        pattern.fullmatch(name)
    assert time.process_time() - started < 1
