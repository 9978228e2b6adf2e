"""The Pulumi program of a stack, without the cloud's objects: emulated nodes are too slow for their pods."""

import runpy
from pathlib import Path
from typing import Any

from components.cloud import Cloud


def _nothing(*_: Any) -> None:
    """Replaces the part of the program that registers the objects."""


setattr(Cloud, "_environment", _nothing)  # noqa: B010 - it is private
runpy.run_path(str(Path(__file__).resolve().with_name("program.py")), run_name="__main__")
