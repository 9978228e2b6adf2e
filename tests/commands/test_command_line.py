"""The commands behind `make`, with a fake engine: what they refuse, run, print and leave behind."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_IMODE
from typing import Any, cast
from unittest.mock import Mock

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import JumpHost
from blueprint.stackfile.virt import MachineImage, Virt
from cluster.api import Api, ApiError
from commands import command_line, deployment, stack
from commands.engine.passphrase import FILE, VALUE
from commands.live import connection, virt_host_check
from commands.stack import ValidStack
from commands.trials import lab_stack
from files import generated_secret
from operations.live_cluster import LiveCluster
from tests.commands.engine.test_event_pipe import diagnostic, line, summary, violation
from tests.commands.live.test_live_nodes import item
from tests.fakes import ROOT, script
from toolchain import checksums, libvirt_provider
from toolchain.engine import MANIFEST, Engine

ENGINE = """\
case "$*" in *"stack export"*) echo '{"deployment": {}}'; exit ;; esac
secrets="${PULUMI_CONFIG_PASSPHRASE-unset}|${PULUMI_CONFIG_PASSPHRASE_FILE-unset}"
echo "$*|$secrets|$PULUMI_BACKEND_URL|${PULUMI_SKIP_CHECKPOINTS-}" >> "%(log)s"
case "$*" in
    *"stack init"*) mkdir -p "$(dirname "%(state)s")"; echo '{"version": 3, "checkpoint": {}}' > "%(state)s" ;;
    *"stack output"*) echo the-kubeconfig ;;
esac
for word in "$@"; do
    if [ "${previous-}" = --event-log ]; then
        cat "%(events)s" > "$word"
        %(then)s
    fi
    previous=$word
done"""

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"

REPORT = """\
import sys
import time
print("verdict:", " ".join(sys.argv[1:]))
sys.exit(%d)
"""


@dataclass(frozen=True)
class World:
    """A clone with a fake engine that records its calls."""

    root: Path
    log: Path

    def engine(self, events: Iterable[bytes], then: str = "exit 0", stack: str = "dev") -> None:
        (self.root / "events").write_bytes(b"".join(events))
        facts = {
            "log": self.log,
            "events": self.root / "events",
            "state": self.root / "build" / ".state" / ".pulumi" / "stacks" / "quorate" / f"{stack}.json",
            "then": then,
        }
        script(self.root / "engine", "pulumi", ENGINE % facts)

    def report(self, code: int) -> None:
        (self.root / "audit" / "__main__.py").write_text(REPORT % code, encoding="utf-8")

    @property
    def asked(self) -> list[list[str]]:
        """The recorded engine calls: arguments, passphrase, its file, backend, and whether checkpoints are skipped."""
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        return [call.split("|") for call in text.splitlines()]

    @property
    def verbs(self) -> list[str]:
        return [next(word for word in call[0].split() if word in VERBS) for call in self.asked]


VERBS = ("init", "set", "refresh", "up", "preview", "destroy", "rm", "output")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.prod.yaml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "audit").mkdir()
    (tmp_path / ".venv").mkdir()
    Engine("build", "3.276.0", str(tmp_path / "engine"), str(tmp_path / "engine")).save(tmp_path / ".venv" / MANIFEST)
    monkeypatch.setattr(command_line, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in (VALUE, FILE, "PULUMI_BACKEND_URL"):
        monkeypatch.delenv(name, raising=False)
    made = World(tmp_path, tmp_path / "asked")
    made.report(0)
    made.engine([line(0, **summary(preview=False, create=41, same=1))])
    return made


def refused(events: list[dict[str, Any]]) -> list[bytes]:
    return [line(number, **event) for number, event in enumerate(events)]


def test_the_first_up_of_a_lab_needs_no_hand_work(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["up", "--stack", "dev"]) == 0
    said = capfd.readouterr().out
    assert "PULUMI_CONFIG_PASSPHRASE_FILE=build/dev/.passphrase" in said
    assert "Generated a root secret for this lab." in said
    assert "41 created; 1 unchanged." in said
    assert "Rendered tree: build/dev/" in said
    assert "verdict: --events build/dev/audit/events.jsonl --stack dev --out build/dev/audit" in said
    assert "Next: " in said
    assert world.verbs == ["init", "preview", "up"]
    words, value, file, backend, skips = world.asked[-1]
    assert "--skip-preview --yes --policy-pack policy/__main__.py" in words
    assert f"--config-file {world.root}/build/dev/project/Pulumi.dev.yaml" in words
    assert (value, file) == ("unset", str(world.root / "build" / "dev" / ".passphrase"))
    assert backend == (world.root / "build" / ".state").as_uri()
    assert skips == "true"


def test_the_made_up_root_secret_is_in_its_file_only(world: World) -> None:
    command_line.main(["up", "--stack", "dev"])
    file = world.root / "build" / "dev" / ".root-secret"
    secret = generated_secret.read(file)
    assert S_IMODE(file.stat().st_mode) == 0o600
    assert secret not in world.log.read_text(encoding="utf-8")
    copy = world.root / "build" / "dev" / "project" / "Pulumi.dev.yaml"
    assert secret not in copy.read_text(encoding="utf-8")


def test_a_damaged_root_secret_stops_before_the_engine(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    command_line.main(["up"])
    asked = len(world.asked)
    (world.root / "build" / "dev" / ".root-secret").write_text("short\n", encoding="utf-8")
    assert command_line.main(["preview"]) == 1
    assert "build/dev/.root-secret is damaged" in capfd.readouterr().err
    assert len(world.asked) == asked


def outputs(old: str, new: str) -> dict[str, Any]:
    states = {when: {"outputs": {"plan": value}} for when, value in (("old", old), ("new", new))}
    return {"resOutputsEvent": {"metadata": {"type": "pulumi:pulumi:Stack", **states}}}


def test_an_up_without_changes_ends_after_its_preview(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    said = [outputs("a", "b"), outputs("a", "a"), summary(preview=True, same=42)]
    world.engine([line(number, **event) for number, event in enumerate(said)])
    assert command_line.main(["up"]) == 0
    assert "No changes: all 42 resources are up to date." in capfd.readouterr().out
    assert world.verbs[-1] == "preview"


def test_a_changed_output_alone_is_a_change(world: World) -> None:
    world.engine([line(0, **outputs("a", "b")), line(1, **summary(preview=True, same=42))])
    assert command_line.main(["up"]) == 0
    assert world.verbs[-2:] == ["preview", "up"]


def test_a_refresh_leaves_out_what_the_provider_cannot_read(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["refresh"]) == 0
    assert "nothing to refresh" in capfd.readouterr().out
    assert world.asked == []
    command_line.main(["up"])
    assert command_line.main(["refresh"]) == 0
    assert world.verbs[-2:] == ["up", "refresh"]
    words = world.asked[-1][0]
    assert "--yes --exclude **kubernetes:**" in words
    assert "--policy-pack" not in words


def test_up_refreshes_first_if_it_is_asked_to(world: World) -> None:
    assert command_line.main(["up", "--refresh"]) == 0
    assert world.verbs[-3:] == ["refresh", "preview", "up"]
    world.engine([], then="exit 1")
    assert command_line.main(["up", "--refresh"]) == 1
    assert world.verbs[-1] == "refresh"


def test_up_of_production_without_a_passphrase_is_refused_before_anything(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(world.root.rglob("*"))
    assert command_line.main(["up", "--stack", "prod"]) == 1
    assert "needs its passphrase: set PULUMI_CONFIG_PASSPHRASE" in capfd.readouterr().err
    assert world.asked == []
    assert sorted(world.root.rglob("*")) == before


def test_up_of_production_with_one_makes_nothing_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VALUE, "owner's")
    world.engine([line(0, **summary(preview=False, create=1))], stack="prod")
    assert command_line.main(["up", "--stack", "prod"]) == 0
    assert world.verbs == ["init", "preview", "up"]
    assert {call[1] for call in world.asked} == {"owner's"}
    assert not (world.root / "build" / "prod" / ".passphrase").exists()


def test_the_engine_is_given_one_passphrase(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulumi looks at the value first, an empty one too: beside a file it would be the one that counts."""
    monkeypatch.setenv(VALUE, "")
    command_line.main(["up"])
    assert {call[1] for call in world.asked} == {"unset"}
    monkeypatch.setenv(VALUE, "owner's")
    monkeypatch.setenv(FILE, "/some/file")
    command_line.main(["up"])
    assert world.asked[-1][1:3] == ["owner's", "unset"]


def live_file(world: World) -> None:
    """Changes the stack file of prod to the target live."""
    file = world.root / "Pulumi.prod.yaml"
    live = "target: live\n  quorate:machines: existing\n  quorate:cluster: {context: lab}"
    root = "config:\n  quorate:rootSecret: {secure: 'v1:x:y'}"
    text = file.read_text(encoding="utf-8").replace("target: render", live).replace("config:", root, 1)
    file.write_text(text, encoding="utf-8")


class NodesAsPlanned:
    """An API server whose nodes are those of the plan."""

    def __init__(self, planned: Plan) -> None:
        self.items = [item(node) for node in planned.nodes]

    def ask(self, *_: object, **__: object) -> None:
        raise ApiError(404, "NotFound", "")


def self_made_file(world: World) -> None:
    """Changes the stack file of prod to the target live with machines that `up` sets up."""
    file = world.root / "Pulumi.prod.yaml"
    document = stack.read_document(file)
    keys: defaultdict[str, str] = defaultdict(lambda: HOST_KEY)
    servers = lab_stack.with_host_keys(document["config"]["quorate:servers"], load_file(file), keys)
    document["config"] |= {
        "quorate:target": "live",
        "quorate:rootSecret": {"secure": "v1:x:y"},
        "quorate:servers": servers,
    }
    file.write_text(yaml.safe_dump(document), encoding="utf-8")


def test_an_up_that_sets_machines_up_asks_no_cluster_and_writes_its_kubeconfig(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first run makes the cluster."""
    self_made_file(world)
    monkeypatch.setenv(VALUE, "owner's")
    asked: list[str] = []

    def accepts(address: str) -> bool:
        asked.append(address)
        return len(asked) == 2

    monkeypatch.setattr(connection, "_accepts", accepts)
    world.engine([line(0, **summary(preview=False, create=41, same=1))], stack="prod")
    assert command_line.main(["up", "--stack", "prod"]) == 0
    assert world.verbs == ["init", "preview", "up", "output"]
    assert asked == ["10.20.0.11", "10.20.0.12"]
    kubeconfig = connection.own_kubeconfig(world.root, "prod")
    assert kubeconfig.read_text(encoding="utf-8") == "the-kubeconfig\n"
    assert kubeconfig.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("jump_host", [False, True])
def test_resources_of_a_virt_host_that_is_down_are_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *, jump_host: bool
) -> None:
    self_made_file(world)
    monkeypatch.setenv(VALUE, "owner's")

    def validated(root: Path, name: str) -> ValidStack:
        found = stack.load(root, name)
        jump = JumpHost.model_validate({"host": "jump", "hostKey": HOST_KEY}) if jump_host else None
        image = MachineImage(source="debian.qcow2", sha256="0" * 64)
        changes = {
            "virt": Virt.model_validate({"image": image, "authorizedKeys": (HOST_KEY,)}),
            "ssh": found.settings.ssh.model_copy(update={"jump_host": jump}),
        }
        changed = replace(found, settings=found.settings.model_copy(update=changes))
        vars(changed)["plan"] = found.plan  # there is no image to plan with
        return changed

    def ensure(_engine: object, _reporter: object) -> None: ...

    def left_out(_deployment: object) -> dict[str, list[str]]:
        return {"10.20.0.11": ["urn:a", "urn:b"]}

    def accepts(_address: str) -> bool:
        return True

    monkeypatch.setattr(deployment, "validated_stack", validated)
    monkeypatch.setattr(libvirt_provider, "ensure", ensure)
    monkeypatch.setattr(virt_host_check, "left_out", left_out)
    monkeypatch.setattr(connection, "_accepts", accepts)
    world.engine([line(0, **summary(preview=False, create=41, same=1))], stack="prod")
    assert command_line.main(["up", "--refresh", "--stack", "prod"]) == 0
    excluded = [verb for verb, call in zip(world.verbs, world.asked, strict=True) if "--exclude urn:a" in call[0]]
    assert excluded == ([] if jump_host else ["refresh", "preview", "up"])
    said = "The virt host 10.20.0.11 does not answer: libvirt's 2 resources on it are left as they are."
    assert (said in capfd.readouterr().out) is not jump_host
    command_line.main(["destroy", "--confirm", "prod", "--stack", "prod"])
    assert "--exclude" not in world.asked[-1][0]


def test_a_live_stack_is_never_applied_without_checkpoints(
    world: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    live_file(world)
    monkeypatch.setenv(VALUE, "owner's")

    def connect(_root: Path, found: ValidStack) -> LiveCluster:
        server = NodesAsPlanned(found.plan)
        return LiveCluster(cast("Api", server), found.plan, "lab", tuple(server.items))

    monkeypatch.setattr(connection, "connect", connect)
    assert command_line.main(["up", "--stack", "prod"]) == 0
    assert world.verbs == ["init", "preview", "up"]
    preview, up = world.asked[-2:]
    assert (preview[4], up[4]) == ("true", ""), "a preview writes no checkpoint, whose making takes half of its time"
    said = capfd.readouterr().out
    assert "nodes of context lab are as planned" in said
    assert "/var/lib/quorate/openstack/mysqld   # ctl" in said


def test_a_live_stack_without_its_cluster_is_only_previewed(
    world: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    live_file(world)
    monkeypatch.setenv(VALUE, "owner's")
    monkeypatch.setenv("KUBECONFIG", str(world.root / "none"))
    for command in (["up"], ["destroy", "--confirm", "prod"]):
        assert command_line.main([*command, "--stack", "prod"]) == 1
        assert "Nothing was changed." in capfd.readouterr().err
    assert world.asked == []
    assert command_line.main(["preview", "--stack", "prod"]) == 0
    assert "previewed as the target render" in capfd.readouterr().out
    assert world.verbs == ["init", "preview"]


def test_a_bad_setting_is_refused_before_the_engine(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    file = world.root / "Pulumi.dev.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("profile: lab", "profile: lap"), encoding="utf-8")
    assert command_line.main(["up"]) == 1
    said = capfd.readouterr().err
    assert "quorate:profile" in said
    assert "Pulumi.dev.yaml is invalid" in said
    assert world.asked == []


def test_a_preview_without_a_passphrase_keeps_nothing(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["preview", "--stack", "prod"]) == 0
    assert "placeholder secrets" in capfd.readouterr().out
    assert world.verbs == ["init", "preview"]
    backends = {call[3] for call in world.asked}
    assert backends != {(world.root / "build" / ".state").as_uri()}
    assert all("/build/.scratch-" in backend for backend in backends)
    assert not list((world.root / "build").glob(".scratch-*"))


def test_a_preview_of_a_lab_that_stands_compares_with_it(world: World) -> None:
    command_line.main(["up"])
    command_line.main(["preview"])
    words, _, file, backend, _ = world.asked[-1]
    assert words.startswith("preview ")
    assert "--policy-pack policy/__main__.py" in words
    assert "--yes" not in words
    assert (file, backend) == (str(world.root / "build/dev/.passphrase"), (world.root / "build/.state").as_uri())
    # The stack is made once, and its secret stays.
    assert world.verbs == ["init", "preview", "up", "preview"]


def test_only_an_up_makes_a_root_secret_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VALUE, "owner's")
    command_line.main(["preview"])
    assert world.verbs == ["init", "preview"]
    assert not (world.root / "build" / "dev" / ".root-secret").exists()


def test_the_stack_file_stays_as_its_owner_wrote_it(world: World) -> None:
    before = (world.root / "Pulumi.dev.yaml").read_bytes()
    command_line.main(["up"])
    assert (world.root / "Pulumi.dev.yaml").read_bytes() == before
    copy = yaml.safe_load((world.root / "build/dev/project/Pulumi.dev.yaml").read_text(encoding="utf-8"))
    assert copy["config"]["quorate:copy"] == {"stack": "dev", "file": "Pulumi.dev.yaml"}


def test_a_policys_no_is_no_crash(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.engine(
        refused([violation("mandatory"), diagnostic("error", "preview failed"), summary(preview=True)]), "exit 1"
    )
    assert command_line.main(["up"]) == 1
    said = capfd.readouterr().err
    assert "Policy check failed: 1 findings of mandatory rules" in said
    assert "Nothing was changed." in said


def test_a_failing_program_is_reported_as_such(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.engine(refused([diagnostic("error", "ValueError: no")]), "exit 1")
    assert command_line.main(["up"]) == 1
    assert "`up` failed for dev; see the error above." in capfd.readouterr().err


@pytest.mark.parametrize("verdict", [0, 1])
def test_the_audits_exit_code_is_the_reports(world: World, verdict: int, capfd: pytest.CaptureFixture[str]) -> None:
    world.report(verdict)
    world.engine(refused([violation("mandatory"), diagnostic("error", "preview failed")]), "echo noise; exit 1")
    assert command_line.main(["audit"]) == verdict
    said = capfd.readouterr().out
    assert "verdict: --events build/dev/audit/events.jsonl" in said
    assert "noise" not in said
    kept = (world.root / "build/dev/audit/events.jsonl").read_text(encoding="utf-8").splitlines()
    assert "policyEvent" in json.loads(kept[0])


def test_an_audit_of_a_failing_preview_is_no_verdict(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.engine(refused([violation("mandatory"), diagnostic("error", "ValueError: no")]), "echo noise; exit 1")
    assert command_line.main(["audit"]) == 1
    captured = capfd.readouterr()
    assert "verdict: --events build/dev/audit/events.jsonl" in captured.out, "the report says why, in place of an older"
    assert "ValueError: no" in captured.err
    assert "No audit: the preview failed" in captured.err
    (log,) = (world.root / "build/dev/log").iterdir()
    assert f"Pulumi's own output: {log.relative_to(world.root)}" in captured.err
    assert log.read_text(encoding="utf-8") == "noise\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("then", "sentence"),
    [
        ("exit 1", "Pulumi exited with 1 and printed nothing."),
        ("kill -SEGV $$", "Pulumi was ended by SIGSEGV and printed nothing."),
    ],
)
def test_an_engine_that_says_nothing_is_not_a_blank_message(
    world: World, then: str, sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    world.engine([], then)
    assert command_line.main(["audit"]) == 1
    assert sentence in capfd.readouterr().err


@pytest.mark.parametrize("content", [b"", b"\x7fELF half a program"])
def test_an_engine_that_is_damaged_is_named(world: World, content: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    command_line.main(["up"])
    capfd.readouterr()
    (world.root / "engine" / "pulumi").write_bytes(content)
    assert command_line.main(["up"]) == 1
    said = capfd.readouterr().err
    assert "engine/pulumi" in said
    assert "Traceback" not in said


def test_a_built_engine_whose_checksum_differs_is_not_run(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    pulumi = world.root / "engine" / "pulumi"
    checksums.write(world.root, [pulumi])
    pulumi.write_bytes(pulumi.read_bytes() + b"\ntouch pwned\n")
    assert command_line.main(["up"]) == 1
    assert "is damaged (engine/pulumi); `make setup` installs it again." in capfd.readouterr().err
    assert world.asked == []


def test_an_engine_that_cannot_begin_is_quoted(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.engine([], "echo error: incorrect passphrase >&2; exit 1")
    assert command_line.main(["audit"]) == 1
    assert "error: incorrect passphrase" in capfd.readouterr().err


def test_taking_down_what_matters_wants_its_name_twice(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["destroy", "--stack", "prod"]) == 1
    assert "make destroy STACK=prod CONFIRM=prod" in capfd.readouterr().err
    assert world.asked == []


def test_taking_down_a_lab_leaves_nothing(world: World) -> None:
    command_line.main(["up"])
    world.engine([line(0, **summary(preview=False, delete=42))])
    assert command_line.main(["destroy"]) == 0
    assert world.verbs[-2:] == ["destroy", "rm"]
    assert not (world.root / "build" / "dev").exists()


def test_taking_down_a_lab_keeps_a_directory_that_it_did_not_make(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    (world.root / "build" / "dev").mkdir(parents=True)
    (world.root / "build" / "dev" / "mine").touch()
    command_line.main(["up"])
    assert command_line.main(["destroy"]) == 0
    assert (world.root / "build" / "dev" / "mine").exists()
    assert "Kept build/dev: it has no marker file .quorate" in capfd.readouterr().out


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 900, b'{"version": 3, "check', b"[]", b'{"version": 3, "checkpoint": []}']
)
@pytest.mark.parametrize("command", ["up", "preview", "audit", "destroy"])
def test_a_damaged_state_stops_every_command_and_its_copy_is_offered(
    world: World, content: bytes, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    command_line.main(["up"])
    state = world.root / "build/.state/.pulumi/stacks/quorate/dev.json"
    good = state.read_bytes()
    history = world.root / "build/.state/.pulumi/history/quorate/dev"
    history.mkdir(parents=True)
    for number, text in enumerate([b"{}", good, b""]):  # an older one, the newest good one, a newer one that is cut
        copy = history / f"dev-{number}.checkpoint.json"
        copy.write_bytes(text)
        os.utime(copy, (number, number))
    state.write_bytes(content)
    asked = len(world.asked)
    assert command_line.main([command]) == 1
    said = capfd.readouterr().err
    assert "The state of dev is damaged: build/.state/.pulumi/stacks/quorate/dev.json is " in said
    assert len(world.asked) == asked, "nothing is run"
    restore = said.splitlines()[-1].strip()
    assert restore.startswith("cp build/.state/.pulumi/history/quorate/dev/dev-1.checkpoint.json ")
    subprocess.run(restore, shell=True, check=True, cwd=world.root)  # noqa: S602 - as a user pastes it
    assert command_line.main([command]) == 0


def test_a_damaged_state_without_a_copy_names_the_way_back(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    command_line.main(["up"])
    (world.root / "build/.state/.pulumi/stacks/quorate/dev.json").write_bytes(b"")
    assert command_line.main(["up"]) == 1
    assert "There is no good copy. Start over: `make clean`" in capfd.readouterr().err
    assert command_line.main(["clean"]) == 0
    assert command_line.main(["up"]) == 0


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "x", "build/dev/a"), "build/dev/a: no space left on the disk. Free some space, then"),
        (OSError(errno.EROFS, "x", "build"), "build: the file system is read-only. Mount it writable"),
        (PermissionError(errno.EACCES, "x", "build"), "build: permission denied. Give your user access to it"),
        (FileExistsError(errno.EEXIST, "x", "build"), "build: exists, but is not a directory. Move it away"),
        (OSError(errno.ELOOP, "Too many levels of symbolic links", "a"), "a: Too many levels of symbolic links."),
        (OSError(errno.ENOSPC, "x"), "A file: no space left on the disk."),
    ],
)
def test_an_error_of_the_system_is_one_line(
    world: World, error: OSError, sentence: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commands.deployment.preview", Mock(side_effect=error))
    assert command_line.main(["preview"]) == 1
    said = capfd.readouterr().err
    assert said.startswith(sentence)
    assert said.count("\n") == 1


def test_a_build_that_is_a_file_is_told_in_one_line(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    (world.root / "build").touch()
    for command in ("up", "preview", "audit", "plan"):
        assert command_line.main([command]) == 1
        said = capfd.readouterr().err
        assert "build" in said
        assert "is not a directory" in said
        assert said.count("\n") == 1
    assert (world.root / "build").read_bytes() == b""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounts a file system, which needs root")
@pytest.mark.parametrize("options", ["size=8k", "size=1m,nr_inodes=2", "ro"])
def test_a_disk_without_room_leaves_nothing_half_written(
    world: World, options: str, capfd: pytest.CaptureFixture[str]
) -> None:
    build = world.root / "build"
    build.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "quorate-test", str(build)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        assert command_line.main(["up"]) == 1
        said = capfd.readouterr().err
        assert re.match(r"\S*build/\S*: (no space left on the disk|no inodes left|the file system is read-only)", said)
        assert said.count("\n") == 1
        assert not any(path.stat().st_size == 0 for path in build.rglob("*") if path.is_file())
    finally:
        subprocess.run(["umount", str(build)], check=True)


def test_taking_down_what_is_not_there(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["destroy"]) == 0
    assert "nothing to destroy" in capfd.readouterr().out
    assert world.asked == []
    assert not (world.root / "build" / "dev").exists()


def from_the_terminal(process: subprocess.Popen[str]) -> None:
    """Sends SIGINT to the whole process group with the engine, as a terminal does after Ctrl-C."""
    os.killpg(process.pid, signal.SIGINT)


def from_a_supervisor(process: subprocess.Popen[str]) -> None:
    """Sends SIGTERM to the command only, as a cancelled CI job does."""
    process.terminate()


@pytest.mark.parametrize("interrupt", [from_the_terminal, from_a_supervisor])
def test_an_interrupt_waits_for_the_engine_and_says_how_to_go_on(
    world: World, interrupt: Callable[[subprocess.Popen[str]], None]
) -> None:
    """The engine is interrupted once, completes its shutdown, and nothing is left of the run."""
    ready = world.root / "ready"
    world.engine(
        [], f"trap 'sleep 1; echo engine ended in order; exit 1' INT; touch {ready}; while :; do sleep 0.1; done"
    )
    program = (
        "import sys; from pathlib import Path; from commands import command_line\n"
        f"command_line.ROOT = Path({str(world.root)!r}); sys.exit(command_line.main(['preview', '--verbose']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    while not ready.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    interrupt(process)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert output.index("engine ended in order") < output.index("Run `make preview STACK=dev` again to continue.")
    assert "Traceback" not in output
    assert not list((world.root / "build").glob(".scratch-*"))
