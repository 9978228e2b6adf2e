"""The real engine, for the tests named test_engine_*: previews of given resources with the policy pack."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contract import VERDICTS_FILE
from policy.engine import record
from tests.engine_settings import ENGINE_SETTINGS
from tests.policy.world import Given

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(__file__).resolve().parent / "program"


@dataclass(frozen=True)
class Preview:
    """The result of a preview."""

    code: int
    output: str
    log: Path

    @property
    def record(self) -> Path:
        """The file with the policy pack's verdicts."""
        return self.log.with_name(record.FILE)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def violations(self) -> dict[str, set[str]]:
        """Returns the names of the resources that violate each policy, by enforcement level."""
        found: dict[str, set[str]] = {}
        for event in self.events:
            if policy := event.get("policyEvent"):
                name = policy["resourceUrn"].rpartition("::")[2]
                found.setdefault(f"{policy['enforcementLevel']} {policy['policyName']}", set()).add(name)
        return found


Previews = Callable[..., Preview]


@pytest.fixture
def preview(tmp_path: Path) -> Previews:
    """Previews given resources under a stack configuration, in a state of its own; or a program that has its own.

    `verb="up"` with the option `--skip-preview` updates without one.
    """
    if shutil.which("pulumi") is None:
        pytest.skip("the engine is not on PATH: `make setup`, then `. .venv/bin/activate`")

    return partial(previewed, tmp_path)


def previewed(
    directory: Path,
    given: Iterable[Given],
    config: Mapping[str, object] | None = None,
    *options: str,
    program: Path = PROGRAM,
    pack: Path = ROOT / "policy",
    verb: str = "preview",
    **environment: str,
) -> Preview:
    """Previews given resources in a directory; see the fixture `preview`."""
    (directory / "given.json").write_text(json.dumps([asdict(each) for each in given]), encoding="utf-8")
    return _run(directory, program, config or {}, (verb, "--policy-pack", str(pack), *options), environment)


def _run(
    directory: Path, program: Path, config: Mapping[str, object], words: Iterable[str], more: Mapping[str, str]
) -> Preview:
    state, project, log = directory / "state", directory / "project", directory / "events.jsonl"
    state.mkdir(exist_ok=True)
    for left in (log, log.with_name(record.FILE)):
        left.unlink(missing_ok=True)
    # The engine writes beside the program.
    shutil.copytree(program, project, dirs_exist_ok=True)
    file = directory / "Pulumi.test.yaml"
    file.write_text(json.dumps({"config": dict(config)}), encoding="utf-8")
    environment = {
        **os.environ,
        **ENGINE_SETTINGS,
        "PULUMI_BACKEND_URL": state.as_uri(),
        VERDICTS_FILE: str(log.with_name(record.FILE)),
        "QUORATE_GIVEN": str(directory / "given.json"),
        "QUORATE_RENDERED": str(directory / "rendered"),
        **more,
    }
    if not any(state.rglob("test.json")):
        init = ["pulumi", "-C", str(project), "stack", "init", "test", "--no-select", "--non-interactive"]
        subprocess.run(init, env=environment, check=True, capture_output=True)
    verb, *options = words
    command = ["pulumi", "-C", str(project), verb, "--stack", "test", "--config-file", str(file)]
    command += ["--event-log", str(log), "--non-interactive", *options]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    return Preview(done.returncode, done.stdout + done.stderr, log)
