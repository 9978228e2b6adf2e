from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date

from policy.catalogue import WAIVABLE
from policy.facts.stack_waivers import Waivers
from policy.findings import Enforcement, Waiver
from policy.rule import AnyRule, evaluate
from policy.rules.quorum_sizes import rabbitmq_size
from policy.rules.waivers import waiver_is_used, waiver_names_rule, waiver_not_expired
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, facts, machines, quorum, stack

names, lasts, used = waiver_names_rule, waiver_not_expired, waiver_is_used

TODAY = date(2026, 11, 21)
ONE = Waiver("rabbitmq-size", "rabbit*", "the fifth server is ordered", "Ada", date(2026, 12, 31))
BROKEN, SOUND, UNDECIDED = quorum(replicas=4), quorum(), quorum(replicas=UNKNOWN)


def after(rules: Sequence[AnyRule], given: Sequence[Given], *waivers: Waiver) -> Callable[[], Waivers]:
    """The waivers once these rules have judged these resources."""

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
    case(lasts, "on its last day", ANY, waivers=of(replace(ONE, expires=TODAY)), passes=STACK),
    case(
        lasts,
        "the day after",
        ANY,
        waivers=of(replace(ONE, expires=date(2026, 11, 20))),
        fails=STACK,
        message="expired on 2026-11-20 (owner: Ada); expected 2026-11-21 or later",
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
        message="rabbitmq-size does not fail on rabbit*; expected a failure to waive",
    ),
    case(used, "another resource", ANY, waivers=used_on(BROKEN, replace(ONE, resource="mysqld")), fails=STACK),
    case(used, "the second of two alike", ANY, waivers=used_on(BROKEN, ONE, ONE), passes=STACK, fails=STACK),
    case(used, "expired", ANY, waivers=used_on(BROKEN, replace(ONE, expires=date(2020, 1, 1)))),
    case(used, "its rule could not be evaluated", ANY, waivers=used_on(UNDECIDED, ONE), undecided=STACK),
    case(used, "its rule has not run", ANY, waivers=of(ONE), undecided=STACK),
)
