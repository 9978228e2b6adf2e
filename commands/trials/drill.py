"""`quorate drill`: disturbs the lab while clients use its cloud, and reports what they noticed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blueprint.plan.plan import Plan
from commands import stack
from commands.engine.operation import interrupted_by_termination
from commands.trials import lab_commands, lab_stack
from console.errors import UserError
from console.progress import Reporter
from contract import COMPUTE_POOL, CONTROLLER_POOL
from openstack.config.wiring import ENVIRONMENT, wiring
from operations.living.cloud import quorums_of
from toolchain import openstack_programs
from trials.cloud import bring_up, client, host, masters
from trials.cloud.drill import disturbances, drill_report, observation, replaced_machine, workloads
from trials.cloud.drill.another_authority import TITLES, another_authority
from trials.cloud.drill.disturbances import Disturbance
from trials.cloud.drill.lost_majority import lost_majority
from trials.cloud.drill.operator import Operator
from trials.cloud.drill.reboots import reboots
from trials.cloud.drill.result import Drill
from trials.cloud.drill.tenants import Tenants
from trials.cloud.lab_machines import Lab

Evacuation = Callable[[str], Callable[[], str] | None]
"""What evacuates a machine of a name; None for one that is not a compute."""


@dataclass(frozen=True)
class DrillRequest:
    """What the command line asks for: one of these."""

    server: str = ""
    """The server that loses its power."""
    kind: str = ""
    replaced: tuple[str, ...] = ()
    """The machines that die for good, at once, and are replaced."""
    every: bool = False
    """All drills but replacements."""


def start(root: Path, name: str, request: DrillRequest) -> int:
    """Runs the drills of a request. Returns 0 if all have passed."""
    if sum(map(bool, (request.server, request.kind, request.replaced, request.every))) != 1:
        raise UserError(
            "Write what to do: SERVER=virt1 (cut its power), "
            "KIND=rollout|drains|option|etcd-authority|kubernetes-authority|reboots|computes|evacuation|blackout, "
            "REPLACE=controller2 (a machine dies for good and is replaced) or REPLACE=controller2,controller3 (both at "
            "once), or ALL=1."
        )
    planned = stack.load(root, name).plan
    lab = lab_commands.existing(root, name, planned)
    reporter = Reporter()
    with_instances = _with_instances(root, name, lab, planned, reporter)
    if request.replaced:
        disturbing = [
            _replacement(
                lab,
                planned,
                tuple(dict.fromkeys(request.replaced)),
                lab_commands.operator(root, lab, name),
                lambda machine: _evacuation(root, name, planned, machine, reporter),
            )
        ]
    else:
        disturbing = selected(lab, lab_commands.quorums(planned), request.server, request.kind, with_instances)
    directory = root / "build" / lab_stack.name_of(name) / "drill"
    with interrupted_by_termination(), host.alone():
        drills = run(lab, disturbing, _cloud(root, name, lab, planned, reporter), directory, reporter)
    print(f"Report: {(directory / drill_report.PAGE).relative_to(root)}")
    return 1 if any(drill.problems() for drill in drills) else 0


def run(
    lab: Lab, disturbing: Sequence[Disturbance], cloud: observation.DrilledCloud, directory: Path, reporter: Reporter
) -> list[Drill]:
    """Runs drills one after the other, to the first that fails. Writes their report into `directory` after each."""
    drills: list[Drill] = []
    for disturbance in disturbing:
        reporter.begin(f"Drill: {disturbance.title}")
        drills.append(observation.drill(lab, disturbance, cloud, reporter.tick))
        reporter.end()
        drill_report.write(drills, directory)
        _print(drills[-1])
        reporter.begin("Deleting what the drill has written")
        observation.clean(lab, cloud)
        reporter.end()
        if drills[-1].problems():
            break  # the next disturbance could be one too many
    return drills


def selected(
    lab: Lab,
    quorums: Mapping[str, int],
    server: str = "",
    kind: str = "",
    with_instances: Mapping[str, Callable[[], Disturbance]] = MappingProxyType({}),
) -> list[Disturbance]:
    """Returns the disturbance of a server or of a kind, or all in their order.

    `with_instances`: kinds that need a cloud with instances.

    Raises UserError for an unknown server or kind.
    """
    if server:
        return [disturbances.power_cut(lab, server)]
    kinds: dict[str, Callable[[], Disturbance]] = {
        "rollout": lambda: disturbances.rollout(lab, quorums),
        "drains": lambda: disturbances.drains(lab),
        **with_instances,
        "blackout": lambda: disturbances.blackout(lab),
    }
    if kind:
        if kind not in kinds:
            raise UserError(f"{kind} is not a kind of drill; write one of {', '.join(kinds)}.")
        return [kinds[kind]()]
    return [*(disturbances.power_cut(lab, each) for each in lab.servers), *(each() for each in kinds.values())]


def _with_instances(
    root: Path, name: str, lab: Lab, planned: Plan, reporter: Reporter
) -> dict[str, Callable[[], Disturbance]]:
    """Returns the kinds of drills that need instances; none for a stack without computes."""
    computes = _computes(planned)
    if not computes:
        return {}
    controllers = [node.name for node in planned.pool(CONTROLLER_POOL)]
    single = [quorum.name for quorum in quorums_of(planned) if quorum.instances == 1]
    last = lab.machine(computes[-1])  # the second instance of a drill is there (Tenant.computes)
    operator = lab_commands.operator(root, lab, name)

    def change() -> int:
        lab_stack.change_option(root, name)
        return operator.up()

    def evacuate() -> str:
        return _tenants(root, name, planned, reporter).evacuate(last.name)

    def replaced(authority: str) -> Disturbance:
        def deploy(generations: Mapping[str, Any]) -> None:
            # After the second deployment it has a certificate of the authority that the third one keeps.
            lab_stack.write_kubeconfig(root, name, masters.kubeconfig(lab, bring_up.CONTEXT))
            lab_stack.set_generations(root, name, authority, generations)

        known = stack.load(root, lab_stack.name_of(name)).settings.certificates.by_name
        return another_authority(lab, operator, authority, known[authority].uses, deploy)

    return {
        "option": lambda: disturbances.option(lab, change),
        **{f"{each}-authority": partial(replaced, each) for each in TITLES},
        "reboots": lambda: reboots(lab, CONTROLLER_POOL, controllers, operator, single),
        # Instances leave a compute for another one.
        **({"computes": lambda: reboots(lab, COMPUTE_POOL, computes, operator)} if len(computes) > 1 else {}),
        "evacuation": lambda: disturbances.evacuation(lab, last, evacuate),
    }


def _replacement(
    lab: Lab, planned: Plan, machines: Sequence[str], operator: Operator, evacuation: Evacuation
) -> Disturbance:
    """Returns the replacement of a machine, or of several that die at once and carry no instances."""
    galeras = wiring(planned, ENVIRONMENT).galeras
    if len(machines) == 1:
        return replaced_machine.replacement(lab, machines[0], operator, galeras, evacuation(machines[0]))
    if computes := sorted({*machines} & {*_computes(planned)}):
        raise UserError(f"{', '.join(computes)}: a compute, whose instances are evacuated, is replaced by itself.")
    return lost_majority(lab, machines, operator, lab_commands.quorums(planned), galeras)


def _computes(planned: Plan) -> list[str]:
    return sorted(node.name for node in planned.machines if COMPUTE_POOL in node.roles)


def _evacuation(root: Path, name: str, planned: Plan, machine: str, reporter: Reporter) -> Callable[[], str] | None:
    """Returns what evacuates a machine; None if it is not a compute. Raises UserError if it is the only one."""
    computes = _computes(planned)
    if machine not in computes:
        return None
    if len(computes) == 1:
        raise UserError(f"{machine} is the only compute: its instances can run nowhere else.")
    return lambda: _tenants(root, name, planned, reporter).evacuate(machine)


def _cloud(root: Path, name: str, lab: Lab, planned: Plan, reporter: Reporter) -> observation.DrilledCloud:
    directory = lab_stack.directory(root, name)
    public = client.set_up(lab, lab.workers[-1], directory, reporter)
    tenants = _tenants(root, name, planned, reporter)
    return observation.DrilledCloud(
        apis=workloads.apis(lab) | public,
        quorums=lab_commands.quorums(planned),
        release=tenants.release,
        settings=tenants.settings,
        directory=directory,
        writes=("network", *(["upload"] if any(each.name == "radosgw" for each in planned.processes) else [])),
        tenants=tenants,
    )


def _tenants(root: Path, name: str, planned: Plan, reporter: Reporter) -> Tenants:
    release = openstack_programs.ensure(planned.settings.release, reporter)
    settings = lab_stack.directory(root, name) / client.SETTINGS
    return Tenants(release, settings, lab_commands.instances(planned, reporter))


def _print(drill: Drill) -> None:
    print(f"\n{drill.title}: {drill.over - drill.began:.0f} s")
    for quorum, members in drill.quorums.items():
        print(f"  {quorum:<24} {members.least} of {members.total} members at least")
    for api, each in drill.apis.items():
        if each.failed:
            failed = f"{each.failed} of {each.requests} requests failed"
            print(f"  {api:<24} {each.longest:.1f} s without an answer, {failed}")
    for kind, each in drill.writes.items():
        print(f"  {kind:<24} {each.acknowledged} of {each.tried} acknowledged, {len(each.lost)} lost")
    if drill.whole:
        print(f"  as before {drill.whole - drill.over:.0f} s after it was over")
    for problem in drill.problems():
        print(f"  {problem}", file=sys.stderr)
