from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date

from policy.catalogue import WAIVABLE
from policy.facts.stack_waivers import Waivers
from policy.findings import Enforcement, Waiver
from policy.rule import AnyRule, evaluate
from policy.rules.quorum_sizes import rabbitmq_size
from policy.rules.waivers import (
    waiver_is_approved,
    waiver_is_used,
    waiver_names_rule,
    waiver_not_expired,
    waiver_within_limits,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, facts, machines, quorum, stack

names, lasts, used = waiver_names_rule, waiver_not_expired, waiver_is_used
limits, approved = waiver_within_limits, waiver_is_approved

TODAY = date(2026, 11, 21)
ONE = Waiver("rabbitmq-size", "rabbit*", "the fifth server is ordered", "Ada", date(2026, 12, 31), "Grace")
BROKEN, SOUND, UNDECIDED = quorum(replicas=4), quorum(), quorum(replicas=UNKNOWN)


def after(rules: Sequence[AnyRule], given: Sequence[Given], *waivers: Waiver) -> Callable[[], Waivers]:
    """The waivers after these rules have evaluated these resources."""

    def make() -> Waivers:
        made = Waivers(waivers, on=TODAY, rules=WAIVABLE)
        for rule in rules:
            made.apply(evaluate(rule, facts(given), Enforcement.MANDATORY))
        return made

    return make


def of(*waivers: Waiver) -> Callable[[], Waivers]:
    return after([], [], *waivers)


def used_on(given: Given, *waivers: Waiver) -> Callable[[], Waivers]:
    return after([rabbitmq_size], [*machines("rabbitmq"), given], *waivers)  # pyright: ignore[reportArgumentType]


def malformed() -> Waivers:
    return Waivers(on=TODAY, rules=WAIVABLE, malformed="quorate:waivers[0].expires cannot be read")


STACK = "quorate-test"
ANY = stack()

CASES = (
    case(names, "one of the pack's", ANY, waivers=of(ONE), passes=STACK),
    case(
        names,
        "a misspelt one",
        ANY,
        waivers=of(ONE, replace(ONE, rule="rabbit-size")),
        passes=STACK,
        fails=STACK,
        message="no waivable rule 'rabbit-size'; expected a rule id (did you mean 'rabbitmq-size'?)",
    ),
    case(names, "a rule about waivers", ANY, waivers=of(replace(ONE, rule="waiver-is-used")), fails=STACK),
    case(names, "no waiver", ANY),
    case(names, "waivers that cannot be read", ANY, waivers=malformed, undecided=STACK, message="[0].expires"),
    case(limits, "within all of them", ANY, waivers=of(ONE), passes=STACK),
    case(
        limits,
        "of every resource",
        ANY,
        waivers=of(replace(ONE, resource="*")),
        fails=STACK,
        message="resource: the pattern '*' matches resources of any kind; expected a resource's name, or a pattern",
    ),
    case(
        limits,
        "longer than 180 days",
        ANY,
        waivers=of(replace(ONE, expires=date(2027, 5, 21))),
        fails=STACK,
        message="expires: 2027-05-21 is 181 days from today; expected 2027-05-20 or earlier (180 days)",
    ),
    case(limits, "180 days", ANY, waivers=of(replace(ONE, expires=date(2027, 5, 20))), passes=STACK),
    case(limits, "approved by its owner", ANY, waivers=of(replace(ONE, approved_by="ADA")), fails=STACK),
    case(limits, "no waiver", ANY),
    case(limits, "waivers that cannot be read", ANY, waivers=malformed, undecided=STACK),
    case(approved, "by a second person", ANY, waivers=of(ONE), passes=STACK),
    case(
        approved,
        "without an owner",
        ANY,
        waivers=of(replace(ONE, approved_by="")),
        fails=STACK,
        message="owner Ada alone; expected approvedBy with a second person",
    ),
    case(approved, "not critical", ANY, waivers=of(replace(ONE, rule="instances-match-row", approved_by=""))),
    case(approved, "waivers that cannot be read", ANY, waivers=malformed, undecided=STACK),
    case(lasts, "on its last day", ANY, waivers=of(replace(ONE, expires=TODAY)), passes=STACK),
    case(
        lasts,
        "the day after",
        ANY,
        waivers=of(replace(ONE, expires=date(2026, 11, 20))),
        fails=STACK,
        message="expired on 2026-11-20 (owner: Ada); a failure counts again since 2026-11-21; expected 2026-11-21 or",
    ),
    case(lasts, "of a rule that does not exist", ANY, waivers=of(replace(ONE, rule="no-rule"))),
    case(lasts, "waivers that cannot be read", ANY, waivers=malformed, undecided=STACK),
    case(used, "it waives a failure", ANY, waivers=used_on(BROKEN, ONE), passes=STACK),
    case(
        used,
        "the failure is gone",
        ANY,
        waivers=used_on(SOUND, ONE),
        fails=STACK,
        message="accepts no failure of rabbitmq-size on rabbit*; expected a failure to waive",
    ),
    case(used, "another resource", ANY, waivers=used_on(BROKEN, replace(ONE, resource="mysqld")), fails=STACK),
    case(used, "the second of two alike", ANY, waivers=used_on(BROKEN, ONE, ONE), passes=STACK, fails=STACK),
    case(used, "expired", ANY, waivers=used_on(BROKEN, replace(ONE, expires=date(2020, 1, 1)))),
    case(used, "without effect", ANY, waivers=used_on(BROKEN, replace(ONE, approved_by=""))),
    case(used, "its rule could not be evaluated", ANY, waivers=used_on(UNDECIDED, ONE), undecided=STACK),
    case(used, "its rule has not run", ANY, waivers=of(ONE), undecided=STACK),
)
