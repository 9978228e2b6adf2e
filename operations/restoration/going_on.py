"""Lets a quorum go on with the data of one member, after the others were lost for good.

A run that was killed goes on with the same command: what is done is in the members' data, and in the Lease.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cluster.api import ApiError
from cluster.eviction import cordon
from cluster.objects import Object
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT
from operations.cloud_pods import pods
from operations.live_cluster import LiveCluster
from operations.living.cloud import read_quorum
from operations.operation_lease import RESTORATION, CloudOperation, command, held
from operations.restoration import survivors
from operations.restoration.survivors import Say, Survivor, SurvivorProgram
from operations.wholeness_wait import await_whole


@dataclass(frozen=True)
class GoingOn:
    """Which quorum goes on, from whose data, and with whom."""

    cluster: LiveCluster
    stack: str
    quorum: str
    program: SurvivorProgram
    source: Survivor
    others: tuple[Survivor, ...]
    """Further members that answer: they take the data over."""
    lost: tuple[Survivor, ...] = ()
    """Members on dead machines."""
    dead: tuple[str, ...] = ()
    """Machines that are off and stay off."""

    def steps(self) -> Iterator[str]:
        """Yields what is done, in its order."""
        name, others = self.source.name, [each.name for each in self.others]
        if self.dead:
            yield f"cordon {' and '.join(self.dead)}, and delete the pods of the members there: they do not start again"
        yield f"{name}: {self.program.goes_on}"
        if self.program.restarts:
            yield f"delete the pod of {' and of '.join((*others, name))}, so that it starts again: {name} is the first"
        yield f"wait until {' and '.join((name, *others))} {'take' if others else 'takes'} part"

    def run(self, say: Say) -> None:
        """Does the steps. Raises UserError with the first that fails, ApiError or Unreachable."""
        numbered = iter(f"{number:>2}. {does}" for number, does in enumerate(self.steps(), start=1))
        with held(self.cluster.api, self._operation(), self.stack, say) as lease:
            lease.change(source=self.source.name, out=self.dead)
            if self.source.serves and self.program.restarts:
                say("It has gone on; this run waits for it.")
            else:
                if self.dead:
                    say(next(numbered))
                    self._fence()
                say(next(numbered))
                self._let_go_on(say)
                lease.require()
                if self.program.restarts:
                    say(next(numbered))
                    for member in (*self.others, self.source):
                        self._delete_pod(member.name)
                say(next(numbered))
            again = f"run `{command(self._operation(), self.stack)}` again: it goes on waiting"
            await_whole(self._missing, lease, lambda line: say(f"    {line}"), f"{self.quorum} does not serve", again)
            lease.finish()

    def _operation(self) -> CloudOperation:
        return CloudOperation(self.quorum, RESTORATION, source=self.source.name, out=self.dead)

    def _let_go_on(self, say: Say) -> None:
        done = survivors.run(self.cluster, self.program, self.source.name, "go-on", self.program.limit)
        for line in done.text.splitlines():
            say(f"      {line}")
        if done.code != 0:
            said = done.errors.strip()[-300:] or done.ending
            raise UserError(f"{self.source.name} was not let go on: {said}. Run the same command again.")

    def _fence(self) -> None:
        """Keeps the lost members from starting: together, they may be a majority of what they know.

        A kubelet starts only pods that the API server has given to its node.
        """
        for node in self.dead:
            with _missing_is_right():
                cordon(self.cluster.api, node, closed=True)
        for member in self.lost:
            self._delete_pod(member.name, {"gracePeriodSeconds": 0})

    def _delete_pod(self, pod: str, options: Object | None = None) -> None:
        with _missing_is_right():
            self.cluster.api.ask("DELETE", f"/api/v1/namespaces/{ENVIRONMENT}/pods/{pod}", options)

    def _missing(self) -> list[str]:
        """Returns the members that answered, and do not take part yet."""
        awaited = {each.name for each in (self.source, *self.others)}
        found = read_quorum(self.cluster, self.quorum, pods(self.cluster, self.quorum))
        return [f"{each.name}: {each.says}" for each in found.members if each.name in awaited and not each.counts]


@contextmanager
def _missing_is_right() -> Generator[None]:
    """Lets a change of an object that is gone be no error."""
    try:
        yield
    except ApiError as error:
        if error.status != 404:
            raise
