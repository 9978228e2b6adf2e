"""Every configuration file that the example stacks render passes the oslo-config-validator of the real releases."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from blueprint.openstack.options import Option, as_listed, listed
from blueprint.stackfile.settings import Ingress, Networks, NodeOverride, Projects
from console.progress import Reporter
from openstack import node_values
from tests.projects import OPTION_FILES
from tests.trials.services.stack import documents
from toolchain.openstack_programs import DEFAULT, ensure, releases
from toolchain.option_lists import PROJECTS
from trials.services.containers import TriedContainer, read

VALIDATE = Path(__file__).parent / "validate.py"
_UNKNOWN = "is not part of the sample config"
EXAMPLES = ("dev", "prod", "ra1000")
NEWEST = releases()[-1]


def python_of(release: str) -> Path:
    """The Python of the release's environment."""
    return ensure(release, Reporter()) / "bin" / "python"


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of the default release's environment."""
    return python_of(DEFAULT)


@cache
def containers_of(release: str) -> list[TriedContainer]:
    """Every container of the example stacks with a release, and of some with what a stack must ask for."""
    optional = Projects.model_validate({"designate": {}, "ironic": {}})
    domain = Ingress.model_validate({"domain": "cloud.example.org", "className": "nginx"})
    vlans = {"interface": "ens8", "vlans": "1001:1030"}
    networks = Networks.model_validate({"distributedRouters": True, "physical": {"physnet1": vlans}})
    types = {"ml2_conf.ini": {"ml2": {"project_network_types": ["vlan", "vxlan"]}}}
    cards = {"virt1": NodeOverride.model_validate({"sriov": {"ens2f1": {"network": "physnet1"}}})}
    stacks = [
        *(documents(stack, release=release) for stack in EXAMPLES),
        documents("dev", release=release, projects=optional, ingress=domain),
        documents(
            "dev",
            release=release,
            networks=networks,
            nodes=cards,
            projects=Projects.model_validate({"neutron": {"options": types}}),
        ),
    ]
    return [container for stack in stacks for container in read(stack).values()]


def files_of(containers: Iterable[TriedContainer], project: str) -> list[dict[str, Any]]:
    """The different files of a project's options, each once, with the namespaces of the options that it may contain."""
    namespaces = PROJECTS[project]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for container in containers:
        mine = [name for name in map(_name, container.files) if name in OPTION_FILES[project]]
        for path, file in container.files.items():
            # A program reads its fragments together with its files: an option of any of them may be in a fragment.
            names = [_name(path)] if _name(path) in mine else mine if ".conf.d/" in path else []
            if names:
                found[path, file.text] = {
                    "name": f"{container.workload}/{container.name} {path} {len(found)}",
                    "text": file.text,
                    "lists": names,
                    "namespaces": [each for name in names for each in namespaces[name]],
                    "exclude": backends(each.text for each in container.files.values()),
                }
    return list(found.values())


def unlisted(complaints: Iterable[str], release: str, lists: Sequence[str]) -> list[str]:
    """The complaints without those of keystoneauth's options, which some projects read and their generator lacks.

    The lists of options are the generator's and these (toolchain/option_lists.py).
    """
    known = [listed(release, name) for name in lists]
    return [text for text in complaints if not any(_is_listed(text, sections) for sections in known)]


def _is_listed(complaint: str, sections: Mapping[str, Mapping[str, Option]]) -> bool:
    section, _, name = complaint.partition(" ")[0].partition("/")
    return complaint.endswith(_UNKNOWN) and name in sections.get(as_listed(section), {})


def backends(texts: Iterable[str]) -> list[str]:
    """Sections that enabled_backends names; blueprint/openstack/options.py knows what they may contain."""
    words: list[str] = []
    for text in texts:
        words += [word for line in text.splitlines() if line.startswith("enabled_backends") for word in _values(line)]
    return [word.partition(":")[0] for word in words]


def _values(line: str) -> list[str]:
    return [word.strip() for word in line.partition("=")[2].split(",")]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def validated(python: Path, files: list[dict[str, Any]]) -> Mapping[str, list[str]]:
    done = subprocess.run(
        [python, "-E", "-W", "ignore", VALIDATE], input=json.dumps(files), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("release", [DEFAULT, NEWEST])
@pytest.mark.parametrize("project", PROJECTS)
def test_no_option_is_unknown_or_deprecated(project: str, release: str) -> None:
    files = files_of(containers_of(release), project)
    assert files
    reported = validated(python_of(release), files)
    complaints = {each["name"]: unlisted(reported[each["name"]], release, each["lists"]) for each in files}
    assert not {name: found for name, found in complaints.items() if found}


def test_the_values_of_a_node_override_all_other_files(python: Path, tmp_path: Path) -> None:
    """The release's oslo.config reads the files in the order of nova-compute's command, the node's file last."""
    for name, text in (("nova.conf", "debug = false\nhost = a"), ("cmp1.conf", "debug = true")):
        (tmp_path / name).write_text(f"[DEFAULT]\n{text}\n", encoding="utf-8")
    program = (
        "import sys; from oslo_config import cfg; conf = cfg.ConfigOpts();"
        "conf.register_opts([cfg.BoolOpt('debug'), cfg.StrOpt('host')]);"
        "conf(sys.argv[1:], project='nova', prog='nova-compute'); print(conf.debug, conf.host)"
    )
    script = tmp_path / "start.sh"
    (text,) = node_values.SCRIPT.parts
    script.write_text(str(text).replace(node_values.DIRECTORY, str(tmp_path)), encoding="utf-8")
    command = ["sh", script, python, "-c", program, "--config-file", tmp_path / "nova.conf"]
    for node, expected in (("cmp1", "True a\n"), ("cmp2", "False a\n")):
        variables = {node_values.VARIABLE: node}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        assert done.stdout == expected


@pytest.mark.parametrize("release", [DEFAULT, NEWEST])
def test_a_wrong_option_is_found(release: str) -> None:
    text = "[DEFAULT]\ndebgu = true\n[placement_database]\nmax_pool_size = 5\nmax_overflow = 1\n[nonsense]\na = 1\n"
    file = {"name": "a", "text": text, "namespaces": PROJECTS["placement"]["placement.conf"], "exclude": []}
    (found,) = validated(python_of(release), [file]).values()
    assert found == [
        "DEFAULT/debgu is not part of the sample config",
        "nonsense/a is not part of the sample config",
    ]
