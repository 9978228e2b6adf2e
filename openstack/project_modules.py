"""Finds what a project has beside its record: the functions of its Python module, which cannot be data.

A module may have these functions (openstack/definition.py):

- `configure(wiring, process)` returns the configuration files of a process or job;
- `jobs(wiring)` returns the jobs that complete before the processes start, in their order;
- `actions(wiring)` returns the jobs that run on a schedule or when the operator requests them.

The module of one of Quorate's projects is in openstack/projects/, that of a stack's own project is the file beside its
record. Such a file is code of the stack's repository, as its Pulumi program is (ADR 38).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from blueprint.openstack.projects.records import Records
from blueprint.problems import InvalidStackError, Problem
from files import text_file

_FUNCTIONS = ("configure", "jobs", "actions")


def functions(records: Records, project: str) -> dict[str, Callable[..., Any]]:
    """Returns the functions of a project's module by name; {} if the project has no module.

    Raises InvalidStackError if the module of a stack's own project does not import. If such a function fails later, it
    raises InvalidStackError too.
    """
    if project in records.added:
        file = records.added[project].with_suffix(".py")
        module = _imported(file) if file.exists() else None
        return {name: _reporting(file, function) for name, function in _functions(module).items()}
    name = f"openstack.projects.{project}"
    return _functions(importlib.import_module(name) if importlib.util.find_spec(name) else None)


def _functions(module: ModuleType | None) -> dict[str, Callable[..., Any]]:
    return {name: getattr(module, name) for name in _FUNCTIONS if hasattr(module, name)}


def _imported(file: Path) -> ModuleType:
    """Imports a file. Writes no compiled copy of it, because the folder is the user's."""
    module = ModuleType(f"stack_project_{file.stem}")
    module.__file__ = str(file)
    sys.modules[module.__name__] = module  # dataclasses look up the module of their class there
    try:
        code = compile(text_file.read(file), str(file), "exec", dont_inherit=True)
        exec(code, vars(module))  # noqa: S102 - importlib would write into the folder
    except text_file.UnreadableError as error:
        raise InvalidStackError([Problem(str(file), f"cannot be read: {error}")]) from None
    except (Exception, SystemExit) as error:
        raise InvalidStackError([_problem(file, error, "does not import")]) from error
    return module


def _reporting(file: Path, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function of a stack's own module with its errors as problems of the file."""

    @functools.wraps(function)
    def call(*arguments: object) -> object:
        try:
            return function(*arguments)
        except InvalidStackError:
            raise
        except Exception as error:
            raise InvalidStackError([_problem(file, error, f"{function.__name__} fails")]) from error

    return call


def _problem(file: Path, error: BaseException, what: str) -> Problem:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    key = f"{file} (line {line})" if line else str(file)
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return Problem(key, f"{what}: {type(error).__name__}: {said}; correct the file")
