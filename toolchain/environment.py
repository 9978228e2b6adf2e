"""The clone's Python environment, `.venv`: made from requirements.lock, and tied to the engine that serves it.

Owns what stands in `.venv`. A stamp tells for which lock file it was completed, so that a second run has nothing to do
and an interrupted one is taken up again by the next.
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

from toolchain.progress import ProgramError, Reporter, UserError, run

STAMP = "quorate-environment.json"
HOOK = "quorate-engine.sh"
YIELDING = frozenset({"PULUMI_BACKEND_URL"})
"""Settings that a value of the user's own overrides: a team keeps its state where it likes."""

_LEAVE = "    command -v quorate_leave > /dev/null 2>&1 && quorate_leave"
_ENTER = f'. "$VIRTUAL_ENV/{HOOK}"'


def lock_digest(lock: Path) -> str:
    """What an environment is made for: the lock file's content."""
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def locked_version(lock: Path, package: str) -> str:
    """The version that the lock file pins for a package: engine and provider follow their SDK's."""
    found = re.search(rf"^{re.escape(package)}==([^\s\\;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        raise UserError(f"{lock.name} pins no {package}; is the file whole?")
    return found[1]


def is_ready(venv: Path, lock: Path) -> bool:
    """Whether the environment was completed for this very lock file."""
    return _stamp(venv) == _complete(venv, lock) and (venv / "bin" / "python").exists()


def bring(venv: Path, lock: Path, reporter: Reporter) -> None:
    """Makes the environment, or completes the one that is there."""
    if not _is_usable(venv):
        _create(venv, reporter)
    _install(venv, lock, reporter)
    # The stamp comes last: until then the next run starts over, and finds most of the work done.
    (venv / STAMP).write_text(json.dumps(_complete(venv, lock)), encoding="utf-8")


def _complete(venv: Path, lock: Path) -> dict[str, str]:
    """The stamp of a complete environment; it names its place, for a clone that is moved takes along what is not."""
    return {"lock": lock_digest(lock), "place": str(venv)}


def _stamp(venv: Path) -> dict[str, str]:
    try:
        return json.loads((venv / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _is_usable(venv: Path) -> bool:
    """Whether it was made here, and has an interpreter, of an age we can use, with pip."""
    if _stamp(venv).get("place", str(venv)) != str(venv):
        return False
    test = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        run([venv / "bin" / "python", "-c", test])
    except ProgramError:
        return False
    return True


def _create(venv: Path, reporter: Reporter) -> None:
    if find_spec("venv") is None or find_spec("ensurepip") is None:
        raise UserError(
            f"{sys.executable} cannot make an environment: its venv module is packaged apart.\n"
            "Install it (Debian, Ubuntu: apt install python3-venv), or name another Python: make PYTHON=python3.12"
        )
    reporter.begin(f"Making the Python environment in {venv.name}")
    try:
        run([sys.executable, "-m", "venv", "--clear", venv])
    except ProgramError as failure:
        raise UserError(f"The Python environment could not be made:\n{failure.tail()}") from None
    reporter.end()


def _install(venv: Path, lock: Path, reporter: Reporter) -> None:
    packages = len(re.findall(r"^[\w.\[\]-]+==", lock.read_text(encoding="utf-8"), re.MULTILINE))
    reporter.begin(f"Installing {packages} packages of {lock.name}", "1 to 2 minutes, seconds where they are cached")
    seen = 0

    def count(line: str) -> None:
        nonlocal seen
        if line.startswith(("Collecting ", "Requirement already satisfied")):
            seen += 1
            reporter.tick(f"{min(seen, packages)} of {packages} packages looked up")
        elif line.startswith("Installing collected packages"):
            reporter.tick("installing what was fetched")

    try:
        run([*pip_install(venv), "-r", lock], on_line=count)
    except ProgramError as failure:
        raise pip_trouble(failure, f"the packages of {lock.name}") from None
    reporter.end()


def pip_install(venv: Path) -> list[str | Path]:
    """The environment's pip: takes nothing that is not pinned, and is not too patient with an absent network."""
    quiet = ["--disable-pip-version-check", "--no-input", "--retries=2", "--progress-bar=off"]
    return [venv / "bin" / "python", "-m", "pip", "install", "--require-hashes", *quiet]


def pip_trouble(failure: ProgramError, what: str) -> UserError:
    """pip's failure, in a sentence that says what to do."""
    text = "\n".join(failure.output)
    if "DO NOT MATCH THE HASHES" in text:
        return UserError(f"What the package index served for {what} is not what the lock file names:\n{failure.tail()}")
    # pip names the network in warnings and then says only that it found no version at all.
    if failure.is_network or "from versions: none" in text:
        return UserError(
            f"No network: {what} could not be fetched, the package index does not answer.\n"
            "Check the connection, the proxy or pip's own configuration, then run the same command again: "
            "it goes on from what is there."
        )
    return UserError(f"pip could not install {what}:\n{failure.tail()}")


def tie(venv: Path, pulumi: Path, host: Path, settings: Mapping[str, str]) -> None:
    """Makes plain `pulumi` work in the activated environment, as it works below `make`.

    `pulumi` and the language host become commands of the environment; the engine's own variables are set by a file
    that `activate` sources, and taken back by `deactivate`: another project in the same shell keeps its own.
    """
    _link(venv / "bin" / "pulumi", pulumi)
    _link(venv / "bin" / "quorate-language-host", host)
    _write(venv / HOOK, hook(settings))
    activate = venv / "bin" / "activate"
    _write(activate, hooked(activate.read_text(encoding="utf-8")))


def hook(settings: Mapping[str, str]) -> str:
    """The shell file that sets the engine's variables on activation and puts the old ones back on leaving."""
    lines = ["# Written by toolchain/environment.py, sourced by `activate`; a further `make setup` writes it again."]
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
    """`activate` with the hook in it, once, however often this is done."""
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
