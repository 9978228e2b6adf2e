"""Lets a Galera go on with the data of one member, after the others were lost for good.

The member's data is marked, and its pod deleted: it bootstraps when it starts again. A run that was killed goes on with
the same command: what is done is in the members' data, and in the Lease.
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
from operations.live_cluster import LiveCluster
from operations.living.cloud import read_quorum
from operations.living_quorum import pods
from operations.operation_lease import RESTORATION, CloudOperation, command, held
from operations.restoration import galera_members
from operations.restoration.galera_members import GaleraMember, Say
from operations.wholeness_wait import await_whole

_MARKS = 60.0
"""Seconds in which a member must mark its data. Project figure: its disk may be slow."""


@dataclass(frozen=True)
class GaleraGoingOn:
    """Which Galera goes on, from whose data, and with whom."""

    cluster: LiveCluster
    stack: str
    galera: str
    source: GaleraMember
    others: tuple[GaleraMember, ...]
    """Further members that answer: they take the data over."""
    lost: tuple[GaleraMember, ...] = ()
    """Members on dead machines."""
    dead: tuple[str, ...] = ()
    """Machines that are off and stay off."""

    def steps(self) -> Iterator[str]:
        """Yields what is done, in its order."""
        name, others = self.source.name, [each.name for each in self.others]
        if self.dead:
            yield f"cordon {' and '.join(self.dead)}, and delete the pods of the members there: they do not start again"
        yield f"mark the data of {name} as that of a new cluster: a member with older marks takes it over as a whole"
        yield f"delete the pod of {' and of '.join((*others, name))}, so that it starts again: {name} bootstraps alone"
        yield f"wait until {' and '.join((name, *others))} {'take' if others else 'takes'} part"

    def run(self, say: Say) -> None:
        """Does the steps. Raises UserError with the first that fails, ApiError or Unreachable."""
        *fence, mark, restart, wait = (f"{number:>2}. {does}" for number, does in enumerate(self.steps(), start=1))
        with held(self.cluster.api, self._operation(), self.stack, say) as lease:
            lease.change(source=self.source.name, out=self.dead)
            if not self.source.primary:
                for does in fence:
                    say(does)
                self._fence()
                say(mark)
                self._mark()
                lease.require()
                say(restart)
                for member in (*self.others, self.source):
                    self._delete_pod(member.name)
            say(wait)
            again = f"run `{command(self._operation(), self.stack)}` again: it goes on waiting"
            await_whole(self._missing, lease, lambda line: say(f"    {line}"), f"{self.galera} does not serve", again)
            lease.finish()

    def _operation(self) -> CloudOperation:
        return CloudOperation(self.galera, RESTORATION, source=self.source.name, out=self.dead)

    def _mark(self) -> None:
        done = galera_members.run(self.cluster, self.source.name, "go-on", _MARKS)
        if done.code != 0:
            said = done.errors.strip()[-300:] or done.ending
            raise UserError(f"The data of {self.source.name} was not marked: {said}. Run the same command again.")

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
        found = read_quorum(self.cluster, self.galera, pods(self.cluster, self.galera))
        return [f"{each.name}: {each.says}" for each in found.members if each.name in awaited and not each.counts]


@contextmanager
def _missing_is_right() -> Generator[None]:
    """Lets a change of an object that is gone be no error."""
    try:
        yield
    except ApiError as error:
        if error.status != 404:
            raise
