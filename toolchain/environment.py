"""Installs the clone's Python environment, `.venv`, from requirements.lock, and connects it to the engine.

A stamp file in `.venv` has the digest of the installed lock file, so that a second run has nothing to do. An
interrupted run leaves no stamp, and the next run continues.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from console.errors import UserError
from console.programs import ProgramError, run
from console.progress import Reporter

STAMP = "quorate-environment.json"
HOOK = "quorate-engine.sh"
PLUGINS = ("command_provider",)
"""Programs of the clone that the engine starts by name, such as `quorate-command-provider`."""
BESIDE_PULUMI = ("pulumi-language-python", "pulumi-resource-pulumi-python")
"""Programs of an engine that it starts by name, and takes from PATH before its own directory."""
YIELDING = frozenset({"PULUMI_BACKEND_URL"})
"""Names of variables that `activate` sets only if the user has not set them: a team may choose its own state
backend."""

_LEAVE = "    command -v quorate_leave > /dev/null 2>&1 && quorate_leave"
_ENTER = f'. "$VIRTUAL_ENV/{HOOK}"'


def lock_digest(lock: Path) -> str:
    """Returns the SHA-256 digest of the lock file."""
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def locked_version(lock: Path, package: str) -> str:
    """Returns the version that the lock file pins for a package, such as pulumi.

    Providers have the versions of their SDKs. The engine may be newer than its SDK (go_build.Sources.pulumi).
    """
    found = re.search(rf"^{re.escape(package)}==([^\s\\;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        raise UserError(f"{lock.name} does not pin {package}; restore the file from git.")
    return found[1]


def is_ready(venv: Path, lock: Path) -> bool:
    """Whether the environment was installed from this lock file, and its command `quorate` is up to date."""
    return has_packages(venv, lock) and _has_launcher(venv, lock.parent)


def ensure(venv: Path, lock: Path, reporter: Reporter) -> None:
    """Creates the clone's environment, with the packages of the lock file and `quorate`, or completes it."""
    ensure_packages(venv, lock, reporter)
    write_launcher(venv, lock.parent)


def has_packages(venv: Path, lock: Path) -> bool:
    """Whether the packages of an environment were installed from this lock file."""
    return _stamp(venv) == _complete(venv, lock) and (venv / "bin" / "python").exists()


def ensure_packages(venv: Path, lock: Path, reporter: Reporter) -> None:
    """Creates a Python environment with the packages of the lock file, or completes an existing one."""
    if not _is_usable(venv):
        _create(venv, reporter)
    _install(venv, lock, reporter)
    # Written last: without the stamp, the next run repeats all steps, most of which are then quick.
    (venv / STAMP).write_text(json.dumps(_complete(venv, lock)), encoding="utf-8")


def _complete(venv: Path, lock: Path) -> dict[str, str]:
    """Returns the stamp of a complete environment: the lock file's digest, and the path, because it cannot be moved."""
    return {"lock": lock_digest(lock), "place": str(venv)}


def _has_launcher(venv: Path, root: Path) -> bool:
    """Whether the command `quorate` is installed in the environment, with the text that this version writes."""
    try:
        return (venv / "bin" / "quorate").read_text(encoding="utf-8") == launcher(venv, root)
    except OSError:
        return False


def _stamp(venv: Path) -> dict[str, str]:
    try:
        return json.loads((venv / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _is_usable(venv: Path) -> bool:
    """Whether the environment was created at this path, and has pip and Python 3.11 or newer."""
    if _stamp(venv).get("place", str(venv)) != str(venv):
        return False
    test = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        run([venv / "bin" / "python", "-c", test])
    except ProgramError:
        return False
    return True


def _create(venv: Path, reporter: Reporter) -> None:
    if venv.is_symlink():  # what follows would empty the environment that it leads to
        raise UserError(f"{venv.name} is a link to {venv.resolve()}. Remove the link: a clone has its own environment.")
    if find_spec("venv") is None or find_spec("ensurepip") is None:
        raise UserError(
            f"{sys.executable} cannot create an environment: its venv module is in a separate package.\n"
            "Install it (Debian, Ubuntu: apt install python3-venv), or name another Python: make PYTHON=python3.12"
        )
    reporter.begin(f"Creating the Python environment in {venv.name}")
    try:
        run([sys.executable, "-m", "venv", "--clear", venv])
    except ProgramError as failure:
        raise UserError(f"The Python environment could not be created:\n{failure.tail()}") from None
    reporter.end()


def _install(venv: Path, lock: Path, reporter: Reporter) -> None:
    packages = len(re.findall(r"^[\w.\[\]-]+==", lock.read_text(encoding="utf-8"), re.MULTILINE))
    reporter.begin(f"Installing {packages} packages of {lock.name}", "1 to 2 minutes, seconds if they are cached")
    seen = 0

    def count(line: str) -> None:
        nonlocal seen
        if line.startswith(("Collecting ", "Requirement already satisfied")):
            seen += 1
            reporter.tick(f"{min(seen, packages)} of {packages} packages looked up")
        elif line.startswith("Installing collected packages"):
            reporter.tick("installing the downloaded packages")

    try:
        run([*pip_install(venv), "-r", lock], on_line=count)
    except ProgramError as failure:
        raise pip_error(failure, f"the packages of {lock.name}") from None
    reporter.end()


def pip_install(venv: Path) -> list[str | Path]:
    """Returns the words of the environment's command `pip install`, which requires hashes and retries only twice."""
    quiet = ["--disable-pip-version-check", "--no-input", "--retries=2", "--progress-bar=off"]
    return [venv / "bin" / "python", "-m", "pip", "install", "--require-hashes", *quiet]


def pip_error(failure: ProgramError, what: str) -> UserError:
    """Returns an error that explains a failure of pip and how to fix it."""
    text = "\n".join(failure.output)
    if "DO NOT MATCH THE HASHES" in text:
        return UserError(f"Downloads for {what} do not match the hashes of the lock file:\n{failure.tail()}")
    # pip reports a network failure only in warnings; its error message says that it found no version.
    if failure.is_network or "from versions: none" in text:
        return UserError(
            f"No network: {what} could not be downloaded, because the package index does not answer.\n"
            "Check the connection, the proxy or pip's configuration, then run the same command again to continue."
        )
    return UserError(f"pip could not install {what}:\n{failure.tail()}")


def write_launcher(venv: Path, root: Path) -> None:
    """Installs the command `quorate` in the environment.

    It contains the clone's path, so it works in every directory.
    """
    command = venv / "bin" / "quorate"
    _write(command, launcher(venv, root))
    command.chmod(0o755)


def launcher(venv: Path, root: Path) -> str:
    """Returns the text of the command `quorate`, a shell script."""
    program = f"import sys; sys.path[0] = {str(root)!r}; from commands.command_line import main; sys.exit(main())"
    python = shlex.quote(str(venv / "bin" / "python"))
    return f'#!/bin/sh\nexec {python} -c {shlex.quote(program)} "$@"\n'


def connect(venv: Path, pulumi: Path, plugins: Path, settings: Mapping[str, str]) -> None:
    """Makes plain `pulumi` work in the activated environment as it does under `make`.

    Links `pulumi`, the programs beside it and the plugins of the directory `plugins` into the environment, so that the
    engine does not start those of another Pulumi on PATH. `activate` then sources a file that sets the engine's
    variables, and `deactivate` restores the previous values.
    """
    _link(venv / "bin" / "pulumi", pulumi)
    for name in BESIDE_PULUMI:
        (venv / "bin" / name).unlink(missing_ok=True)  # that of an earlier engine
        for place in (pulumi.resolve().parent, pulumi.parent):
            if (place / name).exists():
                _link(venv / "bin" / name, place / name)
    for name in PLUGINS:
        _link(_command(venv, name), plugins / f"{name}.py")
    _write(venv / HOOK, hook(settings))
    activate = venv / "bin" / "activate"
    _write(activate, hooked(activate.read_text(encoding="utf-8")))


def _command(venv: Path, plugin: str) -> Path:
    """Returns the path of the command by which the engine starts a program of the clone."""
    return venv / "bin" / f"quorate-{plugin.replace('_', '-')}"


def is_connected(venv: Path, settings: Mapping[str, str]) -> bool:
    """Whether the environment has the programs that the engine starts, and `activate` sets those variables."""
    try:
        return (venv / HOOK).read_text(encoding="utf-8") == hook(settings) and all(
            _command(venv, name).is_symlink() for name in PLUGINS
        )
    except OSError:
        return False


def hook(settings: Mapping[str, str]) -> str:
    """Returns shell code that sets the engine's variables on activation and restores them on deactivation."""
    lines = ["# Written by toolchain/environment.py, sourced by `activate`; `make setup` overwrites it."]
    leave: list[str] = []
    for name, value in settings.items():
        chosen = f'[ -n "${{{name}-}}" ] || ' if name in YIELDING else ""
        lines += [f'_QUORATE_OLD_{name}="${{{name}-}}"', f"{chosen}export {name}={shlex.quote(value)}"]
        leave += [
            f'    if [ -n "$_QUORATE_OLD_{name}" ]; then export {name}="$_QUORATE_OLD_{name}"; else unset {name}; fi',
            f"    unset _QUORATE_OLD_{name}",
        ]
    return "\n".join([*lines, "quorate_leave() {", *leave, "    unset -f quorate_leave", "}", ""])


def hooked(activate: str) -> str:
    """Returns the text of the script `activate`, changed so that it sources the hook exactly once."""
    lines = [line for line in activate.rstrip("\n").split("\n") if line not in (_LEAVE, _ENTER)]
    for number, line in enumerate(lines):
        if re.match(r"deactivate\s*\(\)\s*\{", line):
            lines.insert(number + 1, _LEAVE)
            break
    return "\n".join([*lines, _ENTER, ""])


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    fresh = link.with_name(f".{link.name}.fresh")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    fresh = path.with_name(f".{path.name}.fresh")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
