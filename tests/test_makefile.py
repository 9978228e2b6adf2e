"""The make targets: which command each runs, and that values reach it exactly as they were given."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fakes import ROOT, script

HOSTILE = "a`touch pwned`$(touch pwned)$(shell touch pwned)$${x} 'b' \"c\""
"""A legal name of a branch, but for the blanks, that runs a command if make or the shell expands it."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A Makefile whose set-up and tests do nothing and whose `quorate` prints its arguments, one a line."""
    shutil.copyfile(ROOT / "Makefile", tmp_path / "Makefile")
    script(tmp_path / ".venv" / "bin", "quorate", 'printf "%s\\n" "$@" "KUBECONFIG=$KUBECONFIG"')
    script(tmp_path / ".venv" / "bin", "python", "exit 0")
    activate = tmp_path / ".venv" / "bin" / "activate"
    activate.write_text('PATH="$PWD/.venv/bin:$PATH"\n', encoding="utf-8")
    return tmp_path


def make(clone: Path, *words: str, **variables: str) -> list[str]:
    known = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    done = subprocess.run(
        ["make", "--no-print-directory", "PYTHON=true", *words],
        cwd=clone,
        env=known | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["plan"], ["plan", "--stack=dev"]),
        (["up", "STACK=prod"], ["up", "--stack=prod"]),
        (["diff", "BASE=origin/main"], ["diff", "--stack=dev", "--base=origin/main"]),
        (["review", "STACK=all", "BASE=HEAD^1"], ["review", "--stack=all", "--base=HEAD^1"]),
        (["destroy", "STACK=prod", "CONFIRM=prod"], ["destroy", "--stack=prod", "--confirm=prod"]),
        (["prove", "ARCH=all"], ["prove", "--stack=dev", "--arch=all"]),
        (["services", "STACK=prod"], ["services", "--stack=prod"]),
        (["services", "KIND=stalls"], ["services", "--stack=dev", "--kind=stalls"]),
        (["action"], ["action", "--stack=dev", "--name=", "--backup="]),
        (
            ["action", "NAME=mysqld-restore", "BACKUP=x"],
            ["action", "--stack=dev", "--name=mysqld-restore", "--backup=x"],
        ),
        (["cloud", "STACK=prod"], ["cloud", "--stack=prod"]),
        (["cloud-status"], ["cloud-status", "--stack=dev"]),
        (["cloud-down"], ["cloud-down"]),
        (["drill", "SERVER=virt2"], ["drill", "--stack=dev", "--server=virt2", "--kind=", "--replace="]),
        (["drill", "KIND=drains"], ["drill", "--stack=dev", "--server=", "--kind=drains", "--replace="]),
        (
            ["drill", "REPLACE=controller2"],
            ["drill", "--stack=dev", "--server=", "--kind=", "--replace=controller2"],
        ),
        (["drill", "ALL=1"], ["drill", "--stack=dev", "--server=", "--kind=", "--replace=", "--all"]),
        (["status", "STACK=prod"], ["status", "--stack=prod", "--ask="]),
        (["status", "SERVER=virt2"], ["status", "--stack=dev", "--ask=virt2"]),
        (["credentials", "STACK=prod"], ["credentials", "--stack=prod"]),
        (["snapshot", "STACK=prod"], ["snapshot", "--stack=prod"]),
    ],
)
def test_a_target_runs_its_command(clone: Path, words: list[str], arguments: list[str]) -> None:
    assert make(clone, *words)[:-1] == arguments


def test_e2e_runs_the_heavy_tests_and_every_proof(clone: Path) -> None:
    recipe = "\n".join(make(clone, "-n", "e2e"))
    assert '-m "alone and heavy" tests/trials/machines' in recipe
    assert '-m "alone and heavy" tests/trials/cloud' in recipe
    assert '-m "heavy and not alone"' in recipe
    assert "prove --arch=all" in recipe


def test_e2e_leaves_no_heavy_test_out() -> None:
    """Tests that need the whole host are in the two folders that the targets name."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    both = [path for path, text in texts.items() if {"alone", "heavy"} <= set(re.findall(r"pytest\.mark\.(\w+)", text))]
    marked = {path.parent.relative_to(ROOT).as_posix() for path in both}
    assert marked == {"tests/trials/machines", "tests/trials/cloud"}


def test_a_value_is_passed_on_as_it_is(clone: Path) -> None:
    assert make(clone, "diff", f"BASE={HOSTILE}", f"STACK={HOSTILE}")[:3] == [
        "diff",
        f"--stack={HOSTILE}",
        f"--base={HOSTILE}",
    ]
    assert make(clone, "verify", KUBECONFIG=HOSTILE)[-1] == f"KUBECONFIG={HOSTILE}"
    assert make(clone, "review", BASE=HOSTILE)[2] == f"--base={HOSTILE}"
    assert not (clone / "pwned").exists()


def test_a_name_from_the_environment_runs_no_action(clone: Path) -> None:
    """Some systems set NAME in every environment."""
    assert make(clone, "action", NAME="mysqld-restore")[:-1] == ["action", "--stack=dev", "--name=", "--backup="]


VALUES = (
    HOSTILE,
    "a\nb`touch pwned`\n\ttouch pwned",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "$(touch pwned)",
    "|touch pwned",
)
TARGETS = (
    "setup",
    "up",
    "refresh",
    "preview",
    "audit",
    "diff",
    "review",
    "plan",
    "config",
    "domains",
    "pin",
    "doctor",
    "destroy",
    "e2e",
    "e2e-kills",
    "e2e-fuzz",
    "e2e-proofs",
    "e2e-machines",
    "e2e-drills",
    "prove",
    "services",
    "machines",
    "cloud",
    "cloud-status",
    "cloud-down",
    "drill",
    "action",
    "credentials",
    "status",
    "snapshot",
    "verify",
    "bench",
    "mutants",
    "clean",
)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("from_environment", [True, False])
def test_no_target_runs_what_a_value_says(clone: Path, value: str, *, from_environment: bool) -> None:
    names = ("STACK", "BASE", "ARCH", "CONFIRM", "KUBECONFIG", "SERVICE", "NAME", "BACKUP")
    if from_environment:
        make(clone, *TARGETS, **dict.fromkeys(names, value))
    else:
        make(clone, *TARGETS, *(f"{name}={value}" for name in names))
    assert not (clone / "pwned").exists()


def test_the_targets_of_the_makefile_are_known_here() -> None:
    """A new target must be tried with hostile values too; those without values are `test` and its parts."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):", text, re.MULTILINE))
    assert targets - set(TARGETS) == {
        "help",
        "environment",
        "cluster",
        "test",
        "unit",
        "lint",
        "browser",
        "format",
        "docs",
    }
