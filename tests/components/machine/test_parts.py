"""Steps of machines that run on this host: their shell with fake programs, in a directory in place of the root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from components import machine_files
from components.k8s_master import etcd
from components.machine import Step
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.test_machine_files import DEV, LARGE, NGINX, PROXY, document, node
from tests.fakes import script
from trials.services.testbed import until


def step_of(name: str, step: str) -> Step:
    """A step of a machine of the stack dev."""
    (found,) = (each for each in machine_files.parts(DEV, node(DEV, name), CERTIFICATES).steps if each.name == step)
    return found


def run(root: Path, text: str, *programs: Path) -> int:
    """Runs shell text of a step. `programs`: directories that come first in PATH. Returns the exit code."""
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    environment = {"ROOT": str(root), "PATH": path}
    return subprocess.run(["sh", "-euc", text], env=environment, check=False).returncode


def test_an_interrupted_initialisation_is_run_again(tmp_path: Path) -> None:
    step = step_of("master1", "initialise")
    directory, programs = tmp_path / "etc/kubernetes", tmp_path / "bin"
    for made in (directory, programs):
        made.mkdir(parents=True)
    script(programs, "kubeadm", f'echo "$*" >>{tmp_path}/log\n: >{directory}/kubelet.conf\n[ ! -f {tmp_path}/killed ]')
    stored = tmp_path / etcd.MEMBERS.removeprefix("/")
    stored.parent.mkdir(parents=True, exist_ok=True)
    stored.write_text(f"[ ! -f {directory}/kubelet.conf ] || echo stored\n", encoding="utf-8")
    (tmp_path / "killed").touch()
    assert run(tmp_path, step.check, programs) != 0
    assert run(tmp_path, step.apply, programs) != 0
    assert run(tmp_path, step.check, programs) != 0, "kubelet.conf is there, but the cluster is not complete"
    (tmp_path / "killed").unlink()
    assert run(tmp_path, step.apply, programs) == 0
    assert run(tmp_path, step.check, programs) == 0
    first, second = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert "--ignore-preflight-errors" not in first
    assert "--ignore-preflight-errors=FileAvailable--etc-kubernetes-manifests-kube-apiserver.yaml," in second


def test_an_api_server_restarts_only_when_another_one_is_ready(tmp_path: Path) -> None:
    step = step_of("master1", "configure-api-server")
    log, polls = tmp_path / "log", tmp_path / "polls"
    manifest = tmp_path / "etc/kubernetes/manifests/kube-apiserver.yaml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("    image: registry.k8s.io/kube-apiserver:v1.37.2\n", encoding="utf-8")
    script(tmp_path, "kubeadm", f'echo restarted >>{log}; echo "$*" >{tmp_path}/restarted')
    script(
        tmp_path,
        "kubectl",
        f"""\
case "$*" in
*readyz*) echo asked >>{log}; [ "$(grep -c asked {log})" -gt 2 ] ;;
*"get pod"*)
  echo polled >>{polls}
  [ "$(grep -c polled {polls})" -gt 1 ] || before=g1-g2 # the pod before, which trusts other authorities of etcd
  servers=https://10.20.0.21:2379,https://10.20.0.22:2379,https://10.20.0.23:2379
  echo "--etcd-servers=$servers [${{before-}}] [] [] True"
  ;;
esac""",
    )
    assert run(tmp_path, step.apply, tmp_path) == 0
    assert len(polls.read_text(encoding="utf-8").split()) == 2, "it waits for the new pod"
    assert log.read_text(encoding="utf-8").split() == ["asked"] * 3 + ["restarted"]
    manifest.write_text("    image: registry.k8s.io/kube-apiserver:v1.35.1\n", encoding="utf-8")
    assert run(tmp_path, step.apply, tmp_path) == 1, "Kubernetes is not updated on the way"
    assert len(log.read_text(encoding="utf-8").split()) == 4


def test_a_change_of_masters_reloads_the_proxy(tmp_path: Path) -> None:
    """kubelet restarts a static pod when its manifest changes; without the proxy, the node may become not Ready."""
    assert document(DEV, "virt1", PROXY)["metadata"] == document(LARGE, "cmp1", PROXY)["metadata"]
    step = step_of("virt1", "reload-api-proxy")
    configuration = tmp_path / NGINX.removeprefix("/")
    for made in (configuration.parent, tmp_path / "var/lib/quorate-apply"):
        made.mkdir(parents=True)
    name = "nginx: master process nginx -c /etc/api-proxy/nginx.conf -g daemon off;"
    log = tmp_path / "log"
    waiting = (
        f"import signal; signal.signal(signal.SIGHUP, lambda *_: print('reloaded', file=open({str(log)!r}, 'a')))\n"
        "print('ready', flush=True)\nwhile True: signal.pause()"
    )
    with subprocess.Popen([name, "-c", waiting], executable=sys.executable, stdout=subprocess.PIPE) as nginx:
        assert nginx.stdout is not None
        nginx.stdout.readline()
        try:
            for number, content in enumerate(("two masters", "three masters"), start=1):
                configuration.write_text(content, encoding="utf-8")
                assert run(tmp_path, step.check) != 0
                assert run(tmp_path, step.apply) == 0
                assert run(tmp_path, step.check) == 0
                until("reloads", lambda number=number: log.exists() and len(log.read_text().split()) == number, 20)
        finally:
            nginx.kill()
    configuration.write_text("four masters", encoding="utf-8")
    assert run(tmp_path, step.apply) == 0, "no proxy runs"
