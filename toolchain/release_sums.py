"""Writes the checksums of the releases that `make setup` may download: `python -m toolchain.release_sums SOURCE…`.

A source is a directory of archives, as Pulumi's download site has them, or a checksum file that Pulumi publishes with a
release, such as pulumi-3.276.0-checksums.txt and pulumi-kubernetes_4.25.0_checksums.txt. Nothing is downloaded here:
get the files over a connection that you trust. Archives of other versions than this clone pins are ignored.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from console.errors import UserError
from console.exit_codes import exit_code
from console.progress import Reporter
from toolchain.engine_sources import Wanted
from toolchain.environment import locked_version
from toolchain.install import wanted
from toolchain.release import PLATFORMS, read_sums


def names(pinned: Wanted) -> set[str]:
    """Returns the file names of the archives that the clone may download, of all platforms, with libvirt's plugin."""
    release = pinned.release
    release = replace(release, plugins={**release.plugins, "libvirt": locked_version(pinned.lock, "pulumi-libvirt")})
    return {PurePosixPath(path).name for platform in PLATFORMS for path in release.paths(*platform).values()}


def found_in(source: Path) -> dict[str, str]:
    """Returns the checksums of a directory's archives, or those of a checksum file, by file name."""
    if source.is_file():
        return read_sums(source)
    if not source.is_dir():
        raise UserError(f"{source} does not exist; name a directory of archives or a checksum file.")
    sums: dict[str, str] = {}
    for archive in source.glob("**/*.tar.gz"):
        with archive.open("rb") as content:
            sums[archive.name] = hashlib.file_digest(content, "sha256").hexdigest()
    return sums


def write(file: Path, wants: set[str], sources: Iterable[Mapping[str, str]]) -> list[str]:
    """Adds checksums to a file, and removes those of other archives than `wants`. Returns the archives without one.

    Raises UserError if a source has another checksum than the file: a published archive does not change.
    """
    sums = {name: digest for name, digest in read_sums(file).items() if name in wants}
    for source in sources:
        for name, digest in source.items():
            if name in wants and sums.setdefault(name, digest) != digest:
                raise UserError(
                    f"{name}: a source has the SHA-256 {digest}, another or {file.name} has {sums[name]}. Nothing was "
                    f"changed. A published archive does not change: find out which is right, and remove the other."
                )
    comments = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    lines = [f"{digest}  {name}" for name, digest in sorted(sums.items())]
    file.write_text("\n".join([*comments, *lines, ""]), encoding="utf-8")
    return sorted(wants - sums.keys())


def main() -> int:
    """Runs the command. Returns 0, or 1 after an error."""
    parser = argparse.ArgumentParser(prog="python -m toolchain.release_sums", description=__doc__)
    parser.add_argument("source", nargs="+", type=Path, help="a directory of archives, or a checksum file")
    given: list[Path] = parser.parse_args().source
    reporter = Reporter()

    def work() -> None:
        pinned = wanted()
        missing = write(pinned.sums, names(pinned), [found_in(source) for source in given])
        reporter.say(f"{pinned.sums.name} is written." + "".join(f"\n  no checksum of {name}" for name in missing))

    return exit_code(work, reporter)


if __name__ == "__main__":
    raise SystemExit(main())
