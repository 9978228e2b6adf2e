"""The pack gives the same verdicts behind the proxy of Pulumi's language host and without it, on the real engine.

The language host of the built engine has Pulumi's own proxy, which the official host puts before every pack that is
named by its folder. A pack that is named by its program, as by Quorate's commands, is started by the engine itself.
With QUORATE_POLICY_PROXY=none the language host starts the pack, but lets the engine call it directly.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from commands.engine.operation import PACK
from policy.engine import record
from policy.findings import Verdict
from tests.engine.clones import Clone
from tests.engine.conftest import FirstRuns, Projects, engine, first_preview, first_up, project
from tests.policy.conftest import ROOT, Previews
from tests.policy.world import UNKNOWN, Given, cloud, quorum, whole_stack
from tests.stacks import STACKS

__all__ = ["engine", "first_preview", "first_up", "project"]

HOST = "QUORATE_POLICY_PROXY"
DIRECT = {HOST: "none"}
PROGRAM = ROOT / PACK
PACKS = Path(__file__).parent / "packs"
WITHOUT_CALL = PACKS / "without_call"
LAB, PRODUCTION = {"quorate:profile": "lab"}, {"quorate:profile": "production"}

BROKEN = [quorum(replicas=4) if each.name == "rabbitmq" else each for each in whole_stack()]
TODAY = datetime.now(UTC).date()


def waiver(days: int) -> dict[str, str]:
    expires = (TODAY + timedelta(days=days)).isoformat()
    who = {"owner": "Ada", "approvedBy": "Grace", "reason": "a trial"}
    return {"rule": "rabbitmq-size", "resource": "rabbit*", "expires": expires, **who}


def in_lab(given: list[Given]) -> list[Given]:
    return [cloud(profile="lab") if each.name == "cloud" else each for each in given]


WAIVER = f"""\
  quorate:waivers:
    - rule: log-store-size
      resource: "*elasticsearch-kibana"
      reason: a lab
      owner: Ada
      approvedBy: Grace
      expires: {TODAY + timedelta(days=30)}
"""
"""As an engineer writes it, with a date that YAML reads as one."""

CASES: dict[str, tuple[list[Given], dict[str, object], Verdict, bool]] = {
    "production": (BROKEN, {**PRODUCTION}, Verdict.FAIL, False),
    "lab": (in_lab(BROKEN), {**LAB}, Verdict.FAIL, True),
    "an unknown value": (
        [quorum(replicas=UNKNOWN) if each.name == "rabbitmq" else each for each in whole_stack()],
        {**PRODUCTION},
        Verdict.NOT_EVALUATED,
        False,
    ),
    "a waiver in force": (BROKEN, {**PRODUCTION, "quorate:waivers": [waiver(30)]}, Verdict.WAIVED, False),
    "an expired waiver": (BROKEN, {**PRODUCTION, "quorate:waivers": [waiver(-1)]}, Verdict.FAIL, False),
    "not applicable": (
        [each for each in whole_stack() if each.name != "rabbitmq"],
        {**PRODUCTION},
        Verdict.NOT_APPLICABLE,
        False,
    ),
}
"""Resources, configuration, the verdict of rabbitmq-size, and whether the preview succeeds."""

EVERY_WAY = ("lab", "a waiver in force")
"""Cases that run in two further ways, which differ in where the configuration comes from: one for each key that the
pack reads there. The other cases differ in resources or in values."""


@dataclass(frozen=True)
class Seen:
    """What a run of the engine reported, in an order that does not depend on that of the resources."""

    succeeded: bool
    rules: dict[str, list[str]]
    """The verdicts of each rule, as recorded."""
    basis: tuple[str, str, str]
    violations: list[str]

    @classmethod
    def of(cls, code: int, events: Iterable[dict[str, Any]], file: Path) -> Seen:
        found = record.read(file)
        assert found, "the pack recorded no verdicts"
        rules = {each.rule: sorted(map(repr, each.verdicts)) for each in found.rules}
        violations = sorted(json.dumps(_unversioned(each["policyEvent"])) for each in events if "policyEvent" in each)
        return cls(code == 0, rules, (found.profile, found.architecture, found.today), violations)


def _unversioned(violation: Mapping[str, Any]) -> dict[str, Any]:
    """A violation without the version of the pack, which the proxy reads in the pack's folder: a test's has its own."""
    return {key: value for key, value in violation.items() if not key.startswith("policyPackVersion")}


def see(preview: Previews, given: list[Given], config: dict[str, object], **how: Any) -> Seen:
    result = preview(given, config, **how)
    return Seen.of(result.code, result.events, result.record)


@pytest.mark.parametrize("name", CASES)
def test_what_the_configuration_decides(name: str, preview: Previews) -> None:
    given, config, verdict, succeeds = CASES[name]
    direct = see(preview, given, config, pack=PROGRAM)
    assert see(preview, given, config) == direct
    if name in EVERY_WAY:
        assert see(preview, given, config, **DIRECT) == direct
        assert see(preview, given, config, pack=WITHOUT_CALL) == direct, "from the environment alone"
    assert direct.succeeded == succeeds
    assert all(f"<Verdict.{verdict.name}:" in each for each in direct.rules["rabbitmq-size"])


def test_an_architecture_of_the_stacks_own(preview: Previews, tmp_path: Path) -> None:
    text = (ROOT / "blueprint/architecture/100.yaml").read_text(encoding="utf-8")
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace('name: "100"', "name: mine"), encoding="utf-8")
    given = [cloud("mine") if each.name == "cloud" else each for each in whole_stack()]
    config: dict[str, object] = {**PRODUCTION, "quorate:architecture": str(file)}
    direct = see(preview, given, config, pack=PROGRAM)
    assert see(preview, given, config, pack=WITHOUT_CALL) == direct
    assert direct.succeeded
    assert direct.basis[1] == "mine"


@pytest.mark.parametrize(("pack", "said"), [("raising", "ZeroDivisionError"), ("broken", "this pack does not start")])
def test_a_pack_that_crashes_stops_the_update(pack: str, said: str, preview: Previews) -> None:
    for place in (PACKS / pack, PACKS / pack / "__main__.py"):
        done = preview(whole_stack(), PRODUCTION, pack=place)
        assert done.code != 0
        assert said in done.output


def test_an_invalid_stack_is_reported_with_the_pack(project: Projects) -> None:
    dev = project("dev")
    text = dev.stack_file.read_text(encoding="utf-8")
    dev.stack_file.write_text(text.replace("quorate:profile: lab", "quorate:profile: lap"), encoding="utf-8")
    for pack in ("policy", PACK):
        done = dev.run("preview", "--policy-pack", pack)
        assert done.code != 0
        assert "quorate:profile" in done.output
        assert not (dev.directory / record.FILE).exists(), "no verdict on a stack that is invalid"


@pytest.mark.parametrize("words", [("preview",), ("up", "--yes", "--skip-preview")], ids=["preview", "up"])
@pytest.mark.parametrize("stack", ["dev", "prod", "one-server"])
def test_the_samples(
    stack: str, words: tuple[str, ...], project: Projects, first_preview: FirstRuns, first_up: FirstRuns
) -> None:
    """Each in a state of its own: rules compare a second update with the first."""
    first = (first_preview if words[0] == "preview" else first_up)(stack)
    direct = Seen.of(first.done.code, first.done.events, first.verdicts)
    assert direct.succeeded
    behind_proxy = project(stack)
    done = behind_proxy.run(*words, "--policy-pack", "policy")
    assert Seen.of(done.code, done.events, behind_proxy.directory / record.FILE) == direct


@pytest.mark.engine
def test_the_commands(tmp_path: Path) -> None:
    """`quorate audit`, `up` and `review` of a lab with a waiver have the same findings."""
    source = tmp_path / "source.yaml"
    source.write_text(f"{STACKS['one-server'].read_text(encoding='utf-8').rstrip()}\n{WAIVER}", encoding="utf-8")
    clone = Clone.make(tmp_path / "clone", "one-server", source)
    (clone.root / ".gitignore").write_text(".venv\nbuild\n__pycache__/\n", encoding="utf-8")
    _git(clone.root, "init", "--quiet")
    _git(clone.root, "add", "--all")
    _git(clone.root, "commit", "--quiet", "--message", "all")
    review = clone.run("review", "--base", "HEAD")
    assert review.code == 0, review.output
    audit = clone.run("audit")
    assert audit.code == 0, audit.output
    audited = findings(clone)
    assert {each["rule"] for each in audited["findings"] if each["verdict"] == Verdict.WAIVED} == {"log-store-size"}
    clone.up()
    assert findings(clone) == audited
    assert clone.run("destroy").code == 0


def findings(clone: Clone) -> dict[str, Any]:
    """Returns the audit's findings, without the time of the run."""
    document: dict[str, Any] = json.loads((clone.build / "audit" / "findings.json").read_text(encoding="utf-8"))
    assert document["summary"]["problems"] == []
    assert document["findings"]
    return {**document, "generatedBy": None}


def _git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)
