"""Downloads the engine as a release of Pulumi: archives whose SHA-256 sums releases.sha256 pins. No script is run.

The file has the format of sha256sum. `python -m toolchain.release_sums` writes it. A release is used only if the file
has the sums of all its archives for this platform.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import signal
import tarfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from typing import NoReturn, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from console.errors import UserError
from console.progress import Reporter

SITE = "https://get.pulumi.com/releases"
"""Pulumi's download site: archives of engines are in its folder sdk/, those of plugins in plugins/."""
SETTING = "QUORATE_RELEASES"
"""Environment variable that names another site with the same folders, for example a mirror in a closed network."""
SUMS = "releases.sha256"
PATIENCE = 10.0
"""Seconds within which the site has to accept a request, and within which it has to send each part of the answer."""
BLOCK = 1 << 20

PLATFORMS = {
    ("linux", "x86_64"): ("linux-x64", "linux-amd64"),
    ("linux", "aarch64"): ("linux-arm64", "linux-arm64"),
    ("darwin", "x86_64"): ("darwin-x64", "darwin-amd64"),
    ("darwin", "arm64"): ("darwin-arm64", "darwin-arm64"),
}
"""System and machine as Python names them, with the names of the platform in archives of engines and of plugins."""


class DownloadError(Exception):
    """An archive could not be downloaded. The message has its address and the cause."""


@dataclass(frozen=True)
class Archive:
    """An archive of a release: its path below the download site, and its SHA-256."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


@dataclass(frozen=True)
class Release:
    """The versions of an engine and of its plugins, by name."""

    engine: str
    plugins: Mapping[str, str]

    def paths(self, system: str, machine: str) -> dict[str, str]:
        """Returns the paths of the archives for a platform: of the engine, `pulumi`, and of the plugins by name.

        Returns {} if Pulumi has no releases for the platform.
        """
        names = PLATFORMS.get((system, machine))
        if not names:
            return {}
        plugins = {
            name: f"plugins/pulumi-resource-{name}-v{version}-{names[1]}.tar.gz"
            for name, version in self.plugins.items()
        }
        return {"pulumi": f"sdk/pulumi-v{self.engine}-{names[0]}.tar.gz", **plugins}

    def paths_here(self) -> dict[str, str]:
        """Returns the paths of the archives for this platform."""
        return self.paths(platform.system().lower(), platform.machine().lower())

    def archives(self, sums: Mapping[str, str]) -> dict[str, Archive]:
        """Returns the archives for this platform, of which `sums` has the checksum by file name."""
        return {
            what: Archive(path, sums[PurePosixPath(path).name])
            for what, path in self.paths_here().items()
            if PurePosixPath(path).name in sums
        }

    def is_complete(self, archives: Mapping[str, Archive]) -> bool:
        return set(archives) == {"pulumi", *self.plugins}


def read_sums(file: Path) -> dict[str, str]:
    """Returns the checksums of a file in the format of sha256sum by file name. Raises UserError for an invalid line."""
    sums: dict[str, str] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        digest, _, name = line.partition(" ")
        name = name.removeprefix(" ").removeprefix("*")  # an asterisk marks a binary file
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef") or not name:
            raise UserError(f"{file}:{number}: expected the 64 digits of a SHA-256, two spaces and the name of a file.")
        sums[name] = digest
    return sums


def site(environment: Mapping[str, str]) -> str:
    """Returns the address of the download site. Raises UserError if QUORATE_RELEASES is not a usable address."""
    chosen = environment.get(SETTING) or SITE
    parts = urlsplit(chosen)
    if "@" in parts.netloc:
        raise UserError(f"{SETTING} contains a user name, which logs would show; write an address without one.")
    if not (parts.scheme in ("https", "http") and parts.netloc) and not (parts.scheme == "file" and parts.path):
        raise UserError(
            f"{SETTING} is {chosen!r}; write the address of a mirror, such as https://mirror.example/pulumi."
        )
    return chosen.rstrip("/")


def fetch(archive: Archive, base: str, folder: Path, reporter: Reporter) -> Path:
    """Downloads an archive into a folder and returns its file.

    Raises DownloadError if it cannot be downloaded whole, and UserError if it has another checksum than the pinned one.
    """
    address = f"{base}/{archive.path}"
    target = folder / archive.name
    digest, received = hashlib.sha256(), 0
    with target.open("wb") as file:
        for block, total in _blocks(address):
            file.write(block)
            digest.update(block)
            received += len(block)
            reporter.tick(f"{received / 1e6:.0f} of {total / 1e6:.0f} MB of {archive.name}")
    if digest.hexdigest() != archive.sha256:
        raise UserError(
            f"{address} is not the file that {SUMS} pins: its SHA-256 is {digest.hexdigest()}, expected "
            f"{archive.sha256}.\nIt may have been tampered with, or a proxy sent its own page. Nothing was installed.\n"
            f"Try another network or a mirror ({SETTING}), or build Pulumi from Go modules: QUORATE_ENGINE=build."
        )
    return target


def require(path: str, base: str) -> None:
    """Raises DownloadError if the site cannot be reached or does not have a file."""
    blocks = _blocks(f"{base}/{path}")
    next(blocks, None)
    blocks.close()


def unpack(file: Path, binaries: Path) -> None:
    """Writes the programs of an engine's archive, which are all in one folder, to the directory `binaries`."""
    binaries.mkdir(parents=True)
    with tarfile.open(file, "r:gz") as archive:
        for member in archive:
            if member.isfile() and (content := archive.extractfile(member)):
                program = binaries / PurePosixPath(member.name).name
                with program.open("wb") as out:
                    shutil.copyfileobj(content, out)
                program.chmod(0o755)


def _blocks(address: str) -> Generator[tuple[bytes, int]]:
    """Yields the parts of a file on the download site, each with the size of the file, 0 if it is unknown."""
    received = 0
    try:
        with _opened(address) as answer:
            total = int(answer.headers.get("Content-Length") or 0)
            while block := answer.read(BLOCK):
                received += len(block)
                yield block, total
    except (OSError, HTTPException, _Expired) as error:
        raise DownloadError(f"{address}: {_cause(error)}") from None
    if received < total:
        raise DownloadError(f"{address}: the connection ended after {received} of {total} bytes")


def _cause(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"HTTP {error.code} {error.reason}"
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, (TimeoutError, _Expired)):
        return f"no answer within {PATIENCE:.0f} s"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__


class _Expired(Exception):
    """The site did not accept a request in time. No OSError: the socket module would try the site's next address."""


@contextmanager
def _opened(address: str) -> Generator[HTTPResponse]:
    """Yields the answer to a request. Raises _Expired if it does not begin in time, whatever it waits for.

    The timeout of a socket alone would count anew for each address of the site.
    """

    def expire(*_: object) -> NoReturn:
        raise _Expired

    previous = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        answer = cast("HTTPResponse", urlopen(address, timeout=PATIENCE))  # noqa: S310 - site() checks the scheme
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    with answer:
        yield answer
