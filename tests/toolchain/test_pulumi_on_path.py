"""The set-up with a Pulumi of the user's own on PATH that does not suit: it says why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from console.errors import UserError
from tests.fakes import LOCKED_PULUMI, PIP_WORKS, PULUMI, Clone, locked, make_clone, script
from tests.toolchain.download_site import serving
from toolchain.engine import MANIFEST, Engine, Source, installed
from toolchain.engine_sources import PLUGINS
from toolchain.release import SUMS, Release

NEEDED = f"{LOCKED_PULUMI} or a newer 3.x"
OTHERWISE = "or unset QUORATE_ENGINE, and the set-up installs a Pulumi for this project."
VERSIONS = {name: locked(f"pulumi-{name}") for name in PLUGINS}
PATHS = Release("", VERSIONS).paths_here()


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    clone = make_clone(tmp_path)
    clone.python(PIP_WORKS)
    return clone


@dataclass(frozen=True)
class Unsuitable:
    """A Pulumi on PATH: its program, whether it has the Python host, and what the set-up says of it."""

    pulumi: str | None
    reason: str
    remedy: str
    has_host: bool = True
    progress: str = ""
    """What the set-up says before."""

    def put(self, clone: Clone) -> None:
        if self.pulumi is not None:
            script(clone.path, "pulumi", self.pulumi)
        if self.has_host:
            script(clone.path, "pulumi-language-python", "")


CASES = {
    "too old": Unsuitable(
        PULUMI.replace(LOCKED_PULUMI, "3.100.0"),
        f"The Pulumi on PATH is 3.100.0; this project needs {NEEDED}.",
        f"Install such a version, {OTHERWISE}",
    ),
    "of the next major version": Unsuitable(
        PULUMI.replace(LOCKED_PULUMI, "4.0.0"),
        f"The Pulumi on PATH is 4.0.0; this project needs {NEEDED}.",
        f"Install such a version, {OTHERWISE}",
    ),
    "without a Python host": Unsuitable(
        PULUMI,
        "The Pulumi on PATH has no Python language host (pulumi-language-python).",
        f"Install Pulumi's complete release, which has it, {OTHERWISE}",
        has_host=False,
    ),
    **{
        f"without the plugin {name}": Unsuitable(
            PULUMI.replace(name, "another"),
            f"The Pulumi on PATH has no plugin {name} {VERSIONS[name]}, which could not be downloaded "
            f"(https://get.pulumi.com/releases/{path}: Connection refused).",
            "Get the archive by other means and run `pulumi plugin install resource "
            f"{name} {VERSIONS[name]} --file …`, name a mirror (QUORATE_RELEASES), {OTHERWISE}",
            progress=f"Installing the plugin {name} {VERSIONS[name]} for the Pulumi on PATH …",
        )
        for name, path in PATHS.items()
        if name in VERSIONS
    },
    "broken": Unsuitable(
        "echo 'cannot execute: required file not found' >&2; exit 127",
        "The Pulumi on PATH does not work: `{path}/pulumi version` cannot execute: required file not found.",
        f"Install Pulumi {NEEDED} again, {OTHERWISE}",
    ),
    "silent": Unsuitable(
        "exit 0",
        "The Pulumi on PATH does not work: `{path}/pulumi version` prints nothing.",
        f"Install Pulumi {NEEDED} again, {OTHERWISE}",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_pulumi_that_was_asked_for_and_does_not_suit_is_an_error(clone: Clone, case: Unsuitable) -> None:
    clone.pulumi()
    assert clone.set_up()[0] == 0
    manifest = clone.root / ".venv" / MANIFEST
    before = manifest.read_bytes()
    (clone.path / "pulumi-language-python").unlink()
    case.put(clone)
    manifest.write_bytes(before.replace(b'"recipe": "', b'"recipe": "of an earlier version '))  # so it looks again
    changed = manifest.read_bytes()
    code, output = clone.set_up(QUORATE_ENGINE="path")
    assert code == 1
    said = [case.progress, case.reason.format(path=clone.path), case.remedy]
    assert output.splitlines() == [line for line in said if line]
    assert manifest.read_bytes() == changed
    assert not list((clone.cache / "quorate").glob("engine-*"))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_pulumi_that_does_not_suit_is_passed_over(clone: Clone, case: Unsuitable) -> None:
    case.put(clone)
    code, output = clone.set_up()
    assert code == 1  # there is no Go here to build one
    assert output.count(case.reason.format(path=clone.path)) == 1
    assert case.remedy not in output
    assert "No compiler" in output


def test_no_pulumi_on_path(clone: Clone) -> None:
    code, output = clone.set_up(QUORATE_ENGINE="path")
    assert code == 1
    assert output.splitlines()[-2:] == ["There is no Pulumi on PATH.", f"Install Pulumi {NEEDED}, {OTHERWISE}"]
    assert "There is no Pulumi on PATH." not in clone.set_up()[1]


def test_a_pulumi_behind_one_of_the_cache_is_found(clone: Clone, tmp_path: Path) -> None:
    """As in the activated environment of another clone, whose Pulumi comes first."""
    kept = script(clone.cache / "quorate" / "engine-0" / "bin", "pulumi", PULUMI)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "pulumi").symlink_to(kept)
    clone.pulumi()
    code, output = clone.set_up(PATH=f"{tmp_path / 'first'}:{clone.path}")
    assert code == 0, output
    assert (clone.root / ".venv" / "bin" / "pulumi").readlink() == clone.path / "pulumi"


def without_plugins(clone: Clone, installs: str = "") -> None:
    """Puts a Pulumi without plugins on PATH; `installs` is the shell code of its command `plugin install`."""
    program = PULUMI.replace("  resource  ", "  converter  ")
    script(clone.path, "pulumi", f'{program}\n[ "$2" != install ] || {{ {installs or ":"}; }}')
    script(clone.path, "pulumi-language-python", "")


@pytest.mark.skipif(not PATHS, reason="Pulumi has no releases for this platform")
@pytest.mark.parametrize("is_pinned", [True, False])
def test_missing_plugins_are_installed(clone: Clone, *, is_pinned: bool) -> None:
    """From an archive that is verified or, without a checksum, by Pulumi's own download."""
    without_plugins(clone)
    with serving() as site:
        site.files = {PATHS[name]: name.encode() for name in VERSIONS}
        if is_pinned:
            site.pin(clone.root)
        else:
            (clone.root / "toolchain" / "engine" / SUMS).write_text("", encoding="utf-8")
        code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 0, output
    installs = [line.split() for line in asked(clone) if "install" in line]
    assert [words[:5] for words in installs] == [
        ["plugin", "install", "resource", name, version] for name, version in VERSIONS.items()
    ]
    assert all((words[5:6] == ["--file"]) is is_pinned for words in installs)


@pytest.mark.skipif(not PATHS, reason="Pulumi has no releases for this platform")
def test_a_plugin_with_another_checksum_is_refused(clone: Clone) -> None:
    without_plugins(clone)
    with serving() as site:
        site.files = {PATHS[name]: name.encode() for name in VERSIONS}
        site.pin(clone.root)
        site.files[PATHS["kubernetes"]] = b"another"
        code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 1
    assert "may have been tampered with" in output
    assert not any("install" in line for line in asked(clone))


def test_pulumi_s_own_mirrors_of_plugins_are_respected(clone: Clone) -> None:
    without_plugins(clone)
    code, output = clone.set_up(PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES=".*=https://mirror.example")
    assert code == 0, output
    assert sum("plugin install" in line for line in asked(clone)) == len(VERSIONS)


def test_a_plugin_that_pulumi_does_not_install(clone: Clone) -> None:
    without_plugins(clone, "echo 'error: mkdir /third: read-only file system.' >&2; exit 1")
    settings = {"QUORATE_ENGINE": "path", "PULUMI_HOME": "/third", "PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES": ".*=file:"}
    code, output = clone.set_up(**settings)
    assert code == 1
    assert output.splitlines()[-2:] == [
        "The Pulumi on PATH cannot install its plugin kubernetes 4.25.0 in PULUMI_HOME (/third): "
        "mkdir /third: read-only file system.",
        f"Set PULUMI_HOME to a directory that you can write, {OTHERWISE}",
    ]


def test_another_pulumi_home_is_checked_again(clone: Clone) -> None:
    """The plugins are in the directory that was set before."""
    clone.pulumi()
    assert clone.set_up()[0] == 0
    code, output = clone.set_up(PULUMI_HOME="/elsewhere")
    assert code == 0, output
    assert "Using the Pulumi" in output
    assert [line for line in asked(clone) if line.startswith("/elsewhere plugin ls")]
    assert clone.set_up(PULUMI_HOME="/elsewhere") == (0, "")


def asked(clone: Clone) -> list[str]:
    """Returns what the Pulumi on PATH was asked about plugins, each with PULUMI_HOME before it."""
    return [line.strip() for line in (clone.path / "asked").read_text(encoding="utf-8").splitlines()]


def test_a_command_with_another_pulumi_home_is_refused(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clone.pulumi()
    clone.set_up(PULUMI_HOME="/of/the/set-up")
    monkeypatch.setenv("PULUMI_HOME", "/of/the/set-up")
    assert installed(clone.root).source == "path"
    monkeypatch.setenv("PULUMI_HOME", "/other")
    with pytest.raises(UserError) as refusal:
        installed(clone.root)
    assert str(refusal.value) == (
        "PULUMI_HOME is /other; it was /of/the/set-up when `make setup` installed the plugins of the Pulumi on PATH. "
        "Set it back, or run `make setup`."
    )
    monkeypatch.delenv("PULUMI_HOME")
    with pytest.raises(UserError, match=r"^PULUMI_HOME is not set; it was /of/the/set-up when"):
        installed(clone.root)


@pytest.mark.parametrize("source", ["download", "build"])
def test_an_engine_of_the_cache_has_its_own_pulumi_home(source: Source) -> None:
    engine = Engine(source, "3.276.0", "/cache/bin", "/cache/home")
    assert not engine.is_elsewhere({"PULUMI_HOME": "/other"})
    assert engine.settings()["PULUMI_HOME"] == "/cache/home"
    assert engine.settings()["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "true"


def test_the_pulumi_on_path_downloads_its_own_plugins() -> None:
    settings = Engine("path", "3.276.0", "/usr/bin", None).settings()
    assert settings == {"PULUMI_SKIP_UPDATE_CHECK": "true"}
