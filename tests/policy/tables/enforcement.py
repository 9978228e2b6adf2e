from policy.facts.levels import RuleLevel
from policy.findings import Enforcement
from policy.rule import ENFORCEMENT, IN_ANY_PROFILE
from policy.rules.enforcement import configuration_received, enforcement_not_lowered, lab_profile_fits
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, machine, machine_pool, masters, stack

lowered, fits, received = enforcement_not_lowered, lab_profile_fits, configuration_received
STACK = "quorate-test"
LAB = cloud(profile="lab")


def level(rule: str, applied: Enforcement) -> RuleLevel:
    return RuleLevel(rule, ENFORCEMENT, applied)


AS_IT_IS = level("galera-size", Enforcement.MANDATORY)
ADVICE = {"production": Enforcement.ADVISORY, "lab": Enforcement.ADVISORY}


def node(name: str, **labels: str) -> Given:
    props = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    return Given("kubernetes:core/v1:Node", name, props)


def racked(server: str) -> list[Given]:
    return masters(1, server=server, labels={"quorate.io/rack": "r1"})


CASES = (
    case(lowered, "levels of the profile", stack(), cloud(), levels=[AS_IT_IS], passes=STACK),
    case(
        lowered,
        "one made advisory and two disabled",
        stack(),
        levels=[
            level("etcd-size", Enforcement.ADVISORY),
            level("galera-size", Enforcement.DISABLED),
            level("rabbitmq-size", Enforcement.DISABLED),
        ],
        fails=STACK,
        message="--policy-pack-config sets galera-size, rabbitmq-size to disabled; expected mandatory",
    ),
    case(
        lowered,
        "one that is mandatory in every profile",
        stack(),
        levels=[RuleLevel("stateful-keeps-data", IN_ANY_PROFILE, Enforcement.ADVISORY)],
        fails=STACK,
    ),
    case(
        lowered,
        "an advisory rule is disabled",
        stack(),
        levels=[RuleLevel("waiver-is-used", ADVICE, Enforcement.DISABLED)],
        passes=STACK,
    ),
    case(
        lowered,
        "a Cloud that calls itself a lab",
        stack(),
        LAB,
        fails=STACK,
        message="the Cloud has profile lab, and quorate:profile is production; expected one profile in both",
    ),
    case(lowered, "the profile of the Cloud is not known", stack(), cloud(profile=UNKNOWN), undecided=STACK),
    case(lowered, "without a Cloud and levels", stack()),
    case(received, "the stack's own configuration", stack(), levels=[AS_IT_IS], configured_stack="test", passes=STACK),
    case(
        received,
        "the configuration of another stack",
        stack(),
        levels=[AS_IT_IS],
        configured_stack="prod",
        fails=STACK,
        message="the pack has received the configuration of stack prod; expected that of test",
    ),
    case(
        received,
        "no configuration",
        stack(),
        levels=[AS_IT_IS],
        configured_stack="",
        undecided=STACK,
        message="the policy pack has received no configuration of the stack",
    ),
    case(received, "a rule that Pulumi's SDK runs alone", stack()),
    case(fits, "fifty computes", stack(), LAB, machine_pool("compute", 50), passes=STACK),
    case(
        fits,
        "more than fifty computes",
        stack(),
        LAB,
        machine_pool("compute", 51),
        fails=STACK,
        message="quorate:profile: lab makes most rules advisory for 51 computes; expected at most 50 computes",
    ),
    case(
        fits,
        "computes by their label",
        stack(),
        LAB,
        [node(f"n{number}", **{"openstack-compute-node": "enabled"}) for number in range(51)],
        fails=STACK,
    ),
    case(
        fits,
        "physical masters in racks",
        stack(),
        LAB,
        racked("master-1"),
        fails=STACK,
        message="physical masters in racks (master-1); expected profile production",
    ),
    case(fits, "virtual masters in racks", stack(), LAB, racked("host1"), passes=STACK),
    case(fits, "physical masters without racks", stack(), LAB, masters(), passes=STACK),
    case(fits, "production", stack(), cloud(), machine_pool("compute", 60)),
    case(fits, "an unknown rack", stack(), LAB, machine("m", "master", roles=[UNKNOWN]), undecided=STACK),
)
