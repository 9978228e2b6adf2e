"""`quorate cloud`, `cloud-status`, `cloud-down`: a stack's machines on this host, set up by their rendered `apply`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import yaml

from blueprint.plan.plan import Plan
from commands import clean, stack
from commands.engine.operation import interrupted_by_termination
from commands.engine.temporary_rendering import rendered
from commands.trials import lab_stack
from console.errors import UserError
from console.progress import Reporter, duration
from contract import COMPUTE_POOL
from toolchain import cluster_programs, debian_root, openstack_programs
from trials.cloud import bring_up, client, connections, host, masters, network, nspawn, scenarios, ssh_access
from trials.cloud.drill import observer, workloads
from trials.cloud.drill.operator import Operator
from trials.cloud.images.prepare import prepare
from trials.cloud.lab_machines import Lab, lab_of
from trials.guest import guest_image

PARALLEL = {"PULUMI_PARALLEL": "4"}
"""Resources that `up` creates at a time: each workload starts three pods or more. With Pulumi's default of 8 for two
cores, kubelets were too slow to report their nodes as Ready. Project figure."""


def start(root: Path, name: str) -> int:
    """Brings the machines of a stack up and applies its objects with the target `live`."""
    reporter = Reporter()
    found = stack.load(root, name)
    planned = found.plan
    reporter.say(host.check(lab_of(name, planned, root)))
    with interrupted_by_termination(), host.alone():
        if bring_up.recorded_stack() is None:  # the resources of an earlier lab are gone
            clean.forget(root, lab_stack.name_of(name))
        reporter.begin(f"Rendering {name} with Pulumi in a temporary state")
        with rendered(root, found) as tree:
            reporter.end()
            lab = _lab(name, planned, tree)
            prepared = prepare(images_of(tree), reporter)
            seconds = bring_up.bring_up(lab, [prepared.archive], reporter)
        host_keys = {machine.name: ssh_access.host_key(machine) for machine in lab.machines}
        lab_stack.write(root, found, host_keys, lab.calico)
        started = time.monotonic()
        code = operator(root, lab, name).up()
        seconds["Setting the machines up and applying the objects by `quorate up`, target live"] = (
            time.monotonic() - started
        )
        if code == 0:
            lab_stack.write_kubeconfig(root, name, masters.kubeconfig(lab, bring_up.CONTEXT))
            started = time.monotonic()
            steps = _use(root, lab, planned, reporter)
            seconds["Using OpenStack as a client"] = time.monotonic() - started
            print("\n" + steps.rstrip())
    print()
    for what, took in seconds.items():
        print(f"{duration(took):>14}  {what}")
    for image, reason in prepared.stand_ins.items():
        print(f"Not the program of its name: {image}. {reason}")
    if code:
        print(f"Run `make cloud STACK={name}` again to continue.", file=sys.stderr)
        return code
    kubeconfig = lab_stack.directory(root, name) / lab_stack.KUBECONFIG
    print(f"\nAll {len(lab.nodes)} nodes of {name} are Ready. Kubeconfig: {kubeconfig.relative_to(root)}")
    print(f"Next: `make cloud-status STACK={name}`, or `make cloud-down`, which removes everything.")
    return 0


def operator(root: Path, lab: Lab, name: str) -> Operator:
    """Returns how `quorate` is run on the lab's stack."""
    quorate = network.in_switch([str(root / ".venv" / "bin" / "quorate")])
    return Operator(lab, quorate, lab_stack.name_of(name), {**lab_stack.environment(root, name), **PARALLEL})


def _use(root: Path, lab: Lab, planned: Plan, reporter: Reporter) -> str:
    """Writes clouds.yaml, uses every service of OpenStack once, and then instances; returns the steps' seconds."""
    directory = lab_stack.directory(root, lab.stack)
    settings = directory / client.SETTINGS
    client.set_up(lab, lab.workers[-1], directory, reporter)
    environment = openstack_programs.ensure(planned.settings.release, reporter)
    reporter.begin("Using OpenStack: an image, a network, a server, a volume and a stack are made and deleted")
    steps = client.run(environment, settings, "everything")
    endpoints = client.run_openstack(environment, settings, "endpoint", "list", "--interface=public", "--column=URL")
    reporter.end()
    made = instances(planned, reporter)
    if lab.calico:
        reporter.begin("Trying which connections the NetworkPolicies admit")
        steps += "\n" + connections.try_all(lab, planned)
        reporter.end()
    else:
        steps += "\nNo NetworkPolicy is enforced: the stack has quorate:cni: none"
    if sum(COMPUTE_POOL in node.roles for node in planned.machines) < 2:
        steps += "\nNo instance was made: the trial moves instances, and the stack has fewer than two computes"
        return f"{steps}\n{endpoints}"
    reporter.begin("Using instances: two guests, their networks and disks are made, tried, moved and deleted")
    steps += "\n" + client.use_instances(environment, settings, made)
    reporter.end()
    reporter.begin("Running scenarios of tempest, which make instances of their own")
    steps += scenarios.run(lab, environment, settings, made) + "\n"
    reporter.end()
    return f"{steps}{endpoints}"


def instances(planned: Plan, reporter: Reporter) -> client.Instances:
    """Returns what programs need to make instances of the lab's guest."""
    made = guest_image.made_from(debian_root.ensure(reporter, guest_image.ROOT))
    return client.Instances(made, next(iter(planned.settings.networks.physical)))


def images_of(tree: Path) -> set[str]:
    """Returns the images that the rendered objects name."""
    found: set[str] = set()
    for file in sorted((tree / "manifests").rglob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            found |= set(images(document))
    return found


def images(value: object) -> Iterator[str]:
    """Yields the images of all containers in a document, however deep its pod template is."""
    if isinstance(value, list):
        for each in cast("list[object]", value):
            yield from images(each)
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            if key in ("containers", "initContainers") and isinstance(inner, list):
                yield from (str(each["image"]) for each in cast("list[dict[str, object]]", inner))
            else:
                yield from images(inner)


def status(root: Path, name: str) -> int:
    """Prints which machine runs on which server, and the members of each quorum. Returns 1 if something is missing."""
    planned = stack.load(root, name).plan
    lab = existing(root, name, planned)
    ready = {each.name for each in lab.nodes} - set(bring_up.not_ready(lab, bring_up.nodes(lab)))
    for server, machines in lab.servers.items():
        print(server)
        for machine in machines:
            state = "Ready" if machine.name in ready else "runs" if nspawn.is_running(machine) else "stopped"
            print(f"  {machine.name:<14} {machine.address!s:<15} {state}")
    healthy = masters.healthy_members(lab)
    print(f"etcd: {len(healthy)} of {len(lab.members)} members healthy")
    whole = _print_workloads(lab, quorums(planned))
    return 0 if whole and len(ready) == len(lab.nodes) and len(healthy) == len(lab.members) else 1


def quorums(planned: Plan) -> dict[str, int]:
    """Returns the members of every workload whose instances form a quorum."""
    return {process.name: process.instances for process in planned.processes if process.quorum}


def _print_workloads(lab: Lab, members: Mapping[str, int]) -> bool:
    """Prints how many members of each quorum are ready, and workloads that lack pods. Returns whether none is missing.

    `members`: number of members by workload.
    """
    try:
        expected = {**members, **{each.name: each.pods for each in workloads.expected(lab)}}
        ready = observer.ready(workloads.of_openstack(lab, "pods"))
    except UserError as error:
        print(error)
        return False
    found = {each: len(ready.get(each, ())) for each in expected}
    for workload, total in expected.items():
        if workload in members:
            print(f"{workload}: {found[workload]} of {total} members ready")
        elif found[workload] < total:
            print(f"{workload}: {found[workload]} of {total} pods ready")
    return all(found[each] >= total for each, total in expected.items())


def stop() -> int:
    """Removes the lab of this host, whatever its stack is."""
    with host.alone():
        bring_up.take_down()
    print("The lab is removed: no process, mount, network namespace, cgroup or file is left.")
    return 0


def existing(root: Path, name: str, planned: Plan) -> Lab:
    """Returns the lab of a stack on this host. Raises UserError if there is none, or one of another stack."""
    found = bring_up.recorded_stack()
    if found is None:
        raise UserError(f"No lab is on this host. `make cloud STACK={name}` starts one.")
    if found != name:
        raise UserError(f"The lab on this host is of stack {found}, not {name}.")
    return _lab(name, planned, root)


def _lab(name: str, planned: Plan, tree: Path) -> Lab:
    """Returns the lab of a stack, whose rendered tree is `tree`, with Calico if the stack has it."""
    calico = cluster_programs.ensure(Reporter(), cluster_programs.CALICO) if planned.settings.cni == "calico" else None
    return replace(lab_of(name, planned, tree), calico=calico)
