"""The cases of every rule, one table a family, under the same name as the family in policy/rules."""

from tests.policy.cases import Case
from tests.policy.tables import (
    capacity,
    dedication,
    disruption,
    history,
    hosts,
    instances,
    load_balancing,
    loss,
    masters,
    messaging,
    monitoring,
    quorum_sizes,
    rollout,
    separation,
    spread,
    stateful,
    together,
)

CASES: tuple[Case, ...] = (
    *instances.CASES,
    *dedication.CASES,
    *spread.CASES,
    *hosts.CASES,
    *loss.CASES,
    *stateful.CASES,
    *messaging.CASES,
    *together.CASES,
    *monitoring.CASES,
    *capacity.CASES,
    *quorum_sizes.CASES,
    *masters.CASES,
    *load_balancing.CASES,
    *separation.CASES,
    *disruption.CASES,
    *rollout.CASES,
    *history.CASES,
)
