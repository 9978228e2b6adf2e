"""Checks the folder with the records of a stack's own projects: that it is there, and which files it contains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from blueprint.problems import Problem

KEY = "quorate:projects"
_FORM = "the path of a folder with records of projects (docs/records.md)"
_ENDINGS = (".yaml", ".yml", ".py")


def unusable(folder: Path, project: Path) -> list[Problem]:
    """Returns the reasons why the files of a folder are not read; [] if they are.

    `project`: the directory outside of which no file may be.
    """
    if not folder.exists():
        return [Problem(KEY, f"{folder} does not exist; write {_FORM}")]
    if not folder.is_dir():
        return [Problem(KEY, f"{folder} is not a folder; write {_FORM}")]
    try:
        files = list(_files(folder))
    except OSError as error:
        return [Problem(KEY, f"{folder} cannot be read: {error.strerror}; write {_FORM}")]
    if not files:
        return [Problem(KEY, f"{folder} contains no record; write a <project>.yaml in it (docs/records.md)")]
    advice = "is a symbolic link out of the project; put the file itself here"
    return [Problem(str(path), advice) for path in files if not _is_inside(path, project)]


def left_over(folder: Path) -> Iterator[Problem]:
    """Yields a problem for each file of a folder that belongs to no record."""
    for path in _files(folder):
        if path.suffix == ".yml":
            yield Problem(str(path), f"is not read; name it {path.stem}.yaml")
        elif path.suffix == ".py" and not path.with_suffix(".yaml").exists():
            yield Problem(str(path), f"belongs to no record; write {path.stem}.yaml beside it, or remove it")


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.iterdir() if path.suffix in _ENDINGS)


def _is_inside(path: Path, project: Path) -> bool:
    try:
        return path.resolve().is_relative_to(project.resolve())
    except (OSError, RuntimeError):  # a loop of symbolic links: reading the file reports it
        return True
