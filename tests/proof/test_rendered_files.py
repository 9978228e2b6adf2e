"""The programs that read the machines' rendered files accept them: kubeadm, systemd, etcd and nginx."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import machine_files
from components.k8s_master import api_proxy, audit, kubeadm, node_loss, pki
from components.kubelet import CONFIGURATION, JOINING, PATCHES
from components.machine import filled, variables
from console.errors import UserError
from console.progress import Reporter
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.machine.test_directory import machines
from tests.stacks import STACKS, parsed
from toolchain import debian_root

UNITS = "/etc/systemd/system/"
MASTER = plan(load_file(STACKS["dev"])).masters[0]
_HARMLESS = re.compile("Ignored configuration document|The recommended value for")
"""Warnings of kubeadm: about documents for its other commands, and about the second name server of pods."""
_COMMAND = re.compile(r"^Exec\w+=[-+!@:]*(\S+)", re.MULTILINE)


@pytest.fixture(scope="module", params=["dev", "prod", "ra1000"])
def stack(request: pytest.FixtureRequest) -> Plan:
    return plan(load_file(STACKS[request.param]))


def files_of(made: Plan, node: Node) -> dict[str, str]:
    """Files of a machine by path, without secret ones."""
    return filled(machine_files.parts(made, node, CERTIFICATES), variables(node))


def distinct(made: Plan, suffixes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Files whose path ends with one of `suffixes`, each text once, with their paths."""
    seen: set[tuple[str, str]] = set()
    for node in machines(made):
        for path, text in files_of(made, node).items():
            if path.endswith(suffixes) and (path, text) not in seen:
                seen.add((path, text))
                yield path, text


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_kubeadm_accepts_its_configuration(tmp_path: Path, stack: Plan, binaries: Path) -> None:
    found = list(distinct(stack, (CONFIGURATION,)))
    assert len(found) > 3
    discovery, file = tmp_path / "discovery.conf", tmp_path / "kubeadm.yaml"
    discovery.touch()
    for _, text in found:
        file.write_text(text.replace(JOINING, str(discovery)), encoding="utf-8")
        done = run(binaries / "kubeadm", "config", "validate", "--config", file)
        other = [line for line in done.stdout.splitlines() if not _HARMLESS.search(line)]
        assert (done.returncode, other) == (0, ["ok"])


@pytest.mark.parametrize("trusts", [[1], [1, 2], [2]])
def test_another_authority_of_etcd_changes_the_manifest_of_the_api_server(
    trusts: list[int], tmp_path: Path, binaries: Path
) -> None:
    """So kubelet restarts the API server, and the step's check is content afterwards, and with these alone."""
    manifest = tmp_path / "etc/kubernetes/manifests/kube-apiserver.yaml"
    manifest.parent.mkdir(parents=True)
    files = files_of(trusting(trusts), MASTER)
    patches = {path: text for path, text in files.items() if path.startswith(PATCHES)}
    for path, text in {**patches, "/discovery": "", CONFIGURATION: files[CONFIGURATION]}.items():
        (tmp_path / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        text_here = text.replace(PATCHES, f"{tmp_path}{PATCHES}").replace(JOINING, f"{tmp_path}/discovery")
        (tmp_path / path[1:]).write_text(text_here, encoding="utf-8")
    configuration = f"--config={tmp_path}{CONFIGURATION}"
    command = (binaries / "kubeadm", "init", "phase", "control-plane", "apiserver", "--dry-run", configuration)
    done = run(*command, KUBEADM_INIT_DRYRUN_DIR=str(manifest.parent))
    assert done.returncode == 0, done.stdout
    for other in ([1], [1, 2], [2]):
        (step,) = (
            each
            for each in machine_files.parts(trusting(other), MASTER, CERTIFICATES).steps
            if each.name == "configure-api-server"
        )
        assert (run("sh", "-ec", step.check, ROOT=str(tmp_path)).returncode == 0) is (other == trusts), other


def trusting(generations: list[int]) -> Plan:
    """The plan of dev, whose members of etcd trust these generations of their authority."""
    written = yaml.safe_load(STACKS["dev"].read_text(encoding="utf-8"))["config"]
    config = {key.removeprefix("quorate:"): value for key, value in written.items()}
    return plan(parsed({**config, "certificates": {"etcd": {"uses": generations[0], "trusts": generations}}}))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this host has no systemd-analyze")
def test_systemd_accepts_all_units(tmp_path: Path, stack: Plan) -> None:
    """The root has the host's own units beside the rendered ones, and an empty program for each command."""
    shutil.copytree("/usr/lib/systemd/system", tmp_path / "usr/lib/systemd/system", symlinks=True)
    found = [(path, text) for path, text in distinct(stack, (".service", ".timer", ".conf")) if path.startswith(UNITS)]
    assert len({path for path, _ in found}) > 5
    for path, text in [*found, (f"{UNITS}kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet\n")]:
        unit = tmp_path / path[1:]
        # A name without a directory is looked up in /usr/bin.
        programs = [tmp_path / str(Path("/usr/bin", each))[1:] for each in _COMMAND.findall(text)]
        for file in (unit, *programs):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(0o644 if file == unit else 0o755)
        unit.write_text(text, encoding="utf-8")
    units = sorted({Path(path).name for path, _ in found if not path.endswith(".conf")})
    done = run("systemd-analyze", f"--root={tmp_path}", "--man=no", "verify", *units)
    assert (done.returncode, done.stdout) == (0, "")


def test_etcd_knows_all_its_settings(tmp_path: Path, stack: Plan, binaries: Path) -> None:
    """It ends where it listens on the master's address, which this host does not have."""
    for master in stack.masters:
        texts = (files_of(stack, master)[f"/etc/etcd/{name}"] for name in ("etcd.env", "member.env"))
        given = dict(line.split("=", 1) for text in texts for line in text.splitlines())
        done = run(binaries / "etcd", **given | {"ETCD_DATA_DIR": str(tmp_path / master.name)})
        assert "unrecognized environment variable" not in done.stdout
        assert done.stdout.count("recognized and used environment variable") == len(given)
        assert f"listen tcp {master.address}:2380: bind: cannot assign requested address" in done.stdout


@pytest.mark.services
def test_nginx_accepts_the_proxys_configuration(tmp_path: Path, stack: Plan) -> None:
    try:
        root = debian_root.ensure(Reporter(), debian_root.NETWORK_IMAGES)
    except UserError as refusal:
        pytest.skip(str(refusal))
    libraries = f"{root}/usr/lib/x86_64-linux-gnu"
    program = (f"{libraries}/ld-linux-x86-64.so.2", "--library-path", libraries, f"{root}/usr/sbin/nginx")
    ((_, text),) = distinct(stack, (api_proxy.FILE,))
    file = tmp_path / "nginx.conf"
    file.write_text(text, encoding="utf-8")
    module = f"load_module {root}/usr/lib/nginx/modules/ngx_stream_module.so;"
    done = run(*program, "-t", "-p", tmp_path, "-c", file, "-g", f"{module} pid {tmp_path}/pid;")
    assert "test is successful" in done.stdout, done.stdout


OURS: dict[str, set[str]] = {
    "kube-apiserver": {
        "--shutdown-watch-termination-grace-period",
        "--encryption-provider-config",
        "--max-requests-inflight",
        *(f"--{name}" for name in audit.ARGUMENTS),
    },
    "kube-controller-manager": {"--node-monitor-grace-period", *(f"--{name}" for name in kubeadm.ELECTION)},
    "kube-scheduler": {f"--{name}" for name in kubeadm.ELECTION},
}
"""Arguments of the static pods that kubeadm does not write by itself, or not with this value."""


AUDIT = {volume["name"] for volume in audit.VOLUMES}


def static_pods(tmp_path: Path, binaries: Path, documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The static pods that kubeadm writes into a root, by name."""
    directory = tmp_path / pki.KUBERNETES[1:]
    directory.mkdir(parents=True)
    (tmp_path / PATCHES[1:]).mkdir()
    (tmp_path / CONFIGURATION[1:]).write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    command = ("init", "phase", "control-plane", "all", f"--rootfs={tmp_path}", "--config", CONFIGURATION)
    done = run(binaries / "kubeadm", *command)
    assert done.returncode == 0, done.stdout
    manifests = (tmp_path / "etc/kubernetes/manifests").glob("*.yaml")
    return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in manifests}


@pytest.mark.skipif(os.geteuid() != 0, reason="kubeadm changes its root directory, which requires root")
def test_static_pods_are_kubeadms_own_but_for_documented_differences(
    tmp_path: Path, stack: Plan, binaries: Path
) -> None:
    text = files_of(stack, stack.masters[0])[CONFIGURATION]
    kinds = ("InitConfiguration", "ClusterConfiguration")
    ours = [each for each in yaml.safe_load_all(text) if each["kind"] in kinds]
    cluster = {key: value for key, value in ours[1].items() if key not in ("scheduler", "controllerManager")}
    cluster["apiServer"] = {"certSANs": cluster["apiServer"]["certSANs"]}
    found = static_pods(tmp_path / "ours", binaries, ours)
    own = static_pods(tmp_path / "own", binaries, [ours[0], cluster])
    assert found.keys() == own.keys() == OURS.keys()
    for name, pod in found.items():
        commands = [set(each["spec"]["containers"][0].pop("command")) for each in (pod, own[name])]
        changed = {argument.partition("=")[0] for argument in commands[0] ^ commands[1]}
        assert changed <= OURS[name]
        variables = {each["name"] for each in pod["spec"]["containers"][0].pop("env", [])}
        assert variables <= node_loss.VARIABLES.keys()
        for volumes in (pod["spec"]["volumes"], pod["spec"]["containers"][0]["volumeMounts"]):
            volumes[:] = [each for each in volumes if each["name"] not in AUDIT]
        assert pod == own[name]
