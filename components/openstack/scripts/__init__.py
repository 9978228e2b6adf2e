"""Programs that run inside of containers. They use the standard library only, and their text travels in a ConfigMap."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def text(name: str) -> str:
    """Returns the text of a program in this folder."""
    return (_HERE / name).read_text(encoding="utf-8")


def modules(package: str) -> dict[str, str]:
    """Returns the texts of a package's modules, by file name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((_HERE / package).glob("*.py"))}
