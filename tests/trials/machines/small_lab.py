"""A part of the stack "dev" on real machines: masters, Galera, RabbitMQ, memcached and Keystone."""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

import contract
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from cluster.objects import name, number
from commands.engine.temporary_rendering import rendered
from commands.stack import load
from commands.trials import lab_commands
from console.errors import UserError
from console.progress import Reporter
from tests.stacks import ROOT, STACKS
from tests.trials.machines import by_hand
from toolchain import cluster_programs, openstack_programs
from trials.cloud import bring_up, calico_images, client, host, ingress_controller, masters, nspawn
from trials.cloud.drill import readiness, workloads
from trials.cloud.drill.observation import DrilledCloud
from trials.cloud.images.prepare import prepare
from trials.cloud.lab_machines import Lab, lab_of

STACK = "dev"
LAB = f"dev{by_hand.OF_A_TEST}"
ROLES = ("master", "database", "messaging")
"""Beginnings of the names of the machines that take part: three of each, one on each server."""
PROJECTS = ("keystone", "mariadb", "memcached", "rabbitmq")
"""Components of the objects that take part."""
KEYSTONE = f"identity.{ingress_controller.DOMAIN}"
INGRESS = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": client.NAMESPACE, "namespace": client.NAMESPACE},
    "spec": {
        "ingressClassName": ingress_controller.CLASS,
        "tls": [{"hosts": [KEYSTONE], "secretName": ingress_controller.CERTIFICATE}],
        "rules": [
            {
                "host": KEYSTONE,
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "keystone", "port": {"number": 5000}}},
                        }
                    ]
                },
            }
        ],
    },
}
"""The stack `dev` has no Ingress."""
OBJECTS = "/root/objects"
READY = 900
"""Seconds until every workload and Job of a phase must be ready or complete."""
QUORUMS = ("mariadb", "memcached", "rabbitmq")
"""Components whose workloads the others need."""
ERROR = re.compile(r"error\b.*:|[a-z]Error|denied|refused", re.IGNORECASE)
"""Lines of a log that say what failed."""
LATE = re.compile(r"\((Timeout|ServerTimeout|ServiceUnavailable|TooManyRequests)\)|etcdserver: request timed out")
"""Answers of an API server that has no time at this moment, or whose etcd has no leader."""


@dataclass(frozen=True)
class SmallLab:
    """The running part of the stack."""

    lab: Lab
    planned: Plan
    directory: Path
    """For files with credentials."""

    def cloud(self, release: Path) -> DrilledCloud:
        """What a drill needs to know of it. `release`: environment with openstacksdk."""
        urls = client.set_up(self.lab, self.lab.workers[-1], self.directory, Reporter())
        quorums = {each.name: each.instances for each in self.planned.processes if each.name in ("mysqld", "rabbitmq")}
        return DrilledCloud(
            apis={"keystone": urls["keystone"]},
            quorums=quorums,
            release=release,
            settings=self.directory / client.SETTINGS,
            directory=self.directory,
            writes=("project",),
        )


@contextmanager
def small_lab(directory: Path) -> Generator[SmallLab]:
    """Starts the machines and applies the rendered objects; removes everything afterwards.

    Removes what an interrupted test run left. Skips the test if another lab is on this host, or if the host lacks
    something.
    """
    reporter = Reporter()
    planned = plan(load_file(STACKS[STACK]))
    by_hand.skip_beside_another_lab()
    calico = cluster_programs.ensure(reporter, cluster_programs.CALICO)
    source = {"manifest": calico_images.manifest_source(calico)}
    with host.alone(), rendered(ROOT, load(ROOT, STACK), cni="calico", calico=source) as tree:
        whole = lab_of(STACK, planned, tree)
        machines = tuple(each for each in whole.machines if each.name.startswith(ROLES))
        lab = replace(whole, stack=LAB, machines=machines, calico=calico)
        by_hand.skip_unless_able(lab)
        bring_up.take_down()
        objects = directory / "objects"
        objects.mkdir(mode=0o700)
        images = write_objects(tree, objects)
        try:
            bring_up.bring_up(lab, [prepare(images, reporter).archive], reporter)
            by_hand.set_up(lab)
            by_hand.await_nodes(lab)
            _apply(lab, objects)
            yield SmallLab(lab, planned, directory)
        finally:
            bring_up.take_down()


def write_objects(tree: Path, directory: Path) -> set[str]:
    """Writes the objects of `PROJECTS`, those of no project and the Ingress; returns their images.

    Each is in a directory of its phase. The names of the phases sort as they are applied.
    """
    found: set[str] = set()
    for folder in ("manifests", "secrets"):
        for file in sorted((tree / folder).rglob("*.yaml")):
            document = yaml.safe_load(file.read_text(encoding="utf-8"))
            component = document["metadata"].get("labels", {}).get(contract.COMPONENT, PROJECTS[0])
            if component in PROJECTS:
                phase = directory / _phase(document["kind"], component)
                phase.mkdir(exist_ok=True)
                (phase / file.name).write_text(yaml.safe_dump(document), encoding="utf-8")
                found |= set(lab_commands.images(document))
    (directory / _phase("Ingress", "") / "ingress.yaml").write_text(yaml.safe_dump(INGRESS), encoding="utf-8")
    return found


def _phase(kind: str, component: str) -> str:
    """Returns the phase of an object. They follow each other as in `up`, which waits for what others depend on."""
    if kind == "Namespace":
        return "0-namespaces"
    if kind in ("DaemonSet", "Deployment", "StatefulSet"):
        return f"2-{component}" if component in QUORUMS else "4-apis"
    return "3-jobs" if kind == "Job" else "1-settings"


def _apply(lab: Lab, objects: Path) -> None:
    """Applies the objects of each phase, and waits until its workloads are ready and its Jobs complete."""
    nspawn.push(lab.masters[0], objects, OBJECTS)
    for phase in sorted(objects.iterdir()):
        _apply_phase(lab, phase.name)
        _await(lab)


def _apply_phase(lab: Lab, phase: str) -> None:
    """Applies the objects of a phase, again if an API server does not answer in time, as may happen under load."""
    end = time.monotonic() + READY
    while True:
        done = masters.kubectl(lab, "apply", "--server-side", f"--filename={OBJECTS}/{phase}", timeout=READY)
        if not done.returncode:
            return
        if not LATE.search(done.stderr) or time.monotonic() > end:
            raise UserError(f"kubectl apply of {phase} failed: {done.stderr.strip()[-2000:]}\n{_explanation(lab)}")
        time.sleep(3)


def _await(lab: Lab) -> None:
    end = time.monotonic() + READY
    while True:
        try:
            _require_complete(lab)
            return readiness.require(lab, {each.name: each.pods for each in workloads.expected(lab)})
        except UserError as error:
            if time.monotonic() > end:
                raise UserError(f"{error}\n{_explanation(lab)}") from None
            time.sleep(3)


def _require_complete(lab: Lab) -> None:
    jobs = workloads.of_openstack(lab, "jobs")
    incomplete = [name(each) for each in jobs if not number(each, "status", "succeeded")]
    if incomplete:
        raise UserError(f"Jobs are not complete: {', '.join(incomplete)}")


def _explanation(lab: Lab) -> str:
    """Returns the pods of the lab, and the error messages of those that are neither ready nor complete."""
    shown = masters.kubectl(lab, "get", "pods", "--all-namespaces", "--output=wide").stdout
    lines = (line for line in shown.splitlines() if client.NAMESPACE in line and "0/1" in line)
    for pod in [line.split()[1] for line in lines if "Completed" not in line][:10]:
        log = masters.kubectl(lab, "logs", pod, f"--namespace={client.NAMESPACE}", "--all-containers").stdout
        # A traceback of SQLAlchemy names the error before the statement, which is long.
        found = [line[:300] for line in log.splitlines() if ERROR.search(line)]
        shown += "\n".join(["", f"--- {pod}", *found[-4:], *log.splitlines()[-2:]])
    return shown


def release() -> Path:
    """Returns the environment with openstacksdk."""
    return openstack_programs.ensure(openstack_programs.DEFAULT, Reporter())
