from datetime import date

from formats.waiver import Waiver
from policy.catalogue import WAIVABLE
from policy.facts.stack_waivers import Waivers
from policy.findings import Enforcement, Finding
from policy.rule import evaluate
from policy.rules.quorum_sizes import rabbitmq_size
from policy.rules.waivers import (
    waiver_is_approved,
    waiver_is_used,
    waiver_names_rule,
    waiver_not_expired,
    waiver_within_limits,
)
from tests.policy.cases import case
from tests.policy.waivers import changed, written_waiver
from tests.policy.world import UNKNOWN, Given, facts, machines, quorum, stack

names, lasts, used = waiver_names_rule, waiver_not_expired, waiver_is_used
limits, approved = waiver_within_limits, waiver_is_approved

TODAY = date(2026, 11, 21)
ONE = written_waiver("rabbitmq-size", "rabbit*", "the fifth server is ordered", "Ada", date(2026, 12, 31), "Grace")


def of(*waivers: Waiver) -> Waivers:
    return Waivers(waivers, on=TODAY, rules=WAIVABLE)


def found_on(given: Given) -> dict[str, list[Finding]]:
    """The findings of the waivers' rule on these resources."""
    resources = facts([*machines("rabbitmq"), given])
    return {rabbitmq_size.id: evaluate(rabbitmq_size, resources, Enforcement.MANDATORY)}


FAILING, PASSING, UNDECIDED = map(found_on, (quorum(replicas=4), quorum(), quorum(replicas=UNKNOWN)))
MALFORMED = Waivers(on=TODAY, rules=WAIVABLE, malformed="quorate:waivers[0].expires cannot be read")


STACK = "quorate-test"
ANY = stack()

CASES = (
    case(names, "one of the pack's", ANY, waivers=of(ONE), passes=STACK),
    case(
        names,
        "a misspelt one",
        ANY,
        waivers=of(ONE, changed(ONE, rule="rabbit-size")),
        passes=STACK,
        fails=STACK,
        message="no waivable rule 'rabbit-size'; expected a rule id (did you mean 'rabbitmq-size'?)",
    ),
    case(names, "a rule about waivers", ANY, waivers=of(changed(ONE, rule="waiver-is-used")), fails=STACK),
    case(names, "no waiver", ANY),
    case(names, "waivers that cannot be read", ANY, waivers=MALFORMED, undecided=STACK, message="[0].expires"),
    case(limits, "within all of them", ANY, waivers=of(ONE), passes=STACK),
    case(
        limits,
        "of every resource",
        ANY,
        waivers=of(changed(ONE, resource="*")),
        fails=STACK,
        message="resource: the pattern '*' matches resources of any kind; expected a resource's name, or a pattern",
    ),
    case(
        limits,
        "longer than 180 days",
        ANY,
        waivers=of(changed(ONE, expires=date(2027, 5, 21))),
        fails=STACK,
        message="expires: 2027-05-21 is 181 days from today; expected 2027-05-20 or earlier (180 days)",
    ),
    case(limits, "180 days", ANY, waivers=of(changed(ONE, expires=date(2027, 5, 20))), passes=STACK),
    case(limits, "approved by its owner", ANY, waivers=of(changed(ONE, approved_by="ADA")), fails=STACK),
    case(limits, "no waiver", ANY),
    case(limits, "waivers that cannot be read", ANY, waivers=MALFORMED, undecided=STACK),
    case(approved, "by a second person", ANY, waivers=of(ONE), passes=STACK),
    case(
        approved,
        "without an owner",
        ANY,
        waivers=of(changed(ONE, approved_by="")),
        fails=STACK,
        message="owner Ada alone; expected approvedBy with a second person",
    ),
    case(approved, "not critical", ANY, waivers=of(changed(ONE, rule="instances-match-row", approved_by=""))),
    case(approved, "waivers that cannot be read", ANY, waivers=MALFORMED, undecided=STACK),
    case(lasts, "on its last day", ANY, waivers=of(changed(ONE, expires=TODAY)), passes=STACK),
    case(
        lasts,
        "the day after",
        ANY,
        waivers=of(changed(ONE, expires=date(2026, 11, 20))),
        fails=STACK,
        message="expired on 2026-11-20 (owner: Ada); a failure counts again since 2026-11-21; expected 2026-11-21 or",
    ),
    case(lasts, "of a rule that does not exist", ANY, waivers=of(changed(ONE, rule="no-rule"))),
    case(lasts, "waivers that cannot be read", ANY, waivers=MALFORMED, undecided=STACK),
    case(used, "it waives a failure", ANY, waivers=of(ONE), findings=FAILING, passes=STACK),
    case(
        used,
        "the failure is gone",
        ANY,
        waivers=of(ONE),
        findings=PASSING,
        fails=STACK,
        message="accepts no failure of rabbitmq-size on rabbit*; expected a failure to waive",
    ),
    case(
        used,
        "another resource",
        ANY,
        waivers=of(changed(ONE, resource="mysqld")),
        findings=FAILING,
        fails=STACK,
    ),
    case(used, "the second of two alike", ANY, waivers=of(ONE, ONE), findings=FAILING, passes=STACK, fails=STACK),
    case(used, "expired", ANY, waivers=of(changed(ONE, expires=date(2020, 1, 1))), findings=FAILING),
    case(used, "without effect", ANY, waivers=of(changed(ONE, approved_by="")), findings=FAILING),
    case(used, "its rule could not be evaluated", ANY, waivers=of(ONE), findings=UNDECIDED, undecided=STACK),
    case(used, "its rule has not run", ANY, waivers=of(ONE), undecided=STACK),
)
