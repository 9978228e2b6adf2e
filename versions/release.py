"""Writes what a release publishes: `python -m versions.release v0.7.0 PAGES DIRECTORY`.

The release workflow runs it for a tag. The tag must be the version of the package, and the newest entry of the
changelog must be of that version and have a day. `DIRECTORY` then has the entry as notes.md, and the policy pack as an
archive that needs no other file of the repository. `PAGES` is the address at which files of the tag are shown.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTES = "notes.md"
POLICY_PACKAGES = ("blueprint", "files", "formats", "policy", "text")
"""Packages that the policy pack imports, itself included."""
POLICY_FILES = ("LICENSE", "contract.py", "requirements.lock")
_ENTRY = re.compile(r"^## (?P<version>\S+) \((?P<day>[^)]+)\)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()(?!#|[a-z]+:)([^)\s]+\))")


class ReleaseError(Exception):
    """A reason why the tag cannot be released, with what to do about it."""


def notes(tag: str, version: str, changelog: str, pages: str) -> str:
    """Returns the notes of a release: the newest entry of the changelog, with absolute links.

    Raises ReleaseError if the tag, the version and the entry do not agree, or the entry has no day yet.
    """
    if tag != f"v{version}":
        raise ReleaseError(f"The tag is {tag}, and pyproject.toml has version {version}: tag a commit of that version.")
    entry = _ENTRY.search(changelog)
    if not entry or entry["version"] != version:
        newest = entry["version"] if entry else "none"
        raise ReleaseError(f"The newest entry of CHANGELOG.md is {newest}: write one for {version} above it.")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", entry["day"]):
        raise ReleaseError(f"The entry {version} of CHANGELOG.md says ({entry['day']}): write the day of the release.")
    return _LINK.sub(rf"\g<1>{pages.rstrip('/')}/\g<2>", entry["text"].strip()) + "\n" + _use(version)


def _use(version: str) -> str:
    """Returns how the archive is used."""
    name = archive_name(version).removesuffix(".tar.gz")
    return f"""
### The policy pack alone
```sh
tar -xzf {archive_name(version)}
pip install --require-hashes -r {name}/requirements.lock
pulumi preview --policy-pack {name}/policy
```
"""


def archive_name(version: str) -> str:
    """Returns the file name of the policy pack's archive."""
    return f"quorate-policy-{version}.tar.gz"


def archive(root: Path, version: str) -> bytes:
    """Returns the policy pack of the present commit: the same bytes for the same commit."""
    prefix = archive_name(version).removesuffix(".tar.gz")
    command = ["git", "archive", "--format=tar", f"--prefix={prefix}/", "HEAD", *POLICY_PACKAGES, *POLICY_FILES]
    made = subprocess.run(command, cwd=root, check=True, capture_output=True)
    return gzip.compress(made.stdout, mtime=0)


def main(arguments: Sequence[str]) -> int:
    """Writes the files of a release. Returns 0, 1 if the tag cannot be released, 2 if the arguments are wrong."""
    if len(arguments) != 3:
        sys.stderr.write("Usage: python -m versions.release TAG PAGES DIRECTORY\n")
        return 2
    tag, pages, directory = arguments[0], arguments[1], Path(arguments[2])
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    try:
        text = notes(tag, version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), pages)
    except ReleaseError as reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    directory.mkdir(parents=True, exist_ok=True)
    (directory / NOTES).write_text(text, encoding="utf-8")
    (directory / archive_name(version)).write_bytes(archive(ROOT, version))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
