"""Cuts the power of one server while clients use the cloud, restores it, and waits until everything is as before."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import contract
from cloud import bring_up, client, operator_steps, power
from cloud.drill import load, observer, result
from cloud.drill.result import Drill, Event
from cloud.lab_machines import Lab, Machine
from files import atomic
from proof.objects import listed, name, number, text, texts
from toolchain.progress import UserError

ETCD = "etcd"
HTTP_PORTS = ("api", "http", "vnc")
"""Names of the Services' ports that clients of OpenStack use."""
KUBERNETES, OPENSTACK = "ConfigMaps in Kubernetes", "networks in OpenStack"
BEFORE = 15.0
"""Seconds of observation before the cut."""
DOWN = 90.0
"""Seconds without power: more than kubelet's silence until its node is NotReady (50 s), and time for services to move
on. Project figure."""
RETURN = 900.0
"""Seconds within which everything must be as before."""
AFTER = 10.0
"""Seconds of observation after everything is as before."""


@dataclass(frozen=True)
class Cloud:
    """What a drill needs to know of the stack, and the programs and files of its clients."""

    apis: Mapping[str, str]
    """URL by API."""
    quorums: Mapping[str, int]
    """Members by workload, for every workload whose instances form a quorum."""
    etcd: Mapping[str, str]
    """URL of each etcd member's health."""
    release: Path
    """Environment with openstacksdk."""
    settings: Path
    """clouds.yaml."""
    directory: Path
    """Where files with credentials may be written."""


def drill(lab: Lab, server: str, cloud: Cloud, say: Callable[[str], None]) -> Drill:
    """Cuts a server's power and restores it. Raises UserError, and cuts nothing, unless all is ready before."""
    workloads = expected_pods(lab)
    require_whole(lab, workloads, server)
    survivors = [machine for machine in lab.machines if machine.server != server]
    client.connect(lab, survivors[-1])
    kubeconfig = _kubeconfig(lab, survivors, cloud.directory)
    operator_steps.kubectl(lab, "create", "namespace", observer.NAMESPACE)
    document = {
        "kubeconfig": str(kubeconfig),
        "urls": cloud.apis,
        "members": {ETCD: cloud.etcd},
        "namespace": client.NAMESPACE,
    }
    with ExitStack() as stack:
        watching = stack.enter_context(load.observer(document))
        writing = stack.enter_context(load.networks(cloud.release, cloud.settings))
        started = time.time()
        say("observing")
        time.sleep(BEFORE)
        for process in (watching, writing):
            process.require_running()
        cut = time.time()
        say(f"power of {server} is off")
        try:
            power.cut(lab, server)
            time.sleep(DOWN)
        finally:
            say(f"power of {server} is on")
            restored = time.time()
            power.restore(lab, server)
        whole = _await_whole(lab, {ETCD: len(cloud.etcd)} | workloads, watching, restored, say)
        time.sleep(AFTER)
        writing.end()
        ended = time.time()
        missing = _missing(load.events(watching), {ETCD: len(cloud.etcd)} | workloads) if whole is None else []
    found = load.events(watching)
    return Drill(
        lab.stack,
        server,
        tuple(machine.name for machine in lab.servers[server]),
        started,
        cut,
        restored,
        whole,
        ended,
        {api: result.silence(found, api, ended) for api in (*cloud.apis, "kubernetes")},
        {quorum: result.members(found, quorum, total) for quorum, total in _quorums(cloud).items()},
        {
            KUBERNETES: result.writes(_config_maps(found), _found_config_maps(lab), ended),
            OPENSTACK: result.writes(load.written(writing), _found_networks(cloud), ended),
        },
        missing,
    )


def clean(lab: Lab, cloud: Cloud) -> None:
    """Deletes what drills have written."""
    operator_steps.kubectl(lab, "delete", "namespace", observer.NAMESPACE, "--ignore-not-found", "--wait=false")
    client.run(cloud.release, cloud.settings, "clean")


def apis(lab: Lab) -> dict[str, str]:
    """Returns the URL of every Service that clients of OpenStack use, by the Service's name."""
    done = operator_steps.kubectl(lab, "get", "services", f"--namespace={client.NAMESPACE}", "--output=json")
    if done.returncode:
        raise UserError(f"The Services cannot be listed: {done.stderr.strip()}")
    return {
        name(service): f"http://{name(service)}.{client.NAMESPACE}.svc:{number(port, 'port')}/"
        for service in listed(json.loads(done.stdout), "items")
        for port in listed(service, "spec", "ports")
        if text(port, "name") in HTTP_PORTS
    }


def expected_pods(lab: Lab) -> dict[str, int]:
    """Returns how many pods each workload should have."""
    kinds = "deployments,statefulsets,daemonsets"
    done = operator_steps.kubectl(lab, "get", kinds, f"--namespace={client.NAMESPACE}", "--output=json")
    if done.returncode:
        raise UserError(f"The workloads cannot be listed: {done.stderr.strip()}")
    return {
        texts(each, "metadata", "labels").get(contract.NAME, name(each)): number(each, "spec", "replicas")
        or number(each, "status", "desiredNumberScheduled")
        for each in listed(json.loads(done.stdout), "items")
    }


def require_whole(lab: Lab, workloads: Mapping[str, int], server: str) -> None:
    """Raises UserError unless the server exists, all nodes and members of etcd are healthy, and all pods are ready."""
    if server not in lab.servers:
        raise UserError(f"The lab has no server {server}; it has {', '.join(lab.servers)}.")
    missing = [f"node {each} is not Ready" for each in bring_up.not_ready(lab, bring_up.nodes(lab))]
    healthy = operator_steps.healthy_members(lab)
    if len(healthy) < len(lab.masters):
        missing.append(f"etcd: {len(healthy)} of {len(lab.masters)} members are healthy")
    done = operator_steps.kubectl(lab, "get", "pods", f"--namespace={client.NAMESPACE}", "--output=json")
    pods = listed(json.loads(done.stdout), "items") if done.returncode == 0 else []
    ready = observer.ready(pods)
    missing += [
        f"{workload}: {len(ready.get(workload, ()))} of {total} pods are ready"
        for workload, total in workloads.items()
        if len(ready.get(workload, ())) < total
    ]
    if missing:
        lines = "\n".join(f"  {each}" for each in missing)
        raise UserError(f"Nothing was cut: a drill starts only when everything is ready.\n{lines}")


def _await_whole(
    lab: Lab, expected: Mapping[str, int], watching: load.Reporting, restored: float, say: Callable[[str], None]
) -> float | None:
    """Waits until everything is as before; returns when it was, or None if it takes too long."""
    while time.time() < restored + RETURN:
        watching.require_running()
        missing = _missing(load.events(watching), expected)
        if not missing and not bring_up.not_ready(lab, bring_up.nodes(lab)):
            return time.time()
        say(f"waiting for {_listed(missing) or 'nodes'}")
        time.sleep(2)
    return None


def _listed(missing: Sequence[str], most: int = 4) -> str:
    more = f" and {len(missing) - most} more" if len(missing) > most else ""
    return ", ".join(missing[:most]) + more


def _quorums(cloud: Cloud) -> dict[str, int]:
    return {ETCD: len(cloud.etcd), **cloud.quorums}


def _missing(events: Sequence[Event], expected: Mapping[str, int]) -> list[str]:
    """Returns the workloads and quorums that the last count found incomplete."""
    counted = next((event for event in reversed(events) if event["kind"] == "members" and event["complete"]), None)
    if counted is None:
        return ["a count of members"]
    found = {each: len(counted["members"].get(each, ())) for each in expected}
    return [f"{each}: {found[each]} of {total}" for each, total in expected.items() if found[each] < total]


def _kubeconfig(lab: Lab, survivors: Sequence[Machine], directory: Path) -> Path:
    """Writes a kubeconfig whose server keeps its power."""
    masters = [machine for machine in survivors if machine.is_master]
    if not masters:
        raise UserError("All masters are on this server: without it no API server is left to observe with.")
    path = directory / "drill-kubeconfig"
    path.unlink(missing_ok=True)
    atomic.create(path, operator_steps.kubeconfig(lab, bring_up.CONTEXT, masters), 0o600)
    return path


def _config_maps(events: Sequence[Event]) -> list[tuple[float, int, str | None]]:
    return [(event["t"], event["number"], event["reason"]) for event in events if event["kind"] == "write"]


def _found_config_maps(lab: Lab) -> set[int]:
    done = operator_steps.kubectl(lab, "get", "configmaps", f"--namespace={observer.NAMESPACE}", "--output=json")
    if done.returncode:
        raise UserError(f"The written ConfigMaps cannot be listed: {done.stderr.strip()}")
    names = [name(each) for each in listed(json.loads(done.stdout), "items")]
    return {int(each.removeprefix(observer.PREFIX)) for each in names if each.startswith(observer.PREFIX)}


def _found_networks(cloud: Cloud) -> set[int]:
    return {int(line) for line in client.run(cloud.release, cloud.settings, "list").split()}
