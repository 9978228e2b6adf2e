"""What an engineer sees of `quorate` on the real engine: few lines, every warning, no secret."""

from __future__ import annotations

import base64
import os
import re
import stat
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests import terminal
from tests.engine.clones import COMMAND, Clone
from tests.engine.conftest import ROOT_SECRET_TEXT
from tests.stacks import STACKS

MOST = 60
"""Largest number of lines of a first `up`."""
PLAINTEXT = re.compile(r"rendered (YAML will contain|file build/dev/secrets/\S+ contains) a secret value in plaintext")
PASSWORD = re.compile(r"[A-Za-z0-9_-]{43}=")
"""A secret that is derived from the root secret (components/secrets.py)."""


@pytest.fixture
def dev(tmp_path: Path, engine: dict[str, str]) -> Clone:
    return Clone.make(tmp_path / "clone", "dev", STACKS["dev"])


def log_of(clone: Clone, output: str) -> str:
    """Returns the text of the log that a command has named, which only its owner may read."""
    (named,) = set(re.findall(r"Pulumi's own output: (\S+)", output))
    log = clone.root / named
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700
    return log.read_text(encoding="utf-8")


def warnings(log: str) -> Counter[str]:
    """Returns how often the last run of a log warns, by the first line of the warning."""
    diagnostics = log.rpartition("Diagnostics:")[2]
    return Counter(text.strip() for text in re.findall(r"^ +warning: (.+)$", diagnostics, re.MULTILINE))


def assert_no_warning_is_lost(log: str, screen: str) -> None:
    found = warnings(log)
    meant = {text for text in found if PLAINTEXT.fullmatch(text)}
    shown = {text: number for text, number in found.items() if text not in meant}
    assert meant
    assert shown, "the stack has a warning, or this test shows nothing"
    for text, number in shown.items():
        assert screen.count(text) == 1
        assert number == 1 or f"{number} times: {text}" in screen
    assert "plaintext" not in screen
    files = len([text for text in meant if "rendered file" in text])
    assert f"in {files} Kubernetes objects" in screen


def secrets_of(clone: Clone) -> set[str]:
    """Returns the root secret and all secrets that were derived from it for the rendered stack."""
    files = [path for path in (clone.build / "secrets").rglob("*") if path.is_file()]
    texts = [path.read_text(encoding="utf-8") for path in files]
    manifests = [yaml.safe_load(text) for path, text in zip(files, texts, strict=True) if path.suffix == ".yaml"]
    data = [value for each in manifests for value in each.get("data", {}).values()]
    decoded = [base64.b64decode(value).decode() for value in data]
    return {ROOT_SECRET_TEXT, *data, *(found for text in (*decoded, *texts) for found in PASSWORD.findall(text))}


def test_a_first_up_prints_few_lines_and_loses_no_warning(dev: Clone) -> None:
    output = dev.up().output
    assert len(output.splitlines()) <= MOST, output
    log = log_of(dev, output)
    assert_no_warning_is_lost(log, output)
    assert "+ 26 Deployments in openstack" in output
    assert output.splitlines()[-1].startswith("Next: ")
    assert "Updating (dev)" in log
    assert "Updating (dev)" not in output

    secrets = secrets_of(dev)
    assert len(secrets) > 100
    assert not [secret for secret in secrets if secret in log or secret in output]

    again = dev.up("--verbose").output
    assert "No changes: all" in again
    assert "Previewing update (dev)" in again, "what Pulumi prints comes to the terminal"
    assert log_of(dev, again) in again.replace("\r", "")


def test_a_first_up_in_a_terminal_moves_one_line(dev: Clone) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")}
    seen = terminal.run([sys.executable, "-c", COMMAND, "up", "--stack", "dev"], dev.root, environment)
    assert seen.code == 0, seen.lines
    assert len(seen.lines) <= MOST, seen.lines
    assert seen.written.count(b"\n") <= MOST, "lines that scroll by count too"
    screen = "".join(line.ljust(terminal.COLUMNS) for line in seen.lines)
    assert_no_warning_is_lost(log_of(dev, screen), re.sub(r" {2,}", " ", screen))
    assert not [line for line in seen.lines if "resources," in line], "the line that moved is gone"
    moving = re.search(rb"Updating dev: \d+ of \d+ resources, [^\r]*", seen.written)
    assert moving
    assert moving[0].decode() in terminal.shown(seen.written[: moving.end()])[-1]


def test_a_failing_resource_shows_its_message_and_what_was_done(dev: Clone) -> None:
    in_the_way = dev.build / "machines" / "master1"
    in_the_way.parent.mkdir()
    in_the_way.write_text("a file where a directory must be")
    done = dev.run("up")
    assert done.code == 1
    assert len(done.output.splitlines()) <= MOST, done.output
    errors = done.output.partition("Errors:\n")[2]
    assert errors.startswith("  machine directory cloud-virt1-master1-tree: ")
    assert "machines/master1" in errors
    assert "Changed before the failure:\n" in done.output
    assert "`up` failed for dev" in done.output
    log_of(dev, done.output)
