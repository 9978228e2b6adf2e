"""Real members of OpenSearch fail: how long it takes until the rendered Prometheus names them."""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from openstack.monitoring.quorums import SEARCH
from tests.trials.services.monitoring import Monitoring
from toolchain import cluster_programs, opensearch_programs
from trials.services.containers import TriedContainer
from trials.services.opensearch import FILES, MEMBERS, SearchCluster, SearchPrograms
from trials.services.testbed import ServiceTestbed, until

LIMIT = 300
"""Seconds until something must be seen on a busy machine. The test prints how long each took."""
SILENT, LOST, RED = "QuorumMemberSilent", "QuorumLost", "OpensearchRed"
NOT_AVAILABLE = f"{SEARCH}: some indices are not available (red)"


@pytest.fixture(scope="module")
def programs(java_root: Path) -> SearchPrograms:
    """Java, OpenSearch and the exporter; the test is skipped where they cannot be had, or where OpenSearch refuses."""
    if (files := resource.getrlimit(resource.RLIMIT_NOFILE)[0]) < FILES:
        pytest.skip(f"OpenSearch needs {FILES} open files, and a process here is admitted {files}: `ulimit -n`")
    try:
        exporter = cluster_programs.ensure(Reporter(), cluster_programs.EXPORTER) / "elasticsearch_exporter"
        return SearchPrograms(java_root, opensearch_programs.ensure(Reporter()), exporter)
    except UserError as reason:
        pytest.skip(str(reason))


def left(members: int, *lost: str) -> str:
    """What an alert says of lost members."""
    return f"{SEARCH}: {members} of 3 members are left, 2 are needed; lost: {' '.join(lost)}"


class SearchUnderWatch:
    """OpenSearch with the rendered Prometheus and Alertmanager, which ask and wait as long as in a cloud."""

    def __init__(self, cluster: SearchCluster, monitoring: Monitoring) -> None:
        self.cluster, self.monitoring = cluster, monitoring

    def fail(
        self, what: str, begin: Callable[[], object], said: Mapping[str, str], end: Callable[[], object] | None = None
    ) -> None:
        """Makes something fail, prints after how long each alert named it, and waits until it is over."""
        begin()

        def named() -> bool:
            found = ((text, self.monitoring.summaries(alert)) for alert, text in said.items())
            return all(any(text in each for each in summaries) for text, summaries in found)

        took = until(f"{what}: {said}", named, LIMIT, 0.5)
        print(f"{what}: {sorted(said)} after {took:.0f} s; also {sorted(self.alerts() - set(said))}", flush=True)
        if end:
            end()
        back = self.cluster.wait_whole()
        over = until(f"{what}: it is over", lambda: not self.alerts(), LIMIT, 1)
        print(f"{what}: whole after {back:.0f} s more, no alert {over:.0f} s later", flush=True)

    def alerts(self) -> set[str]:
        """Alerts about OpenSearch; other quorums of the stack do not run here, and have alerts of the same names."""
        return {name for name, quorum in self.monitoring.alerts() if quorum == SEARCH}


@pytest.mark.heavy
def test_what_fails_in_opensearch_is_named_within_a_minute(
    root: Path, containers: Mapping[str, TriedContainer], programs: SearchPrograms
) -> None:
    with ServiceTestbed(root) as testbed:
        cluster = SearchCluster(testbed, containers, programs)
        for name in MEMBERS:
            cluster.start_exporter(name)
        print(f"OpenSearch {opensearch_programs.version()}: whole after {cluster.wait_whole():.0f} s", flush=True)
        cluster.add_index("logs-2026.11.30", replicas=1)
        monitoring = Monitoring(testbed, containers, in_a_hurry=False)
        watched = SearchUnderWatch(cluster, monitoring)
        until("all members count", lambda: monitoring.members().get(SEARCH) == 3, LIMIT, 1)
        until("no alert", lambda: not watched.alerts(), LIMIT, 1)
        _members_fail(watched, testbed)
        _indices_fail(watched)


def _members_fail(watched: SearchUnderWatch, testbed: ServiceTestbed) -> None:
    cluster = watched.cluster
    first, second, third = MEMBERS
    manager = next(iter(cluster.ask(first, "/_cat/cluster_manager?format=json")))["node"]
    watched.fail("the elected manager is killed", lambda: cluster.kill(manager), {SILENT: left(2, manager)})
    paused = cluster.members[second]
    watched.fail("a member pauses", paused.freeze, {SILENT: left(2, second)}, paused.thaw)
    watched.fail("a member is cut off", lambda: testbed.isolate(third), {SILENT: left(2, third)}, testbed.heal)
    # The third counts until it knows that it has lost its manager.
    watched.fail("two members are killed", lambda: cluster.kill(first, second), {LOST: "are left, 2 are needed"})
    exporter = cluster.members[third]
    watched.fail(
        "an exporter ends", exporter.end_background, {SILENT: left(2, third)}, lambda: cluster.start_exporter(third)
    )


def _indices_fail(watched: SearchUnderWatch) -> None:
    cluster, lost = watched.cluster, MEMBERS[2]
    cluster.add_index("without-replicas", replicas=0)
    cluster.wait_whole()
    said = {SILENT: left(2, lost), RED: NOT_AVAILABLE}
    watched.fail("a member with the only shard of an index is killed", lambda: cluster.kill(lost), said)
