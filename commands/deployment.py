"""`quorate up`, `refresh`, `preview`, `audit` and `destroy`: run the engine on a validated stack."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from commands import build_directory, stack
from commands.build_directory import MARKER
from commands.engine import passphrase, state_check
from commands.engine.event_pipe import RunSummary
from commands.engine.operation import Operation, Result
from commands.engine.passphrase import Command, SecretAccess
from commands.engine.run_display import RunDisplay
from commands.live import connection, live_check, operation_check, state_copy, virt_host_check
from commands.plan.stack_check import show_summary, validated_stack
from commands.rendered import tree_check
from commands.review import audit_report
from commands.stack import ValidStack
from console.errors import UserError
from console.progress import Reporter, duration
from contract import KUBECONFIG_OUTPUT
from files import atomic
from operations.live_cluster import LiveCluster
from toolchain import libvirt_provider
from toolchain.engine import installed
from toolchain.install import STATE

CHANGES = {"create": "created", "update": "updated", "replace": "replaced", "delete": "deleted"}
PLANNED = {"create": "to create", "update": "to update", "replace": "to replace", "delete": "to delete"}


def up(root: Path, name: str, *, refresh_first: bool = False, is_verbose: bool = False) -> int:
    """Deploys a stack if its preview passes the policy pack and shows a change."""
    started = time.monotonic()
    found = validated_stack(root, name)
    with prepared("up", root, found) as operation:
        operation_check.require_none(root, found, operation.cluster)
        display = RunDisplay(operation, "up", is_verbose=is_verbose)
        tree_check.write_again(operation)
        if refresh_first:
            result = display.run("refresh")
            if result.code or result.was_interrupted:
                return failure("up", name, result, display)
        changes = live_check.require_nodes(operation.cluster) if operation.cluster else []
        result = display.run("preview")
        if not result.code and not result.was_interrupted:
            if operation.cluster:
                live_check.label_nodes(operation.cluster, changes)
            if result.summary.shows_change:
                tree_check.begin(operation)
                result = display.run("up")
        if not result.code and not result.was_interrupted:
            tree_check.remember(operation)
        elif operation.cluster:
            live_check.show_failing(operation.cluster, display.messages.failing)
        if operation.stack.sets_up_machines and (kubeconfig := operation.output(KUBECONFIG_OUTPUT)):
            atomic.write_private(connection.own_kubeconfig(root, name), kubeconfig)
        if not result.code and not result.was_interrupted:
            state_copy.put(operation, found)
    if result.code or result.was_interrupted:
        return failure("up", name, result, display)
    tree = Path("build") / name
    display.show_changes("Changes:")
    display.show_warnings()
    display.show_secrets()
    print(f"{change_summary(result.summary)} ({duration(time.monotonic() - started)}: {display.times})")
    print(f"Rendered tree: {tree}/" if operation.stack.is_rendered else f"Audit report: {tree}/audit/")
    audit_report.write(root, operation.stack, result.summary)
    display.show_log()
    file = operation.stack.file.relative_to(root)
    inspect = f"inspect {tree}/" if operation.stack.is_rendered else f"run `make verify STACK={name}`"
    print(f"Next: {inspect}, or edit {file} and run `make preview STACK={name}`.")
    return 0


def refresh(root: Path, name: str, *, is_verbose: bool = False) -> int:
    """Reads the actual resources of a stack into its state, so that the next preview shows how they differ."""
    found = validated_stack(root, name)
    workspace = stack.main_workspace(root, found.name, os.environ)
    if workspace.state_file and not workspace.has_state:
        print(f"There is no stack {name} in {STATE}: nothing to refresh.")
        return 0
    with prepared("refresh", root, found) as operation:
        tree_check.record(operation)
        display = RunDisplay(operation, "refresh", is_verbose=is_verbose)
        result = display.run("refresh")
    if result.code or result.was_interrupted:
        return failure("refresh", name, result, display)
    display.show_changes("Changes of the state:")
    display.show_warnings()
    print(f"{change_summary(result.summary)} ({display.times})")
    display.show_log()
    print(f"Next: `make preview STACK={name}` shows what differs, `make up STACK={name}` restores it.")
    return 0


def preview(root: Path, name: str, *, is_verbose: bool = False) -> int:
    """Shows what `up` would change and which rules it would break."""
    with prepared("preview", root, validated_stack(root, name)) as operation:
        tree_check.warn(operation)
        cluster = operation.cluster
        blocking = live_check.blocking(cluster, live_check.node_differences(cluster)) if cluster else []
        display = RunDisplay(operation, "preview", is_verbose=is_verbose)
        result = display.run("preview")
    if result.code or result.was_interrupted:
        return failure("preview", name, result, display)
    display.show_changes("`up` would change:")
    display.show_warnings()
    display.show_findings(result.summary)
    print(f"{change_summary(result.summary, PLANNED)} ({display.times})")
    display.show_log()
    if blocking:
        print("`up` will refuse: the cluster's nodes differ from the plan (see above).", file=sys.stderr)
        return 1
    deploy = f"`make up STACK={name}` deploys it" if result.summary.shows_change else "nothing to deploy"
    print(f"Next: {deploy}; `make audit STACK={name}` shows every rule.")
    return 0


def audit(root: Path, name: str) -> int:
    """Previews a stack with the policy pack, and writes the audit report. Returns 0 if the audit passes."""
    with prepared("audit", root, validated_stack(root, name)) as operation:
        display = RunDisplay(operation, "audit", is_verbose=False)
        result = display.run("preview")
    if result.was_interrupted:
        return failure("audit", name, result, display)
    if result.code and not result.summary.stopped_by_policy:
        display.show_failure(result)
        audit_report.write(root, operation.stack, result.summary)  # replaces the report of an earlier preview
        print(
            f"No audit: the preview failed (see the errors above). Pulumi's own output: {display.log}", file=sys.stderr
        )
        return 1
    display.show_warnings()
    display.show_log()
    return audit_report.write(root, operation.stack, result.summary)


def destroy(root: Path, name: str, confirmed: str, *, is_verbose: bool = False) -> int:
    """Destroys a stack. For a rendered lab, also deletes its state and build/<stack>."""
    found = validated_stack(root, name)
    if not found.is_disposable and confirmed != name:
        raise UserError(f"{name} is not a rendered lab. To destroy it, run `make destroy STACK={name} CONFIRM={name}`.")
    with prepared("destroy", root, found) as operation:
        if operation.workspace.state_file and not operation.workspace.has_state:
            print(f"There is no stack {name} in {STATE}: nothing to destroy.")
            return 0
        operation.open(keep_secrets=True)
        display = RunDisplay(operation, "destroy", is_verbose=is_verbose)
        result = display.run("destroy")
        if result.code or result.was_interrupted:
            return failure("destroy", name, result, display)
        display.show_changes("Changes:")
        display.show_warnings()
        print(f"{change_summary(result.summary)} ({display.times})")
        if operation.cluster:
            print(connection.kept(operation.cluster))
        if operation.stack.is_disposable:
            operation.remove_stack()
            if not build_directory.remove(operation.workspace.directory):
                print(f"Kept build/{name}: it has no marker file {MARKER}, so Quorate did not make it.")
        if display.has_log:
            display.show_log()
    return 0


def change_summary(summary: RunSummary, words: Mapping[str, str] = CHANGES) -> str:
    """Returns a sentence with the numbers of resources that a run created, updated, replaced and deleted."""
    same = summary.changes.get("same", 0)
    changed = [f"{count} {words[kind]}" for kind, count in summary.changed.items() if kind in words]
    if not changed:
        return f"No changes: all {same} resources are up to date."
    return ", ".join(changed) + (f"; {same} unchanged." if same else ".")


def failure(command: Command, name: str, result: Result, display: RunDisplay) -> int:
    """Prints why a command of Quorate did not complete and what the user can do. Returns the command's exit code."""
    summary = result.summary
    if result.was_interrupted:
        print(f"Pulumi's own output: {display.log}", file=sys.stderr)
        print(f"Interrupted. Run `make {command} STACK={name}` again to continue.", file=sys.stderr)
        return 130
    if command in ("up", "destroy") and not summary.only_previewed:
        display.show_changes("Changed before the failure:")
    display.show_failure(result)
    print(f"Pulumi's own output: {display.log}", file=sys.stderr)
    if summary.stopped_by_policy:
        unchanged = " Nothing was changed." if command == "up" and summary.only_previewed else ""
        found = len(summary.phase.mandatory)
        print(
            f"Policy check failed: {found} findings of mandatory rules (listed above).{unchanged}\n"
            f"`make audit STACK={name}` shows each rule's source and fix.",
            file=sys.stderr,
        )
    elif result.code > 128:
        print(f"`{command}` failed for {name}: Pulumi {result.ending}.", file=sys.stderr)
    else:
        print(f"`{command}` failed for {name}; see the error above.", file=sys.stderr)
    return 1


@contextmanager
def prepared(command: Command, root: Path, found: ValidStack) -> Generator[Operation]:
    """Yields the operation that runs the engine on a stack.

    Raises UserError without a passphrase or cluster it needs.
    """
    show_summary(found.file.relative_to(root), found.plan)
    workspace = stack.main_workspace(root, found.name, os.environ)
    access = passphrase.choose(command, found, workspace, os.environ)
    cluster = None
    if not found.is_rendered and not found.sets_up_machines and not access.is_temporary:
        cluster, access = _connected(command, root, found, access)
    if access.note:
        print(access.note, flush=True)
    if not access.is_temporary:
        state_check.require_sound(found, workspace)
    engine = installed(root)
    if found.needs_libvirt and not access.is_temporary:
        libvirt_provider.ensure(engine, Reporter())
    if access.is_temporary:
        with stack.temporary_workspace(root, found.name) as place:
            shown = found if found.is_rendered else stack.as_rendered(found, place.directory)
            if not found.is_rendered:
                print(NOT_COMPARED, flush=True)
            operation = Operation(engine, shown, place, passphrase.temporary_passphrase())
            operation.open(keep_secrets=False)
            yield operation
        return
    if access.new_passphrase_file:
        build_directory.make(workspace.directory)
        passphrase.generate_secret(access.new_passphrase_file)
    variables = access.variables
    if found.sets_up_machines:
        variables = {**variables, **connection.api_server(found)}
    operation = Operation(engine, found, workspace, variables, cluster=cluster)
    if command != "destroy":
        operation.open(keep_secrets=True)
        _check_root_secret(root, operation, can_generate=command == "up")
        if found.needs_libvirt and not found.has_jump_host:
            # With a jump host, libvirt's provider may reach hosts that this one does not.
            operation = _without_unreachable(operation)
    if cluster and (workspace.has_state or workspace.state_file is None):
        if command == "destroy":
            operation.open(keep_secrets=True)
        connection.require_same(cluster, operation.deployment(), missing_is_fine=command == "refresh")
    yield operation


def _without_unreachable(operation: Operation) -> Operation:
    """Returns the operation without the virtual machines of virt hosts that do not answer. Prints which these are."""
    found = virt_host_check.left_out(operation.deployment())
    for address, urns in found.items():
        print(
            f"The virt host {address} does not answer: libvirt's {len(urns)} resources on it are left as they are.",
            flush=True,
        )
    return replace(operation, excluded=[urn for urns in found.values() for urn in urns])


NOT_COMPARED = (
    "The stack is previewed as the target render: neither the cluster nor the stack's state is read, so every resource "
    "is shown as new."
)
"""Note that a read-only command prints for a live stack if the passphrase or the cluster is not available."""


def _connected(
    command: Command, root: Path, found: ValidStack, access: SecretAccess
) -> tuple[LiveCluster | None, SecretAccess]:
    """Returns the cluster that a live stack names.

    If it is not available, a read-only command gets a temporary state instead.
    """
    try:
        return connection.connect(root, found), access
    except UserError as error:
        if command not in passphrase.READ_ONLY:
            raise UserError(f"{error}\nNothing was changed.") from None
        return None, SecretAccess(is_temporary=True, note=str(error))


def _check_root_secret(root: Path, operation: Operation, *, can_generate: bool) -> None:
    """Checks the generated root secret of a rendered lab whose stack file has no secrets; `up` may generate the secret.

    The program reads it (blueprint/stackfile/root_secret.py). Does nothing if the state is outside this clone, because
    users of a shared state would generate different secrets.
    """
    workspace = operation.workspace
    if not operation.stack.can_generate_secrets or workspace.backend != stack.default_backend(root):
        return
    file = workspace.root_secret_file
    if can_generate and passphrase.generate_secret(file):
        print("Generated a root secret for this lab.", flush=True)
    if file.is_file():
        passphrase.generated_secret(file)
