"""Heartbeats of the agents of Nova, Neutron and Cinder, and the instances of each compute, from the databases.

An agent that hangs keeps its pod ready and its messages unread; its last heartbeat tells. The databases are asked and
not the APIs: that needs no password and no API that may be what is broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from operations.living.answers import Answer, Unanswered
from operations.living.galera import CLIENT

_SERVICES = (
    "SELECT 'agent', s.binary, s.host, TIMESTAMPDIFF(SECOND, COALESCE(s.{seen}, s.created_at), UTC_TIMESTAMP()),"
    " s.disabled FROM {base}.services s WHERE s.deleted = 0"
)
QUERIES: Mapping[str, tuple[str, ...]] = {
    "nova": (
        _SERVICES.format(seen="last_seen_up", base="nova"),
        _SERVICES.format(seen="last_seen_up", base="nova_cell0"),
        "SELECT 'instances', host, COUNT(*) FROM nova.instances WHERE deleted = 0 AND host IS NOT NULL GROUP BY host",
    ),
    "neutron": (
        "SELECT 'agent', agent_type, host, TIMESTAMPDIFF(SECOND, heartbeat_timestamp, UTC_TIMESTAMP()),"
        " NOT admin_state_up FROM neutron.agents",
    ),
    "cinder": (_SERVICES.format(seen="updated_at", base="cinder"),),
}
"""Queries by project."""
SILENT = {"nova": 60, "neutron": 75, "cinder": 60}
"""Seconds without a heartbeat after which a project calls its agent down: their defaults (service_down_time,
agent_down_time)."""


@dataclass(frozen=True)
class LivingAgent:
    """An agent of a project, as its database has it."""

    project: str
    kind: str
    """Such as nova-compute, or "Open vSwitch agent"."""
    host: str
    age: int
    """Seconds since its last heartbeat; of OVN's, since they were asked, 0 if it has answered."""
    is_disabled: bool

    @property
    def is_silent(self) -> bool:
        """Whether its project calls it down."""
        return self.age > SILENT[self.project]


@dataclass(frozen=True)
class LivingAgents:
    """The agents of all projects, the instances of each compute, and what could not be asked."""

    agents: tuple[LivingAgent, ...] = ()
    instances: Mapping[str, int] | None = None
    """None if Nova's database was not read."""
    unasked: tuple[str, ...] = ()
    ovn_asked: int | None = None
    """Seconds since the agents of OVN among them were last asked (operations/living/ovn_agents.py); None without."""

    def silent(self, nodes: Iterable[str], moving: Mapping[str, Collection[str]]) -> tuple[LivingAgent, ...]:
        """Returns the silent agents on these nodes, and of storage, the longest silent first.

        `moving`: of each process whose pods may move to other nodes, those where they are. Its records of other nodes
        are of former pods.
        """
        known = set(nodes)
        # The host of a volume service is that of its storage, such as ceph@ceph, not of its pod.
        found = (
            each
            for each in self.agents
            if each.is_silent and ("@" in each.host or each.host in known.intersection(moving.get(each.kind, known)))
        )
        return tuple(sorted(found, key=lambda agent: -agent.age))


def questions(projects: Sequence[str]) -> dict[str, str]:
    """Returns the questions for the databases of these projects, to a member of their Galera."""
    return {project: f'{CLIENT} "{"; ".join(QUERIES[project])}" && echo end' for project in projects}


def read(answers: Mapping[str, Answer]) -> LivingAgents:
    """Returns the agents by the answers of the projects' databases."""
    agents: list[LivingAgent] = []
    instances: Counter[str] | None = None
    unasked: list[str] = []
    for project, answer in answers.items():
        try:
            rows = [line.split("\t") for line in answer.text(project).splitlines()]
            if rows[-1] != ["end"]:
                raise Unanswered("the answer of its database is not complete")
            agents += [_agent(project, row) for row in rows if row[0] == "agent"]
            if project == "nova":
                instances = Counter({row[1]: int(row[2]) for row in rows if row[0] == "instances"})
        except (Unanswered, ValueError, IndexError) as error:
            unasked.append(f"the agents of {project} were not read: {error}")
    return LivingAgents(tuple(agents), instances, tuple(unasked))


def _agent(project: str, row: Sequence[str]) -> LivingAgent:
    _, kind, host, age, disabled = row
    return LivingAgent(project, kind, host, int(age), disabled == "1")
