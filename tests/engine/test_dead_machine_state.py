"""The real engine accepts a state without a dead machine's resources, which `pulumi state delete` refuses to make."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from commands.engine.machine_resources import without_machine
from tests.engine.conftest import with_state

PREFIX = "urn:pulumi:cloud::quorate::"
STACK = f"{PREFIX}pulumi:pulumi:Stack::quorate-cloud"
PROVIDER = f"{PREFIX}pulumi:providers:command::default"


def custom(kind: str, name: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"urn": f"{PREFIX}{kind}::{name}", "type": kind, "custom": True, "id": name}
    found |= {key: dict[str, Any]() for key in ("inputs", "outputs")}
    return found | more


def command(kind: str, name: str, *after: str) -> dict[str, Any]:
    return custom(f"command:remote:{kind}", name, parent=STACK, provider=f"{PROVIDER}::default", dependencies=[*after])


def test_a_state_without_a_machine(engine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: quorate\nruntime: python\n")

    def pulumi(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        line = ["pulumi", "--non-interactive", "--cwd", str(tmp_path), *words, "--stack", "cloud"]
        environment = with_state(engine, tmp_path)
        return subprocess.run(line, env=environment, input=text, text=True, capture_output=True, check=False)

    assert pulumi("stack", "init").returncode == 0
    state = json.loads(pulumi("stack", "export").stdout)
    copied = command("CopyToRemote", "cloud-masters-master3-files")
    dead, other = (
        command("Command", "cloud-masters-master3-apply", copied["urn"]),
        command("Command", "m-master2-apply"),
    )
    own = [dead["urn"], other["urn"]]
    live = custom("pulumi:providers:kubernetes", "live", dependencies=own, propertyDependencies={"kubeconfig": own})
    state["deployment"]["resources"] = [
        {"urn": STACK, "type": "pulumi:pulumi:Stack"},
        custom("pulumi:providers:command", "default"),
        *(copied, dead, other, live),
    ]
    assert pulumi("stack", "import", text=json.dumps(state)).returncode == 0
    refused = pulumi("state", "delete", "--yes", dead["urn"])
    assert "can't be safely deleted because the following resources depend on it" in refused.stderr

    found, gone = without_machine(json.loads(pulumi("stack", "export").stdout), "master3", ["master2", "master3"], [])
    assert gone == [copied["urn"], dead["urn"]]
    done = pulumi("stack", "import", text=json.dumps(found))
    assert done.returncode == 0, done.stderr
    left = json.loads(pulumi("stack", "export").stdout)["deployment"]["resources"]
    assert [each["urn"].rpartition("::")[2] for each in left] == ["quorate-cloud", "default", "m-master2-apply", "live"]
    assert left[-1]["dependencies"] == [other["urn"]]
