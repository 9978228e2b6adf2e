"""The run that changes code: which changes it tries, which tests it runs for one, and that a hole is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.mutants import report, trial
from tests.mutants.choice import Visits
from tests.mutants.sample import Mutant, read, sample
from tests.mutants.trial import MutantTrial, Outcome
from tests.mutants.visits import DIRECTORY
from tests.stacks import ROOT

MODULE = """\
def size(given: int | None) -> int | None:
    return given | 1 if given else None


@some(known=True)
def other():
    def inner():
        return 2
    return inner


@dataclass(frozen=True)
class Kind:
    pass
"""


def mutant(path: str = "blueprint/size.py", line: int = 2, column: int = 17, occurrence: int = 0) -> Mutant:
    return Mutant(path, line, column, "core/ReplaceBinaryOperator_BitOr_BitAnd", occurrence)


def dumped(operator: str, line: int, column: int) -> str:
    change = {
        "module_path": "blueprint/size.py",
        "operator_name": f"core/{operator}",
        "occurrence": 0,
        "start_pos": [line, column],
    }
    return json.dumps([{"job_id": "1", "mutations": [change]}, None])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one module that another imports."""
    (tmp_path / "blueprint").mkdir()
    (tmp_path / "blueprint" / "size.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "blueprint" / "user.py").write_text("from blueprint.size import size\n", encoding="utf-8")
    return tmp_path


def visits(project: Path, **functions: str) -> Visits:
    """Visits of tests of a second each: to each function (`size_1`: file and line) names of tests, of one letter."""
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for name, tests in functions.items():
        file, _, line = name.partition("_")
        seen[f"blueprint/{file}.py:{line}"] = set(tests)
    return Visits(project, dict.fromkeys(sorted(set[str]().union(*seen.values())), 1.0), seen)


def test_an_annotation_and_a_change_that_says_nothing_are_not_tried(project: Path) -> None:
    changes = [
        dumped("ReplaceBinaryOperator_BitOr_BitAnd", 1, 20),  # of the argument
        dumped("ReplaceBinaryOperator_BitOr_BitAnd", 1, 34),  # of the result
        dumped("ReplaceBinaryOperator_BitOr_BitAnd", 2, 17),
        dumped("ReplaceBinaryOperator_BitOr_Pow", 2, 17),
        dumped("RemoveDecorator", 5, 0),
        dumped("ReplaceTrueWithFalse", 5, 12),
        dumped("ReplaceTrueWithFalse", 12, 18),  # of the dataclass
    ]
    option = Mutant("blueprint/size.py", 5, 12, "core/ReplaceTrueWithFalse", 0)
    assert list(read(changes, project)) == [mutant(), option]


def test_a_seed_is_a_sample_of_places() -> None:
    """A hundred changes of one place are as likely as one of another, whatever their order."""
    many = [mutant(line=1, occurrence=number) for number in range(100)]
    others = [mutant(line=line) for line in range(2, 11)]
    chosen = sample([*many, *others], 5, 41)
    assert chosen == sample([*reversed(others), *many], 5, 41)
    assert len({each.line for each in chosen}) == 5
    assert chosen != sample([*many, *others], 5, 42)
    assert len(sample([*many, *others], 50, 41)) == 10


def test_a_change_in_a_function_is_for_the_tests_that_run_it(project: Path) -> None:
    """Its name begins with the line of its decorator, which runs outside, and the innermost function counts."""
    seen = visits(project, size_1="ab", size_5="bc", size_7="c")
    assert seen.tests(mutant(line=2)) == ["a", "b"]
    assert seen.tests(mutant(line=5)) == ["a", "b", "c"]
    assert seen.tests(mutant(line=6)) == ["b", "c"]
    assert seen.tests(mutant(line=9)) == ["b", "c"]
    assert seen.tests(mutant(line=8)) == ["c"]


def test_a_test_of_few_functions_is_first_and_the_longest_are_left_out(project: Path) -> None:
    seen = visits(project, size_1="abc", size_5="a", size_7="a", user_1="c")
    assert seen.tests(mutant(line=2)) == ["b", "c", "a"]
    seen.seconds["c"] = 60.0
    assert seen.tests(mutant(line=2)) == ["b"]


def test_a_change_outside_of_functions_is_for_the_file_and_who_imports_it(project: Path) -> None:
    """The tests that import one of them count too: a profile has a module in the test that imports it first only."""
    (project / "tests").mkdir()
    imports = {
        "size": "from blueprint import size",
        "user": "import blueprint.user",
        "package": "from blueprint.whole import SIZE",
        "beside": "import json",
    }
    for name, text in imports.items():
        (project / "tests" / f"test_of_{name}.py").write_text(f"{text}\n", encoding="utf-8")
    (project / "blueprint" / "whole").mkdir()
    (project / "blueprint" / "whole" / "__init__.py").write_text("from ..size import size\n", encoding="utf-8")
    seen = visits(project, size_1="a", user_3="b", elsewhere_1="c")
    seen.seconds |= {f"tests/test_of_{name}.py::test": 1.0 for name in imports}
    importing = [f"tests/test_of_{name}.py::test" for name in ("package", "size", "user")]
    assert seen.tests(mutant(line=4)) == [*importing, "a", "b"]


def test_those_that_run_a_function_with_a_changed_constant_are_first(project: Path) -> None:
    """Also with a constant that is made of it, and in another file."""
    (project / "blueprint" / "size.py").write_text(
        "LEAST = 1\n\n\nMOST = {2: LEAST}\n\n\ndef small():\n    return 3\n\n\ndef most():\n    return MOST[2]\n",
        encoding="utf-8",
    )
    (project / "blueprint" / "user.py").write_text(
        "from blueprint import size\n\n\ndef use():\n    return size.LEAST\n", encoding="utf-8"
    )
    seen = visits(project, size_7="ab", size_11="c", user_4="d", elsewhere_1="cd")
    assert seen.tests(mutant(line=1)) == ["c", "d", "a", "b"]
    assert seen.tests(mutant(line=4)) == ["c", "a", "b", "d"]
    assert seen.tests(mutant(line=2)) == ["a", "b", "c", "d"]


def test_a_test_of_the_module_s_name_is_always_run(project: Path) -> None:
    """What runs in another process is in no profile."""
    seen = visits(project, size_1="a")
    seen.seconds |= dict.fromkeys(
        ("tests/blueprint/test_size.py::test_b", "tests/test_blueprint_other.py::test_c"), 1.0
    )
    assert set(seen.tests(mutant())) == {"a", "tests/blueprint/test_size.py::test_b"}
    del seen.seconds["tests/blueprint/test_size.py::test_b"]
    assert set(seen.tests(mutant())) == {"a", "tests/test_blueprint_other.py::test_c"}


def test_a_test_of_the_module_s_name_that_runs_the_function_is_first(project: Path) -> None:
    """Also if it runs more functions than others."""
    seen = visits(project, size_1="ab", user_3="a")
    named = "tests/blueprint/test_size.py::test_of_it"
    seen.seconds[named] = 1.0
    for tests in seen.functions.values():
        tests.add(named)
    assert seen.tests(mutant()) == [named, "b", "a"]


def test_a_function_that_a_fixture_or_a_cache_ran_is_its_test_s_too(tmp_path: Path) -> None:
    tests = tmp_path / "test_one.py"
    tests.write_text(
        "import pytest\n"
        "from blueprint.architecture.loader import load_architecture\n"
        "from blueprint.patterns import expand\n"
        "@pytest.fixture(scope='module')\n"
        "def names(): return expand('n[1-2]')\n"
        "def test_first(names): load_architecture('100')\n"
        "def test_second(names): pass\n"
        "def test_third(): load_architecture('100')\n"
        "def test_fails(): assert not expand('n1')\n"
        "def test_waits(): __import__('time').sleep(1)\n",
        encoding="utf-8",
    )
    # Not a worker of the run that this test is in.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.visits", str(tests)],
        cwd=ROOT,
        env=own | {DIRECTORY: str(tmp_path)},
        capture_output=True,
        check=False,
    )
    seen = Visits.load(ROOT, [tmp_path / "main.json"])
    runs = {
        test.rpartition("::")[2]: {name for name, tests in seen.functions.items() if test in tests}
        for test in seen.seconds
    }
    assert set(runs) == {"test_first", "test_second", "test_third", "test_waits"}
    assert next(spent for test, spent in seen.seconds.items() if "test_waits" in test) < 1, "no processor time"
    assert runs["test_first"] >= runs["test_third"] | runs["test_second"]
    assert any(name.startswith("blueprint/patterns.py:") for name in runs["test_second"])
    assert {name.partition(":")[0] for name in runs["test_third"]} >= {"blueprint/yaml_file.py"}


def test_the_report_names_what_survived() -> None:
    changed = ("-    return a < b", "+    return a <= b")
    outcomes = [Outcome.NOTICED] * 6 + [Outcome.ENDLESS, Outcome.SURVIVED, Outcome.UNSEEN, Outcome.NOT_RUN]
    trials = [MutantTrial(mutant(line=line), changed, outcome, 3) for line, outcome in enumerate(outcomes)]
    text = report.text(trials, 41, 2)
    assert text.startswith("10 changes, seed 41: tests noticed 78 %, of 90 % wanted; no time for 2 more.\n")
    assert "| blueprint | 10 | 6 | 1 | 1 | 1 | 78 % |" in text
    assert "blueprint/size.py:7 survived, 3 tests\n\n    -    return a < b\n    +    return a <= b\n" in text
    assert "blueprint/size.py:6" not in text


def test_a_run_of_tests_ends_as_its_outcome_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tests of the change no test runs, and an endless loop is ended by its processor time."""
    monkeypatch.setattr(trial, "LIMIT", 4)
    text = "def test_passes(): pass\ndef test_fails(): assert False\ndef test_loops():\n    while True: pass\n"
    (tmp_path / "test_one.py").write_text(text, encoding="utf-8")
    (tmp_path / "blueprint").mkdir()
    module = tmp_path / "blueprint" / "size.py"
    module.write_text("SIZE = 1\n", encoding="utf-8")
    os.utime(module, (1, 1))

    def apply(command: list[str], directory: Path) -> None:
        assert command[1:] == ["apply", "blueprint/size.py", "core/ReplaceBinaryOperator_BitOr_BitAnd", "0"]
        (directory / command[2]).write_text("SIZE = 2\n", encoding="utf-8")

    monkeypatch.setattr(trial, "run", apply)
    outcomes: dict[str, Outcome] = {}
    for name in ("passes", "fails", "loops"):
        done = trial.mutate_and_test(tmp_path, mutant(), [f"test_one.py::test_{name}"])
        outcomes[name] = done.outcome
        assert done.change == ("-SIZE = 1", "+SIZE = 2")
    assert outcomes == {"passes": Outcome.SURVIVED, "fails": Outcome.NOTICED, "loops": Outcome.ENDLESS}
    assert trial.mutate_and_test(tmp_path, mutant(), []).outcome is Outcome.UNSEEN
    assert module.read_text(encoding="utf-8") == "SIZE = 1\n"
    assert module.stat().st_mtime == 1
