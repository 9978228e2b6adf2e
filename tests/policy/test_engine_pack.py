"""Tests of the policy pack on the real engine: stacks that pass, stacks that are stopped, and the profile lab."""

from __future__ import annotations

import json
from pathlib import Path

from audit import log
from audit.result import audit
from policy.catalogue import BY_ID, RULES
from policy.engine import record
from policy.findings import Verdict
from tests.policy.conftest import Previews
from tests.policy.world import UNKNOWN, Given, quorum, whole_stack

LAB = {"quorate:profile": "lab"}
PRODUCTION = {"quorate:profile": "production"}


def without_spread(given: list[Given]) -> list[Given]:
    """Returns the stack with a RabbitMQ that has no anti-affinity."""
    return [quorum(apart=()) if each.name == "rabbitmq" else each for each in given]


BROKEN_BY_IT = ("one-instance-per-node", "one-member-per-server", "quorum-survives-host")
"""Rules that RabbitMQ breaks without any anti-affinity."""


def test_a_cloud_that_breaks_no_rule(preview: Previews) -> None:
    result = preview(whole_stack(), PRODUCTION)
    assert result.code == 0, result.output
    assert result.violations() == {}


def test_production_is_stopped(preview: Previews) -> None:
    result = preview(without_spread(whole_stack()), PRODUCTION)
    assert result.code != 0
    assert result.violations() == {
        "mandatory one-instance-per-node": {"rabbitmq"},
        "mandatory one-member-per-server": {"rabbitmq"},
        "mandatory quorum-survives-host": {"rabbitmq"},
    }
    assert "no required anti-affinity over quorate.io/server" in result.output
    assert "Fix: Add a required podAntiAffinity" in result.output


def test_a_lab_is_told(preview: Previews) -> None:
    result = preview(without_spread(whole_stack(profile="lab")), LAB)
    assert result.code == 0, result.output
    assert set(result.violations()) == {f"advisory {rule}" for rule in BROKEN_BY_IT}


def test_a_lab_keeps_its_data(preview: Previews) -> None:
    """What loses data at the first fault stops a lab as well (docs/adr/0009-mandatory-in-a-lab.md)."""
    without = quorum().but(spec__volumeClaimTemplates=None)
    given = [without if each.name == "rabbitmq" else each for each in whole_stack(profile="lab")]
    result = preview(given, LAB)
    assert result.code != 0
    assert result.violations() == {"mandatory stateful-keeps-data": {"rabbitmq"}}


def test_a_stack_that_names_no_profile_is_production(preview: Previews) -> None:
    result = preview(without_spread(whole_stack()))
    assert result.code != 0
    assert set(result.violations()) == {f"mandatory {rule}" for rule in BROKEN_BY_IT}


def test_an_unknown_value_stops_production(preview: Previews) -> None:
    """An unknown value stops production, although the engine alone would make only an advisory message of it."""
    given = [quorum(replicas=UNKNOWN) if each.name == "rabbitmq" else each for each in whole_stack()]
    result = preview(given, PRODUCTION)
    assert result.code != 0
    assert result.violations()["mandatory rabbitmq-size"] == {"rabbitmq"}
    assert "not evaluated: StatefulSet rabbitmq: spec.replicas of rabbitmq cannot be known" in result.output


def test_pulumis_own_configuration_overrides_single_rules(preview: Previews, tmp_path: Path) -> None:
    """Not unseen: it is a failure of its own, which configuration cannot lower. A disabled rule was not evaluated."""
    config = tmp_path / "pack.json"
    lowered = ("galera-size", "enforcement-not-lowered", "waiver-names-rule")
    levels = {"one-instance-per-node": "advisory", **dict.fromkeys(lowered, "disabled")}
    config.write_text(json.dumps(levels), encoding="utf-8")
    result = preview(without_spread(whole_stack()), PRODUCTION, "--policy-pack-config", str(config))
    assert result.violations() == {
        "advisory one-instance-per-node": {"rabbitmq"},
        "mandatory one-member-per-server": {"rabbitmq"},
        "mandatory quorum-survives-host": {"rabbitmq"},
        "mandatory enforcement-not-lowered": {"quorate-test"},
    }
    assert "--policy-pack-config sets galera-size to disabled; expected mandatory" in result.output
    done = audit("test", log.read(result.log))
    assert not done.problems
    assert done.verdict_of(BY_ID["galera-size"]) is Verdict.NOT_EVALUATED


def test_every_verdict_is_in_the_record(preview: Previews) -> None:
    result = preview(whole_stack(), PRODUCTION)
    found = record.read(result.record)
    assert found
    assert [each.rule for each in found.rules] == [rule.id for rule in RULES]
    assert (found.profile, found.architecture) == ("production", "100")
    assert [(each.verdict, each.resource.rpartition("::")[2]) for each in found.by_rule["rabbitmq-size"].verdicts] == [
        (Verdict.PASS, "rabbitmq")
    ]
    assert result.record.stat().st_mode & 0o777 == 0o600


def test_without_a_file_for_the_record_pulumi_reports_the_same(preview: Previews) -> None:
    """As in a plain `pulumi preview --policy-pack policy`, which names no file."""
    given = without_spread(whole_stack())
    named, plain = preview(given, PRODUCTION), preview(given, PRODUCTION, QUORATE_VERDICTS="")
    assert not plain.record.exists()
    assert (plain.code, plain.violations()) == (named.code, named.violations())


def test_a_record_that_cannot_be_written_is_an_error(preview: Previews, tmp_path: Path) -> None:
    (tmp_path / "a-file").touch()
    result = preview(whole_stack(), PRODUCTION, QUORATE_VERDICTS=str(tmp_path / "a-file" / "verdicts.json"))
    assert result.code != 0
    assert "a-file" in result.output
