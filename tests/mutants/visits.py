"""A plugin of pytest that records which functions of the changed packages each test runs.

`QUORATE_VISITS=<directory> pytest -p tests.mutants.visits …` writes a file for each process. A test has also run what
its fixtures of a wider scope ran, what its module ran when it was collected, and what was run to compute a cached value
that the test used: run alone, the test would run these functions itself.
"""

from __future__ import annotations

import functools
import json
import os
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from cProfile import Profile
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.mutants.sample import PACKAGES

ROOT = Path(__file__).parents[2]
DIRECTORY = "QUORATE_VISITS"
"""Environment variable with the directory of the files."""

real_lru_cache: Callable[..., Any] = functools.lru_cache


class Recorder:
    """Collects what runs now, and gives it to the test, fixture or module that runs it."""

    def __init__(self) -> None:
        self._profile = Profile(subcalls=False, builtins=False)
        self._now: set[CodeType] = set()
        self._fixtures: defaultdict[tuple[str, str], set[CodeType]] = defaultdict(set)
        self._modules: defaultdict[Path, set[CodeType]] = defaultdict(set)
        self._computed: defaultdict[CodeType, set[CodeType]] = defaultdict(set)
        self._names: dict[CodeType, str | None] = {}
        self._tests: dict[str, tuple[float, set[str]]] = {}
        self._failed: set[str] = set()

    @contextmanager
    def recording(self, visited: set[CodeType]) -> Generator[None]:
        """Adds to a set what runs inside of the context, which counts for what is outside too."""
        self._collect()
        outer, self._now = self._now, set()
        try:
            yield
        finally:
            self._collect()
            visited |= self._now
            outer |= visited
            self._now = outer

    def _collect(self) -> None:
        """Moves what the profile has seen to the set of now. The profile is written in C: it doubles a test's time."""
        self._profile.disable()
        self._now.update(each.code for each in self._profile.getstats() if isinstance(each.code, CodeType))
        self._profile.clear()
        self._profile.enable()

    def lru_cache(self, maxsize: Any = 128, typed: bool = False) -> Callable[..., Any]:
        """Is functools.lru_cache; each call of a function of the changed packages counts as the one that computed."""
        if callable(maxsize):
            return self._watched(maxsize, real_lru_cache)
        cache = real_lru_cache(maxsize, typed)

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            return self._watched(function, cache)

        return decorate

    def _watched(self, function: Callable[..., Any], cache: Callable[..., Any]) -> Callable[..., Any]:
        code = function.__code__
        if self._name(code) is None:
            return cache(function)

        @functools.wraps(function)
        def computed(*arguments: Any, **named: Any) -> Any:
            with self.recording(self._computed[code]):
                return function(*arguments, **named)

        cached = cache(computed)

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            self._now.add(code)
            return cached(*arguments, **named)

        vars(call).update(cache_clear=cached.cache_clear, cache_info=cached.cache_info)
        return call

    def _with_computed(self, visited: set[CodeType]) -> set[CodeType]:
        """Returns functions, and all that the cached ones among them ran when they were computed."""
        new = set(visited)
        while new:
            new = set[CodeType]().union(*(self._computed.get(code, ()) for code in new)) - visited
            visited = visited | new
        return visited

    def _name(self, code: CodeType) -> str | None:
        """Returns the file and first line of a function of the changed packages, as choice.py names it."""
        if code not in self._names:
            path = Path(code.co_filename)
            inside = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
            known = inside.startswith(tuple(f"{each}/" for each in PACKAGES))
            self._names[code] = f"{inside}:{code.co_firstlineno}" if known else None
        return self._names[code]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        with self.recording(self._modules[collector.path]):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        with self.recording(self._fixtures[fixturedef.argname, fixturedef.baseid]):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        visited: set[CodeType] = set()
        started = _processor_seconds()
        with self.recording(visited):
            result = yield
        names = item.fixturenames if isinstance(item, pytest.Function) else ()
        for (name, base), codes in self._fixtures.items():
            if name in names and item.nodeid.startswith(base):
                visited |= codes
        visited |= self._modules[item.path]
        named = {self._name(code) for code in self._with_computed(visited)}
        self._tests[item.nodeid] = (_processor_seconds() - started, {each for each in named if each})
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Writes the tests that passed with their seconds of processor time, and for each function their numbers."""
        passed = {test: record for test, record in self._tests.items() if test not in self._failed}
        functions: defaultdict[str, list[int]] = defaultdict(list)
        for number, (_, visited) in enumerate(passed.values()):
            for name in visited:
                functions[name].append(number)
        tests = [[test, round(seconds, 2)] for test, (seconds, _) in passed.items()]
        name = os.environ.get("PYTEST_XDIST_WORKER", "main")
        file = Path(os.environ[DIRECTORY]) / f"{name}.json"
        file.write_text(json.dumps({"tests": tests, "functions": functions}), encoding="utf-8")


def _processor_seconds() -> float:
    """Returns the processor time of this process and its ended children.

    On a busy machine, a test takes several times the seconds of a clock, and fewer tests would be chosen for a change.
    """
    return sum(os.times()[:4])


def pytest_configure(config: pytest.Config) -> None:
    """Begins to record, before any module of the project is imported."""
    recorder = Recorder()
    functools.lru_cache = recorder.lru_cache  # functools.cache calls it too
    config.pluginmanager.register(recorder)
