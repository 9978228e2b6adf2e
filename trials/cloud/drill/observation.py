"""Disturbs a lab while clients use its cloud and an observer counts, and waits until everything is as before."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import contract
from cluster.objects import name
from files import atomic
from trials.cloud import bring_up, client, masters
from trials.cloud.drill import load, observer, readiness, result, workloads
from trials.cloud.drill.disturbances import Disturbance
from trials.cloud.drill.readiness import Readiness
from trials.cloud.drill.result import Drill, Event
from trials.cloud.drill.tenants import Tenants, silences
from trials.cloud.lab_machines import Lab

ETCD = "etcd"
KUBERNETES = "ConfigMaps in Kubernetes"
BEFORE = 15.0
"""Seconds of observation before the disturbance."""
AFTER = 10.0
"""Seconds of observation after everything is as before."""
CLEANING = 600
"""Seconds for the deletion of a drill's ConfigMaps, of which there may be thousands."""


@dataclass(frozen=True)
class DrilledCloud:
    """What a drill needs to know of the stack, and the programs and files of its clients."""

    apis: Mapping[str, str]
    """URL by API."""
    quorums: Mapping[str, int]
    """Members by workload, for every workload whose instances form a quorum."""
    release: Path
    """Environment with openstacksdk."""
    settings: Path
    """clouds.yaml."""
    directory: Path
    """Where files with credentials may be written."""
    writes: tuple[str, ...]
    """The kinds of objects that clients create in OpenStack (trials/services/openstack_client.py)."""
    tenants: Tenants | None = None
    """Whose instances live through the drill; None if the cloud has no Nova."""


def drill(lab: Lab, disturbance: Disturbance, cloud: DrilledCloud, say: Callable[[str], None]) -> Drill:
    """Disturbs the lab and observes it. Raises UserError, and disturbs nothing, unless all is ready before."""
    expected = {each.name: each.pods for each in workloads.expected(lab)}
    readiness.require(lab, expected)
    client.connect(lab, disturbance.witnesses[-1])
    kubeconfig = _write_kubeconfig(lab, disturbance, cloud.directory)
    masters.kubectl(lab, "create", "namespace", observer.NAMESPACE)
    etcd = {each.name: f"http://{each.address}:{contract.ETCD_METRICS_PORT}/livez" for each in lab.members}
    document = {
        "kubeconfig": str(kubeconfig),
        "urls": cloud.apis,
        "members": {ETCD: etcd},
        "namespace": client.NAMESPACE,
    }
    expected = {ETCD: len(etcd)} | expected
    with ExitStack() as stack:
        say("instances boot")
        instances = stack.enter_context(cloud.tenants.observed()) if cloud.tenants else None
        watching = stack.enter_context(load.observer(document, cloud.settings.with_name(client.CERTIFICATE)))
        writing = {kind: stack.enter_context(load.writer(cloud.release, cloud.settings, kind)) for kind in cloud.writes}
        started = time.time()
        say("observing")
        for process in (watching, *writing.values()):
            process.wait_for_report()
        time.sleep(BEFORE)
        began = time.time()
        looking = Readiness(
            lab, watching, expected, disturbance.machines if disturbance.cuts_power else (), moment=began
        )

        def wait() -> Sequence[str]:
            if disturbance.ends_access:
                _write_kubeconfig(lab, disturbance, cloud.directory)
            return looking.wait(say)

        failures = disturbance.act(wait, say)
        over = time.time()
        missing = looking.wait(say)
        whole = None if missing else time.time()
        time.sleep(AFTER)
        for process in writing.values():
            process.require_running()
        ended = time.time()
        for process in (*writing.values(), *([instances] if instances else [])):
            process.end()
    found = load.events(watching)
    tenants = load.events(instances) if instances else []
    quorums = {ETCD: len(etcd), **cloud.quorums}
    return Drill(
        lab.stack,
        disturbance.title,
        disturbance.machines,
        started,
        began,
        over,
        whole,
        ended,
        {api: result.silence(found, api, ended) for api in (*cloud.apis, "kubernetes")} | silences(tenants, ended),
        {quorum: result.members(found, quorum, total) for quorum, total in quorums.items()},
        {
            KUBERNETES: result.writes(_config_maps(found), _found_config_maps(lab), ended),
            **{
                f"{kind}s in OpenStack": result.writes(load.written(each), _found_objects(cloud, kind), ended)
                for kind, each in writing.items()
            },
            **(cloud.tenants.writes(tenants, ended) if cloud.tenants else {}),
        },
        disturbance.keeps_majority,
        disturbance.donating,
        (*failures, *(f"not ready at the end: {each}" for each in missing)),
    )


def clean(lab: Lab, cloud: DrilledCloud) -> None:
    """Deletes what a drill has written."""
    flags = ("--ignore-not-found", f"--timeout={CLEANING}s")
    masters.kubectl(lab, "delete", "namespace", observer.NAMESPACE, *flags, timeout=CLEANING + 60)
    for kind in cloud.writes:
        client.run(cloud.release, cloud.settings, "clean", kind)
    if cloud.tenants:
        cloud.tenants.clean()


def _write_kubeconfig(lab: Lab, disturbance: Disturbance, directory: Path) -> Path:
    """Writes a kubeconfig whose server is a witness. The observer reads it again."""
    left = [machine for machine in disturbance.witnesses if machine.is_master]
    path = directory / "drill-kubeconfig"
    atomic.write_private(path, masters.kubeconfig(lab, bring_up.CONTEXT, left))
    return path


def _config_maps(events: Sequence[Event]) -> list[tuple[float, int, str | None]]:
    return [(event["t"], event["number"], event["reason"]) for event in events if event["kind"] == "write"]


def _found_config_maps(lab: Lab) -> set[int]:
    names = [name(each) for each in masters.objects(lab, "configmaps", observer.NAMESPACE)]
    return {int(each.removeprefix(observer.PREFIX)) for each in names if each.startswith(observer.PREFIX)}


def _found_objects(cloud: DrilledCloud, kind: str) -> set[int]:
    return {int(line) for line in client.run(cloud.release, cloud.settings, "list", kind).split()}
