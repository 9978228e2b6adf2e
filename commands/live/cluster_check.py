"""`quorate verify`: compares a running cluster with a stack, read-only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cluster.api import Api, ApiError, Unreachable
from cluster.kubeconfig import kubeconfigs as default_kubeconfigs
from cluster.kubeconfig import read_kubeconfig
from commands import build_directory, stack
from commands.live import connection
from console.errors import UserError
from proof import proof_file, verify
from proof.cluster import from_api
from proof.expected import expected_state


def verify_cluster(root: Path, name: str, kubeconfigs: Sequence[Path]) -> int:
    """Prints how a running cluster differs from a stack, and writes build/<stack>/verify/verify.json.

    Returns 1 if there are differences. `kubeconfigs`: the user's files; if empty, those that kubectl uses, but only for
    a stack file that names a context, or the file that `up` wrote for machines that it set up.
    """
    found = stack.load(root, name)
    context = found.settings.cluster.context if found.settings.cluster else ""
    files = kubeconfigs or (default_kubeconfigs({}) if context else ())
    if not files and not connection.own_kubeconfig(root, name).is_file():
        raise UserError("No cluster is given. Set --kubeconfig FILE, or KUBECONFIG.")
    access = read_kubeconfig(*files, context=context) if files else connection.own_access(root, found)
    try:
        cluster = from_api(Api(access))
    except (ApiError, Unreachable) as error:
        raise UserError(str(error)) from None
    state = expected_state(found.settings)
    findings = verify.verify(state, cluster)
    document = proof_file.to_json(verify.document(state, cluster, findings))
    path = proof_file.write(build_directory.of_stack(root, name) / "verify", "verify.json", document)
    for finding in findings:
        print(finding)
    print(f"{verify.verdict(cluster, findings)} Written to {path.relative_to(root)}.")
    return 1 if findings else 0
