"""`quorate services`: starts a stack's services with their real programs, makes them fail, and reports lost data."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

from commands import stack
from commands.engine.operation import interrupted_by_termination
from commands.engine.temporary_rendering import rendered
from console.errors import UserError
from console.progress import Reporter
from proof.manifests import read_manifests
from toolchain import cluster_programs, debian_root, openstack_programs
from trials.guest import guest_image
from trials.services import containers, run, switches, testbed
from trials.services.etcd import RenderedEtcd
from trials.services.openstack_trials import Programs


def prove_services(root: Path, name: str, kind: str) -> int:
    """Runs the service trials of a stack and writes build/services/. Returns 0 if all trials pass, otherwise 1.

    `kind`: only faults of this kind (trials/services/run.py); "" for all trials but the stalls.
    """
    if kind and kind not in get_args(run.Kind):
        raise UserError(f"--kind is {kind}; it may be {' or '.join(get_args(run.Kind))}.")
    wanted = cast("run.Kind | None", kind or None)
    reporter = Reporter()
    try:
        testbed.check()
    except testbed.Unavailable as reason:
        raise UserError(f"{reason}.") from None
    with interrupted_by_termination():
        release = openstack_programs.ensure(openstack_programs.DEFAULT, reporter)
        programs = Programs(debian_root.ensure(reporter), release)
        ceph_root = debian_root.ensure(reporter, debian_root.CEPH)
        switch_root = debian_root.ensure(reporter, debian_root.SWITCH)
        image = guest_image.made_from(debian_root.ensure(reporter, guest_image.ROOT))
        program = cluster_programs.ensure(reporter) / "etcd"
        reporter.begin(f"Rendering {name} with Pulumi in a temporary state")
        loaded = stack.load(root, name)
        with rendered(root, loaded) as tree:
            found = containers.read(read_manifests(tree))
            settings = tree / "machines" / loaded.plan.members[0].name / "root/etc/etcd/etcd.env"
            member = RenderedEtcd(program, settings.read_text(encoding="utf-8"))
        reporter.end()
        directory = root / "build" / "services"
        tried = run.trials(programs, ceph_root, found, member, wanted)
        if wanted is None:
            tried = {**tried, "Open vSwitch": lambda: switches.prove(switch_root, found, image)}
        holds = run.run(tried, directory, say=lambda text: print(text, flush=True))
    verdict = "hold" if holds else "do not all hold"
    print(f"The proofs of {name} {verdict}: {(directory / 'report.md').relative_to(root)}", flush=True)
    return 0 if holds else 1
