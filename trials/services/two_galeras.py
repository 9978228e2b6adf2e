"""Trial of a further Galera: it is a cluster apart from the first, with the databases of the projects that use it.

Both clusters, and the jobs that make the projects' databases, run with the rendered configuration. No ProxySQL can be
had, so its name leads to the first member of its cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trials.services.containers import TriedContainer
from trials.services.galera import DOMAIN, GaleraCluster, Load, begin, trial
from trials.services.rotation import run_job
from trials.services.testbed import ServiceTestbed, require, until
from trials.trial_report import Proof

_SIZE = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_cluster_size'"


@dataclass(frozen=True)
class GaleraPair:
    """The stack's own Galera and a further one, each with a project that uses it."""

    first: GaleraCluster
    second: GaleraCluster
    users: Mapping[str, GaleraCluster]


def prove(root: Path, containers: Mapping[str, TriedContainer], further: str, users: Mapping[str, str]) -> list[Proof]:
    """Runs two Galera clusters: the second must continue while the first has lost its majority.

    `further`: the second cluster's workload. `users`: for each cluster's workload, a project that uses it.
    Returns the result. Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        first, second = (
            GaleraCluster(testbed, containers["mysqld/mariadb"]),
            GaleraCluster(testbed, containers[f"{further}/mariadb"]),
        )
        pair = GaleraPair(first, second, {users[each.workload]: each for each in (first, second)})
        notes = [*begin(first), *begin(second)]
        require(_identity(first) != _identity(second), "both clusters have one UUID")
        notes += [*_databases(testbed, pair, containers), *_rejected(pair)]
        one, two, _ = first.members

        def without_the_other(_cluster: GaleraCluster, load: Load) -> list[str]:
            first.kill(one, two)
            silence = load.more()
            first.start(one, two)
            first.wait_ready(*first.members)
            return [f"transfers went on after {silence:.1f} s, without a majority of {first.workload}"]

        name = f"Galera: two of three members of another cluster than {further} killed"
        proof = trial(name, second, Load(second), without_the_other)
        return [replace(proof, notes=(*notes, *proof.notes))]


def _identity(cluster: GaleraCluster) -> str:
    """Returns the UUID of a cluster, which all its members have."""
    found = {cluster.state(name)[1].rpartition(" ")[2] for name in cluster.members}
    require(len(found) == 1, f"{cluster.workload} has the UUIDs {found}")
    return found.pop()


def _databases(testbed: ServiceTestbed, pair: GaleraPair, containers: Mapping[str, TriedContainer]) -> list[str]:
    """Runs the jobs that make the projects' databases: each must be in the project's own cluster, and only there."""
    worker = testbed.add("job")
    first_members = {each.workload: next(iter(each.members.values())) for each in (pair.first, pair.second)}
    proxies = {name.replace("mysqld", "proxysql"): member for name, member in first_members.items()}
    testbed.name_services(DOMAIN, proxies)
    for project in pair.users:
        run_job(worker, containers[f"{project}-databases/{project}-databases"])
    for project, its in pair.users.items():
        for cluster in (pair.first, pair.second):
            for member in cluster.members:
                databases = cluster.sql(member, "SHOW DATABASES").split()
                accounts = cluster.sql(member, "SELECT user FROM mysql.global_priv").split()
                found = [project in databases, project in accounts]
                require(found == [cluster is its] * 2, f"{project} in {member}: database, account: {found}")
    return [f"{project}'s database and account are in {its.workload} only" for project, its in pair.users.items()]


def _rejected(pair: GaleraPair) -> list[str]:
    """Starts a member of the second cluster with an address of the first, which must reject the member."""
    name, target = list(pair.second.members)[-1], next(iter(pair.first.members.values()))
    machine = pair.second.members[name]
    pair.second.stop(name)
    machine.start(["mariadbd", f"--wsrep-cluster-address=gcomm://{target.address}"], "mysql")
    seconds = until("the member of another cluster is rejected", lambda: not machine.runs, 120)
    said = machine.tail(300)
    require("failed to reach primary view" in said, f"{name} ended for another reason: {said[-1500:]}")
    sizes = {pair.first.sql(each, _SIZE).strip() for each in pair.first.members}
    require(sizes == {"3"}, f"{pair.first.workload} has {sizes} members")
    pair.second.start(name)
    pair.second.wait_ready(*pair.second.members)
    return [f"a member of {pair.second.workload} that was sent to {pair.first.workload} ended after {seconds:.0f} s"]
