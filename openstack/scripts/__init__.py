"""Programs that run in containers of the cloud. ConfigMaps contain their text.

They use only the standard library, except for migration.py, which runs in images with PyMySQL, and ovn_workers.py, a
module of Neutron's server.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def text(name: str) -> str:
    """Returns the text of the program with a file name in this folder."""
    return (_HERE / name).read_text(encoding="utf-8")


def modules(package: str) -> dict[str, str]:
    """Returns the texts of the modules of a package in this folder, by file name."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((_HERE / package).glob("*.py"))}
