"""The command line `quorate`: arguments, help, completion and exit codes.

Every command imports its module when it runs, so that `quorate check` loads neither Pulumi nor the proof, and shell
completion loads no command at all.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from blueprint.problems import InvalidStackError
from console.errors import UserError
from console.programs import ProgramError
from console.system_errors import explain
from text.quoting import printable

P = ParamSpec("P")
ROOT = Path(__file__).resolve().parent.parent
KUBECONFIG = "KUBECONFIG"

HELP = """
Deploy and check OpenStack control planes that keep their quorum.

A stack is Pulumi.<stack>.yaml or examples/<stack>.yaml. Paths in messages are relative to the clone.

Exit codes: 0 success; 1 the command failed, an error is in the stack file, or a mandatory rule or a check fails;
2 wrong usage; 3 `diff` or `review` found a forbidden change, or `status` a member that is lost; 130 interrupted.
"""

app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def _stack_names(incomplete: str) -> list[str]:
    """Returns the names of stacks that begin with `incomplete`, for shell completion."""
    files = [*ROOT.glob("Pulumi.*.yaml"), *ROOT.glob("examples/*.yaml")]
    return sorted(name for file in files if (name := file.stem.removeprefix("Pulumi.")).startswith(incomplete))


StackOption = Annotated[
    str, typer.Option("--stack", "-s", help="The stack.", metavar="NAME", autocompletion=_stack_names)
]
BaseOption = Annotated[str, typer.Option(help="The commit, branch or tag to compare with.", metavar="REF")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Print Pulumi's own output as it comes.")]
BinariesOption = Annotated[
    Path | None, typer.Option(help="A directory with the control plane's programs.", resolve_path=True)
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code; HELP lists the codes."""
    try:
        app(list(sys.argv[1:] if arguments is None else arguments), prog_name="quorate")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


def _command(function: Callable[P, int]) -> Callable[P, None]:
    """Registers a function as a command; its return value is the exit code. Prints errors without a traceback."""

    @app.command(function.__name__.rstrip("_").replace("_", "-"))
    @functools.wraps(function)
    def run(*values: P.args, **named: P.kwargs) -> None:
        try:
            code = function(*values, **named)
        except KeyboardInterrupt:
            print("\nInterrupted.", file=sys.stderr)
            code = 130
        except (UserError, ProgramError, InvalidStackError) as error:
            print(printable(str(error)), file=sys.stderr)
            code = 1
        except BrokenPipeError:  # the reader of the output has ended, as in `quorate plan | head`
            raise
        except OSError as error:
            print(printable(explain(error)), file=sys.stderr)
            code = 1
        raise typer.Exit(code)

    return run


def _clone() -> Path:
    """Makes the clone the working directory, so that paths in messages are relative to it, and returns its path.

    Files that KUBECONFIG names stay relative to the user's directory.
    """
    if given := os.environ.get(KUBECONFIG):
        os.environ[KUBECONFIG] = os.pathsep.join(str(Path(each).absolute()) for each in given.split(os.pathsep) if each)
    os.chdir(ROOT)
    return ROOT


def _in_charge() -> Path:
    """Does as _clone(). Raises UserError if the clone was handed over, so that another machine changes its stacks."""
    from files import handover_record

    root = _clone()
    handover_record.require_in_charge(root)
    return root


@_command
def check(files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Stack files.")]) -> int:
    """Check stack files: print every error, or a summary of each plan."""
    from commands.plan import stack_check

    return stack_check.check(ROOT, files)


@_command
def schema(
    *, project: Annotated[bool, typer.Option("--project", help="That of the records of OpenStack projects.")] = False
) -> int:
    """Print the JSON Schema of stack files."""
    from blueprint.openstack.projects.record_schema import record_schema
    from blueprint.stackfile import schema as schemas

    sys.stdout.write(record_schema() if project else schemas.schema())
    return 0


@_command
def plan(stack: StackOption = "dev", as_json: JsonOption = False) -> int:
    """Show the placement plan of a stack and write build/STACK/plan.json (does not start Pulumi)."""
    from commands.plan import stack_check

    return stack_check.show_plan(_clone(), stack, as_json=as_json)


@_command
def config(
    service: Annotated[str, typer.Option(help="A service of the plan, such as nova-api.")],
    stack: StackOption = "dev",
    node: Annotated[str, typer.Option(help="A node of the service, to include the values of that node.")] = "",
) -> int:
    """Show the configuration of a service: every option with its layer and source (does not start Pulumi)."""
    from commands.plan import service_configuration

    return service_configuration.show(_clone(), stack, service, node)


@_command
def domains(stack: StackOption = "dev") -> int:
    """Show the names of the services outside of the cluster (does not start Pulumi)."""
    from commands.plan import domain_names

    return domain_names.show(_clone(), stack)


@_command
def images(
    stack: StackOption = "dev",
    as_json: JsonOption = False,
    copy: Annotated[
        str, typer.Option(help="Print a script that copies the images to this registry.", metavar="REGISTRY")
    ] = "",
) -> int:
    """Show every image and archive that the machines and pods of a stack download (does not start Pulumi)."""
    from commands.plan import needed_images

    if copy and as_json:
        raise typer.BadParameter("prints a script; leave out --json", param_hint="--copy")
    return (
        needed_images.show_copies(_clone(), stack, copy)
        if copy
        else needed_images.show(_clone(), stack, as_json=as_json)
    )


@_command
def pin(stack: StackOption = "dev") -> int:
    """Write the pools that the plan of a stack chose into its stack file (does not start Pulumi)."""
    from commands.plan import pin as pins

    return pins.pin_stack(_clone(), stack)


@_command
def doctor(stack: StackOption = "dev") -> int:
    """Check the machines of a stack over SSH: what would stop a live `up`, and what to do about it. Read-only."""
    from commands.live import machine_check

    return machine_check.check_machines(_clone(), stack)


@_command
def preview(stack: StackOption = "dev", verbose: VerboseOption = False) -> int:
    """Show what `up` would change and which rules it would break."""
    from commands import deployment

    return deployment.preview(_clone(), stack, is_verbose=verbose)


@_command
def up(
    stack: StackOption = "dev",
    refresh_first: Annotated[bool, typer.Option("--refresh", help="Refresh the state first.")] = False,
    verbose: VerboseOption = False,
) -> int:
    """Deploy a stack if its preview passes the policy pack."""
    from commands import deployment

    return deployment.up(_in_charge(), stack, refresh_first=refresh_first, is_verbose=verbose)


@_command
def refresh(stack: StackOption = "dev", verbose: VerboseOption = False) -> int:
    """Find rendered files that are missing or changed, and record them in the state for the next `up`."""
    from commands import deployment

    return deployment.refresh(_in_charge(), stack, is_verbose=verbose)


@_command
def destroy(
    stack: StackOption = "dev",
    confirm: Annotated[str, typer.Option(help="The stack's name again.", metavar="NAME")] = "",
    verbose: VerboseOption = False,
) -> int:
    """Destroy a stack (anything but a rendered lab also needs --confirm NAME)."""
    from commands import deployment

    return deployment.destroy(_in_charge(), stack, confirm, is_verbose=verbose)


@_command
def audit(
    stack: StackOption = "dev",
    sign: Annotated[
        Path | None, typer.Option(help="An Ed25519 key in PEM, which signs the report.", metavar="KEY")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="Its public key: check the signed reports, and audit nothing.", metavar="KEY")
    ] = None,
    oscal: Annotated[
        bool, typer.Option("--oscal", help="Write audit.oscal.json too; installs compliance-trestle first.")
    ] = False,
) -> int:
    """Evaluate every rule for a stack and write the report to build/STACK/audit/."""
    from commands import deployment
    from commands.review import oscal_results, signed_audit

    if verify:
        return signed_audit.verify(_clone(), stack, verify)
    key, began = signed_audit.private_key(sign) if sign else None, time.time()
    code = deployment.audit(_clone(), stack)
    if oscal:
        oscal_results.write(_clone(), stack, began)
    if key:
        signed_audit.sign(_clone(), stack, key, began)
    return code


@_command
def diff(stack: StackOption = "dev", base: BaseOption = "") -> int:
    """Show how a stack's resources change from a commit to the working tree, in which order, and with which risk."""
    from commands.review import difference

    return difference.diff(_clone(), stack, base)


@_command
def review(stack: StackOption = "dev", base: BaseOption = "") -> int:
    """Run what CI runs on a pull request: diff and audit of a stack (or --stack all)."""
    from commands.review import review as reviews

    return reviews.review(_clone(), stack, base)


@_command
def topology(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Each file is an environment of one cluster.")],
    nodes: Annotated[str, typer.Option(help="Comma-separated nodes; node[1-3] is three nodes.", metavar="NAMES")],
    as_json: JsonOption = False,
    *,
    to_stack: Annotated[bool, typer.Option("--to-stack", help="Print a stack file of FILE instead.")] = False,
) -> int:
    """Show what each line of a Fuel-CCP topology becomes on which nodes, and its errors."""
    from commands.plan import topology_table

    try:
        names = topology_table.expand_nodes(nodes)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--nodes") from None
    if to_stack:
        return topology_table.write_stack(files, names)
    return topology_table.show(files, names, as_json=as_json)


@_command
def import_(
    form: Annotated[str, typer.Argument(metavar="kolla|kubespray|rockoon", help="The deployer of FILE.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An inventory, or an OpenStackDeployment.")],
) -> int:
    """Print a stack file of another deployer's FILE, and on standard error what each part of FILE became."""
    from commands.plan import imported_stack

    if form not in imported_stack.FORMATS:
        raise typer.BadParameter(f"'{form}' is not known; write one of {', '.join(imported_stack.FORMATS)}")
    return imported_stack.show(form, file)


@_command
def prove(
    stack: StackOption = "dev",
    arch: Annotated[str, typer.Option(help="100, 300, 500, 1000 or all samples, not a stack.", metavar="SIZE")] = "",
    trial: Annotated[list[str] | None, typer.Option(help="Only this trial; may be repeated.", metavar="NAME")] = None,
    tree: Annotated[Path | None, typer.Option(help="A rendered tree to use.", resolve_path=True)] = None,
    binaries: BinariesOption = None,
) -> int:
    """Prove a stack on a real API server and scheduler."""
    from commands.trials import proving

    request = proving.Request(stack, arch, tuple(trial or proving.TRIALS), tree, binaries)
    return proving.prove_stacks(_clone(), request)


@_command
def services(
    stack: StackOption = "dev",
    kind: Annotated[str, typer.Option(help="Only `cuts` of power, or only `stalls` of a member.", metavar="KIND")] = "",
) -> int:
    """Start the services of a stack with the real programs, break them, and report what was lost. Needs root."""
    from commands.trials import services as real_services

    return real_services.prove_services(_clone(), stack, kind)


@_command
def action(
    name: Annotated[str, typer.Option(help="The action; without it, all are listed.", metavar="ACTION")] = "",
    stack: StackOption = "dev",
    backup: Annotated[str, typer.Option(help="The backup for mysqld-restore; default: the newest.")] = "",
) -> int:
    """List the actions of a stack's services, or run one in the stack's cluster."""
    from commands.live import action_command

    return action_command.run(_in_charge(), stack, name, backup)


@_command
def copies(
    stack: StackOption = "dev",
    fetch: Annotated[
        str, typer.Option(help="Fetch and decrypt this copy, or the newest below NAME, such as etcd.", metavar="NAME")
    ] = "",
    test: Annotated[
        str,
        typer.Option(
            help="Restore this copy, or the newest below NAME, to a scratch server on this host, and compare it.",
            metavar="NAME",
        ),
    ] = "",
) -> int:
    """List the encrypted copies of backups in a stack's object store, fetch one for a restoration, or test one."""
    from commands.live import backup_copies, copy_test_command

    if fetch and test:
        raise typer.BadParameter("fetches the copy itself; leave out --fetch", param_hint="--test")
    return copy_test_command.run(_clone(), stack, test) if test else backup_copies.run(_clone(), stack, fetch)


@_command
def credentials(
    stack: StackOption = "dev",
    *,
    show: Annotated[bool, typer.Option("--show", help="Print clouds.yaml too, with the password.")] = False,
) -> int:
    """Write the administrator's clouds.yaml and openrc of a live stack to build/STACK/credentials/."""
    from commands.live import credentials as accounts

    return accounts.write(_clone(), stack, shows=show)


@_command
def snapshot(stack: StackOption = "dev") -> int:
    """Collect states, events, logs and configuration of a stack into one archive, without secrets."""
    from commands.live import snapshot as snapshots

    return snapshots.collect(_clone(), stack)


@_command
def status(
    stack: StackOption = "dev",
    ask: Annotated[
        str, typer.Option(help="Only whether this server may go now: 0 if it may, 3 if not.", metavar="SERVER")
    ] = "",
    watch: Annotated[bool, typer.Option("--watch", help="Ask again every 5 seconds, until Ctrl-C.")] = False,
    page: Annotated[
        Path | None, typer.Option(help="Write an HTML page too, such as status.html.", metavar="FILE")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Show the living quorums of a live stack, and which server may be taken away now. Read-only."""
    from commands.live import status as living

    return living.show(_clone(), stack, as_json=as_json, watch=watch, ask=ask, page=page)


@_command
def maintenance(  # noqa: PLR0913 - as many options
    name: Annotated[
        str, typer.Argument(help="A server, with its virtual machines, or a machine.", metavar="[SERVER|NODE]")
    ] = "",
    stack: StackOption = "dev",
    pool: Annotated[str, typer.Option(help="A pool, in batches, instead of a name.")] = "",
    batch: Annotated[str, typer.Option(help="How many of the pool at a time: a number, or such as 10%.")] = "",
    max_failed: Annotated[
        int | None, typer.Option(help="How many of the pool may fail until the run stops.", show_default="0")
    ] = None,
    *,
    hold: Annotated[
        str, typer.Option(help="Stop after disable, empty, noout or cordon; without it, go on.", metavar="STEP")
    ] = "",
    cold: Annotated[
        bool, typer.Option("--cold", help="Move instances that cannot move live cold: those that run restart.")
    ] = False,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print the numbered actions, and change nothing.")] = False,
    end: Annotated[bool, typer.Option("--end", help="Bring back what is out, and wait until it is whole.")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="As --end, and forget the rest of the pool.")] = False,
    do: Annotated[
        str,
        typer.Option(
            help="reboot each machine that is out, or run a command there, and bring it back; or `poweroff`.",
            metavar="COMMAND",
        ),
    ] = "",
    admit_stop: Annotated[
        list[str] | None,
        typer.Option(help="Let a quorum of a single member stop meanwhile; once for each.", metavar="QUORUM"),
    ] = None,
) -> int:
    """Take a server out of a live stack for maintenance, after asking the living quorums, and back with --end."""
    from commands.live import maintenance_command, maintenance_request

    request = maintenance_request.MaintenanceRequest(
        name, pool, batch, max_failed, hold, cold, show_plan, end, abort, do, tuple(admit_stop or ())
    )
    return maintenance_command.run(_in_charge(), stack, request)


@_command
def replace(  # noqa: PLR0913, PLR0917 - as many options
    name: Annotated[str, typer.Argument(help="The machine that is dead for good, or has the disk.", metavar="NODE")],
    stack: StackOption = "dev",
    new: Annotated[
        str, typer.Option("--with", help="Another name for what comes in its place.", metavar="NEW", show_default=False)
    ] = "",
    address: Annotated[str, typer.Option(help="The address of what comes, if it is another one.")] = "",
    host_key: Annotated[str, typer.Option(help="The public SSH host key of what comes.")] = "",
    osd: Annotated[str, typer.Option(help="An OSD whose disk failed; the machine runs.", metavar="NUMBER")] = "",
    member: Annotated[
        str, typer.Option(help="A member, such as rabbitmq-1, whose disk failed; the machine runs.", metavar="NAME")
    ] = "",
    *,
    dead: Annotated[
        bool, typer.Option("--dead", help="Say that the machine is off and stays off, or that the disk is given up.")
    ] = False,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print the numbered actions, and change nothing.")] = False,
    end: Annotated[bool, typer.Option("--end", help="After `up`: wait until every quorum is complete.")] = False,
) -> int:
    """Remove a dead machine, or what was on a failed disk, from a live stack; --end waits for what comes instead."""
    from commands import replacement
    from commands.plan.replaced_server import NewMachine

    request = replacement.ReplaceRequest(name, NewMachine(new, address, host_key), dead, show_plan, end, osd, member)
    return replacement.run(_in_charge(), stack, request)


@_command
def restore(  # noqa: PLR0913 - as many options
    what: Annotated[
        str, typer.Argument(help="etcd, a Galera such as mysqld, rabbitmq, ceph-mon, ovn-nb, ovn-sb.", metavar="QUORUM")
    ],
    stack: StackOption = "dev",
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="etcd: a machine, for its member's data, or MACHINE:COPY; default: data if there is any, or newest "
            "copy. rabbitmq, ceph-mon, ovn-nb, ovn-sb: a member. A Galera: a member, for its data, the time of a "
            "backup, or a copy in the object store such as galera/mysqld; default: a member's data if none has a "
            "majority, or the newest backup.",
            metavar="SOURCE",
        ),
    ] = "",
    dead: Annotated[
        list[str] | None, typer.Option(help="A machine that is off, and stays off. Can be repeated.", metavar="NODE")
    ] = None,
    *,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print the numbered steps, and change nothing.")] = False,
    confirm: Annotated[str, typer.Option(help="The stack's name, to do what the plan says.", metavar="NAME")] = "",
) -> int:
    """Restore a quorum whose majority is lost, from what is left; etcd and a Galera also from a backup."""
    from commands.live import restore_command

    request = restore_command.RestoreRequest(what, source, tuple(dead or ()), show_plan, confirm)
    return restore_command.run(_in_charge(), stack, request)


@_command
def handover(
    to: Annotated[
        str,
        typer.Argument(
            help="A machine that ssh reaches; default directory: that of this clone.", metavar="HOST[:DIRECTORY]"
        ),
    ] = "",
    *,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print the numbered steps, and change nothing.")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="End a handover before its last step.")] = False,
) -> int:
    """Move this clone, with states and secrets, to another machine, which is then in charge of its stacks."""
    from commands.handover import handover_command

    return handover_command.run(_clone(), handover_command.HandoverRequest(to, show_plan, abort))


@_command
def cloud(stack: StackOption = "dev") -> int:
    """Start the machines of a stack on this host with real kubelets (root, Linux)."""
    from commands.trials import lab_commands

    return lab_commands.start(_clone(), stack)


@_command
def cloud_status(stack: StackOption = "dev") -> int:
    """Show which machine of `cloud` runs on which server, and the members of etcd."""
    from commands.trials import lab_commands

    return lab_commands.status(_clone(), stack)


@_command
def drill(
    stack: StackOption = "dev",
    server: Annotated[str, typer.Option(help="The server that loses its power.", metavar="SERVER")] = "",
    kind: Annotated[
        str,
        typer.Option(
            help="rollout, drains, option, etcd-authority, kubernetes-authority, reboots, computes, evacuation or "
            "blackout.",
            metavar="KIND",
        ),
    ] = "",
    replaced: Annotated[
        str,
        typer.Option(
            "--replace",
            help="The machine that dies for good and is replaced, or several, with commas between, that die at once.",
            metavar="NODE[,NODE]",
        ),
    ] = "",
    *,
    every: Annotated[bool, typer.Option("--all", help="The power of each server in turn, then each kind.")] = False,
) -> int:
    """Disturb the cloud of `cloud` while clients use it, and report what they and the quorums noticed."""
    from commands.trials import drill as drills

    return drills.start(
        _clone(), stack, drills.DrillRequest(server, kind, tuple(replaced.split(",")) if replaced else (), every)
    )


@_command
def cloud_down() -> int:
    """Remove all machines of `cloud` from this host, with their data."""
    from commands.trials import lab_commands

    _clone()
    return lab_commands.stop()


@_command
def verify(
    stack: StackOption = "dev",
    kubeconfig: Annotated[
        str,
        typer.Option(help="A file, or several with colons between them.", envvar=KUBECONFIG, metavar="FILE[:FILE]…"),
    ] = "",
) -> int:
    """Compare a running cluster with a stack, read-only."""
    from commands.live import cluster_check

    files = [Path(name).absolute() for name in kubeconfig.split(os.pathsep) if name]
    return cluster_check.verify_cluster(_clone(), stack, files)


@_command
def bench(
    stack: Annotated[list[str] | None, typer.Option(help="Only this stack; may be repeated.", metavar="NAME")] = None,
    repeat: Annotated[int, typer.Option(help="Runs of each measurement; the table shows the median.", min=1)] = 5,
    binaries: BinariesOption = None,
) -> int:
    """Measure plan, preview, policy pack, unchanged `up` and proof, as ratios."""
    from commands.bench import bench as benchmark

    return benchmark.bench(_clone(), stack, repeat, binaries)


@_command
def clean() -> int:
    """Remove rendered trees, reports and caches (keeps deployed stacks that are not rendered labs)."""
    from commands import clean as cleaning

    return cleaning.clean_up(_clone())


if __name__ == "__main__":
    sys.exit(main())
