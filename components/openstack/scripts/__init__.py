"""Programs that run inside of containers. They use the standard library only, and their text travels in a ConfigMap."""

from pathlib import Path


def text(name: str) -> str:
    """Returns the text of a program in this folder."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
