"""`quorate drill`: cuts the power of servers of the lab, one after the other, and reports what clients noticed."""

from __future__ import annotations

import sys
from pathlib import Path

import contract
from blueprint.plan.planner import Plan, plan
from blueprint.stackfile.loader import load_file
from cloud import client, host
from cloud.drill import drill_report, power_cut
from cloud.lab_machines import Lab
from commands import lab_stack, machine_lab, stack
from commands.operation import interrupted_by_termination
from toolchain import openstack_programs
from toolchain.progress import Reporter, UserError


def start(root: Path, name: str, server: str, *, every: bool) -> int:
    """Cuts the power of one server, or of each in turn. Returns 0 if nothing was lost and no majority was missing."""
    if bool(server) == every:
        raise UserError("Write which server loses its power: SERVER=virt1, or ALL=1 for each in turn.")
    lab = machine_lab.existing(root, name)
    planned = plan(load_file(stack.find(root, name)))
    reporter = Reporter()
    page = root / "build" / lab_stack.name_of(name) / "drill" / drill_report.PAGE
    with interrupted_by_termination(), host.alone():
        cloud = _cloud(root, name, lab, planned, reporter)
        drills: list[power_cut.Drill] = []
        for each in lab.servers if every else [server]:
            reporter.begin(f"Cutting the power of {each}")
            drills.append(power_cut.drill(lab, each, cloud, reporter.tick))
            reporter.end()
            drill_report.write(drills, page.parent)
            if drills[-1].problems():
                break  # the next cut could be one too many
        for drill in drills:
            _print(drill)
        reporter.begin("Deleting what the drill has written")
        power_cut.clean(lab, cloud)
        reporter.end()
    print(f"Report: {page.relative_to(root)}")
    return 1 if any(drill.problems() for drill in drills) else 0


def _cloud(root: Path, name: str, lab: Lab, planned: Plan, reporter: Reporter) -> power_cut.Cloud:
    directory = lab_stack.directory(root, name)
    client.write_settings(lab, directory / client.SETTINGS)
    return power_cut.Cloud(
        apis=power_cut.apis(lab),
        quorums={process.name: process.instances for process in planned.processes if process.quorum},
        etcd={master.name: f"http://{master.address}:{contract.ETCD_METRICS_PORT}/livez" for master in lab.masters},
        release=openstack_programs.ensure(planned.settings.release, reporter),
        settings=directory / client.SETTINGS,
        directory=directory,
    )


def _print(drill: power_cut.Drill) -> None:
    print(f"\n{drill.server} without power for {drill.restored - drill.cut:.0f} s")
    for quorum, members in drill.quorums.items():
        print(f"  {quorum:<24} {members.least} of {members.total} members at least")
    for api, each in drill.apis.items():
        if each.failed:
            failed = f"{each.failed} of {each.requests} requests failed"
            print(f"  {api:<24} {each.longest:.1f} s without an answer, {failed}")
    for kind, each in drill.writes.items():
        print(f"  {kind:<24} {each.acknowledged} of {each.tried} acknowledged, {len(each.lost)} lost")
    if drill.whole:
        print(f"  as before {drill.whole - drill.restored:.0f} s after the power was back")
    for problem in drill.problems():
        print(f"  {problem}", file=sys.stderr)
