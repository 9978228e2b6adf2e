"""The set-up with a local web server in place of Pulumi's download site: what it takes from there, and what it refuses.

The archives have shell scripts in place of the programs. The last test has those of the engine that this clone runs.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from tests.fakes import BUILT_PULUMI, PIP_WORKS, ROOT, Clone, locked, make_clone, script
from tests.toolchain.download_site import Site, archive, serving
from toolchain import release
from toolchain.engine import MANIFEST, Engine
from toolchain.engine_sources import PLUGINS
from toolchain.release import Archive, DownloadError, Release

RELEASE = Release(BUILT_PULUMI, {name: locked(f"pulumi-{name}") for name in PLUGINS})
PATHS = RELEASE.paths(platform.system().lower(), platform.machine().lower())
PULUMI = f"""\
#!/bin/sh
[ "$*" = version ] && echo v{BUILT_PULUMI}
[ "$1" = plugin ] && mkdir -p "$PULUMI_HOME/plugins/resource-$4-v$5" &&
    printf '#!/bin/sh\\n# %s\\n' "$7" > "$PULUMI_HOME/plugins/resource-$4-v$5/pulumi-resource-$4"
exit 0
"""
PROGRAMS = ("pulumi-language-python", "pulumi-language-python-exec", "pulumi-resource-pulumi-python")

pytestmark = pytest.mark.skipif(not PATHS, reason="Pulumi has no releases for this platform")


@pytest.fixture
def site() -> Generator[Site]:
    """A site with a release: an engine, its language host and its plugins."""
    with serving() as site:
        programs = {f"pulumi/{name}": b"#!/bin/sh\n" for name in PROGRAMS}
        site.files = {path: archive({f"pulumi-resource-{name}": b"plugin"}) for name, path in PATHS.items()}
        site.files[PATHS["pulumi"]] = archive({"pulumi/pulumi": PULUMI.encode(), **programs})
        yield site


@pytest.fixture
def clone(tmp_path: Path, site: Site) -> Clone:
    clone = make_clone(tmp_path)
    clone.python(PIP_WORKS)
    for name in ("mkdir", "printf"):
        script(clone.path, name, f'exec {shutil.which(name, path="/usr/bin:/bin")} "$@"')
    site.pin(clone.root)
    return clone


def releases(clone: Clone) -> list[Path]:
    return list((clone.cache / "quorate").glob("release-*"))


def test_a_release_is_downloaded_verified_and_kept_for_all_clones(clone: Clone, site: Site, tmp_path: Path) -> None:
    code, output = clone.set_up(QUORATE_RELEASES=f"{site.address}/")
    assert code == 0, output
    assert f"Downloading Pulumi {BUILT_PULUMI} from {site.address} …" in output
    assert "Building" not in output
    (kept,) = releases(clone)
    assert {path.name for path in (kept / "bin").iterdir()} == {"pulumi", *PROGRAMS}
    assert sorted(path.name for path in (kept / "home" / "plugins").iterdir()) == [
        f"resource-command-v{locked('pulumi-command')}",
        f"resource-kubernetes-v{locked('pulumi-kubernetes')}",
    ]
    assert sorted(path.name for path in kept.iterdir()) == ["bin", "checksums.json", "home"]  # no archives
    assert sorted(site.asked) == sorted(PATHS.values())
    engine = Engine.load(clone.root / ".venv" / MANIFEST)
    assert engine
    assert (engine.source, engine.version, engine.home) == ("download", BUILT_PULUMI, str(kept / "home"))
    pulumi = clone.root / ".venv" / "bin" / "pulumi"
    assert subprocess.run([pulumi, "version"], capture_output=True, check=True).stdout == f"v{BUILT_PULUMI}\n".encode()
    assert clone.set_up() == (0, "")

    other = Clone(make_clone(tmp_path / "other").root, clone.path, clone.cache)
    other.python(PIP_WORKS)
    site.pin(other.root)
    code, output = other.set_up(QUORATE_RELEASES=site.address)
    assert code == 0, output
    assert "Downloading" not in output
    assert len(site.asked) == len(PATHS)


def test_the_official_plugin_for_commands_is_not_replaced(clone: Clone, site: Site) -> None:
    assert clone.set_up(QUORATE_RELEASES=site.address)[0] == 0
    (kept,) = releases(clone)
    (plugin,) = (kept / "home" / "plugins").glob("resource-command-v*/pulumi-resource-command")
    assert Path(PATHS["command"]).name in plugin.read_text(encoding="utf-8")  # made from the downloaded archive


def test_a_damaged_release_is_downloaded_again(clone: Clone, site: Site) -> None:
    clone.set_up(QUORATE_RELEASES=site.address)
    (plugin,) = releases(clone)[0].glob("home/plugins/resource-command-v*/pulumi-resource-command")
    good = plugin.read_bytes()
    plugin.write_bytes(b"#!/bin/sh\ntouch pwned\n")
    code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 0, output
    assert "is damaged" in output
    assert ": downloading it again." in output
    assert plugin.read_bytes() == good


@pytest.mark.parametrize("what", PATHS)
def test_a_file_with_another_checksum_is_refused_and_nothing_is_kept(clone: Clone, site: Site, what: str) -> None:
    """Not built instead: somebody may be in the connection, and the user should know."""
    site.files[PATHS[what]] = archive({"pulumi/pulumi": b"#!/bin/sh\ntouch pwned\n"})
    code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 1
    found = hashlib.sha256(site.files[PATHS[what]]).hexdigest()
    assert f"{site.address}/{PATHS[what]} is not the file that releases.sha256 pins: its SHA-256 is {found}" in output
    assert "may have been tampered with" in output
    assert "QUORATE_ENGINE=build" in output
    assert "Traceback" not in output
    assert releases(clone) == []
    assert clone.leftovers == []
    assert not (clone.root / ".venv" / MANIFEST).exists()


def test_a_truncated_file_on_a_mirror_is_refused(clone: Clone, site: Site) -> None:
    site.files[PATHS["pulumi"]] = site.files[PATHS["pulumi"]][:-10]
    code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 1
    assert "is not the file that releases.sha256 pins" in output


def unavailable(clone: Clone, cause: str, **settings: str) -> None:
    """Runs the set-up, which says why it downloads nothing and goes on to the build, for which there is no Go."""
    code, output = clone.set_up(**settings)
    assert code == 1, output
    reason = f"Pulumi {BUILT_PULUMI} could not be downloaded ({cause})."
    assert reason in output.splitlines()
    assert "No compiler" in output
    code, output = clone.set_up(QUORATE_ENGINE="download", **settings)
    assert code == 1
    assert output.splitlines()[-2] == reason
    assert "Check the connection and the proxy, name a mirror (QUORATE_RELEASES)" in output
    assert "No compiler" not in output
    assert clone.leftovers == []


@pytest.mark.parametrize(("status", "cause"), [(404, "HTTP 404 Not Found"), (403, "HTTP 403 Forbidden")])
def test_a_release_that_the_site_does_not_have_is_built(clone: Clone, site: Site, status: int, cause: str) -> None:
    site.refused[PATHS["kubernetes"]] = status
    unavailable(clone, f"{site.address}/{PATHS['kubernetes']}: {cause}", QUORATE_RELEASES=site.address)


def test_a_site_out_of_reach_is_passed_over(clone: Clone) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # … and does not listen
        address = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        unavailable(clone, f"{address}/{PATHS['pulumi']}: Connection refused", QUORATE_RELEASES=address)


def test_a_proxy_that_refuses_is_passed_over(clone: Clone, site: Site) -> None:
    """The site of this test is the proxy, which is asked for whole addresses."""
    address = "http://releases.example"
    site.refused[f"{address}/{PATHS['pulumi']}"] = 407
    cause = f"{address}/{PATHS['pulumi']}: HTTP 407 Proxy Authentication Required"
    unavailable(clone, cause, http_proxy=site.address, QUORATE_RELEASES=address)


def test_a_connection_that_ends_early_is_passed_over(clone: Clone, site: Site) -> None:
    site.cut.add(PATHS["pulumi"])
    size = len(site.files[PATHS["pulumi"]])
    cause = f"{site.address}/{PATHS['pulumi']}: the connection ended after {size // 2} of {size} bytes"
    unavailable(clone, cause, QUORATE_RELEASES=site.address)


def test_an_interrupted_download_leaves_nothing_and_the_next_run_completes_it(clone: Clone, site: Site) -> None:
    site.stalled.add(PATHS["kubernetes"])
    process = clone.start(QUORATE_RELEASES=site.address)
    assert site.half_sent.wait(90)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Interrupted. Run the same command again to continue" in output
    assert "Traceback" not in output
    assert clone.leftovers == []
    site.go_on.set()
    code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 0, output
    assert releases(clone)


def test_a_killed_download_is_removed_by_the_next_run(clone: Clone, site: Site) -> None:
    site.stalled.add(PATHS["kubernetes"])
    process = clone.start(QUORATE_RELEASES=site.address)
    assert site.half_sent.wait(90)
    process.kill()
    process.communicate(timeout=120)
    assert clone.leftovers
    site.go_on.set()
    code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 0, output
    assert clone.leftovers == []


@pytest.mark.parametrize("part", [1.0, 0.0], ids=["while it sends", "before it answers"])
def test_a_site_that_stops_answering_is_not_waited_for(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: float
) -> None:
    monkeypatch.setattr(release, "PATIENCE", 0.2)
    path = PATHS["pulumi"]
    site.stalled.add(path)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections and never answers
        address = site.address if part else f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(DownloadError, match=r"no answer within 0 s$"):
            release.fetch(Archive(path, ""), address, tmp_path, Reporter())


def test_a_site_with_many_silent_addresses_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket module tries each address for the time of a timeout, and goes on after any error of the system."""

    def connect(*_: object, **__: object) -> None:
        for _address in range(100):
            with suppress(OSError):
                time.sleep(0.1)

    monkeypatch.setattr(release, "PATIENCE", 0.2)
    monkeypatch.setattr(release, "urlopen", connect)
    with pytest.raises(DownloadError, match=r"no answer within 0 s$"):
        release.fetch(Archive("sdk/a.tar.gz", ""), "https://releases.example", tmp_path, Reporter())


def test_without_a_checksum_nothing_is_downloaded(clone: Clone, site: Site) -> None:
    del site.files[PATHS["command"]]
    site.pin(clone.root)
    reason = f"Pulumi {BUILT_PULUMI} is not downloaded: releases.sha256 has no checksums of it for this platform."
    code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 1
    assert reason in output.splitlines()  # the user named a mirror, which is not used
    assert "No compiler" in output
    assert reason not in clone.set_up()[1]
    code, output = clone.set_up(QUORATE_ENGINE="download")
    assert code == 1
    assert output.splitlines()[0] == reason
    assert "python -m toolchain.release_sums" in output
    assert site.asked == []


def test_a_release_that_does_not_run_here_is_passed_over(clone: Clone, site: Site) -> None:
    """As on a system whose loader the programs do not find."""
    refusal = b"#!/bin/sh\necho 'required file not found' >&2\nexit 127\n"
    site.files[PATHS["pulumi"]] = archive({"pulumi/pulumi": refusal})
    site.pin(clone.root)
    reason = f"The downloaded Pulumi {BUILT_PULUMI} does not run here: required file not found."
    code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 1
    assert reason in output.splitlines()
    assert "No compiler" in output
    assert clone.set_up(QUORATE_ENGINE="download", QUORATE_RELEASES=site.address)[1].splitlines()[-2] == reason
    assert releases(clone) == []


def test_a_pulumi_home_of_the_user_is_left_alone(clone: Clone, site: Site, tmp_path: Path) -> None:
    home = tmp_path / "home-of-the-user"
    code, output = clone.set_up(QUORATE_RELEASES=site.address, PULUMI_HOME=str(home))
    assert code == 0, output
    (kept,) = releases(clone)
    assert f"PULUMI_HOME of your environment is not used: this project's Pulumi has its own, {kept}/home." in output
    assert not home.exists()

    (clone.root / ".venv" / MANIFEST).unlink()
    before = clone.cache / "quorate" / "engine-0" / "home"  # in an environment that was activated before
    code, output = clone.set_up(QUORATE_RELEASES=site.address, PULUMI_HOME=str(before))
    assert code == 0, output
    assert "PULUMI_HOME" not in output


def test_a_new_checksum_makes_the_set_up_look_again(clone: Clone, site: Site) -> None:
    clone.set_up(QUORATE_RELEASES=site.address)
    site.files[PATHS["command"]] = archive({"pulumi-resource-command": b"another"})
    site.pin(clone.root)
    code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 0, output
    assert len(releases(clone)) == 2


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("mirror", "QUORATE_RELEASES is 'mirror'; write the address of a mirror, such as https://"),
        ("ftp://mirror", "QUORATE_RELEASES is 'ftp://mirror'; write the address of a mirror, such as https://"),
        ("https://me:hidden@mirror", "QUORATE_RELEASES contains a user name, which logs would show"),
    ],
)
def test_an_address_that_is_none_is_refused(clone: Clone, site: Site, address: str, message: str) -> None:
    code, output = clone.set_up(QUORATE_RELEASES=address)
    assert code == 1
    assert output.splitlines()[-1].startswith(message)
    assert "hidden" not in output


def test_a_mirror_may_be_a_directory(clone: Clone, site: Site, tmp_path: Path) -> None:
    for path, data in site.files.items():
        file = tmp_path / "mirror" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    code, output = clone.set_up(QUORATE_RELEASES=(tmp_path / "mirror").as_uri())
    assert code == 0, output
    assert releases(clone)


def test_a_platform_without_releases_is_built() -> None:
    assert Release("3.276.0", {}).paths("freebsd", "riscv64") == {}


def test_the_pinned_checksums_can_be_read() -> None:
    sums = release.read_sums(ROOT / "toolchain" / "engine" / release.SUMS)
    for platform_names in release.PLATFORMS:
        assert Path(RELEASE.paths(*platform_names)["kubernetes"]).name in sums


@pytest.mark.parametrize("line", ["0" * 63 + "  a.tar.gz", "0" * 64, "g" * 64 + "  a.tar.gz", "<html>"])
def test_a_line_that_is_no_checksum_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "sums"
    file.write_text(f"# comment\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"sums:2: expected the 64 digits of a SHA-256"):
        release.read_sums(file)


def test_the_engine_of_this_clone_as_a_release(clone: Clone, site: Site) -> None:
    """From its archives on a site to a Pulumi that runs: the programs themselves, packed as Pulumi packs them."""
    engine = Engine.load(ROOT / ".venv" / MANIFEST)
    if not engine or not engine.home:
        pytest.skip("no engine to pack: `make setup`")
    binaries = {f"pulumi/{path.name}": path for path in Path(engine.binaries).iterdir()}
    site.files[PATHS["pulumi"]] = archive(binaries)
    for name in PLUGINS:
        (plugin,) = Path(engine.home).glob(f"plugins/resource-{name}-v*/pulumi-resource-{name}")
        site.files[PATHS[name]] = archive({plugin.name: plugin})
    site.pin(clone.root)
    code, output = clone.set_up(QUORATE_RELEASES=site.address)
    assert code == 0, output
    pulumi = clone.root / ".venv" / "bin" / "pulumi"
    found = Engine.load(clone.root / ".venv" / MANIFEST)
    assert found
    settings = {**clone.environment(), **found.settings()}
    version = subprocess.run([pulumi, "version"], env=settings, capture_output=True, text=True, check=True)
    assert version.stdout.strip().lstrip("v") == engine.version
    plugins = subprocess.run([pulumi, "plugin", "ls"], env=settings, capture_output=True, text=True, check=True)
    listed = [line.split()[:3] for line in plugins.stdout.splitlines()]
    assert all([name, "resource", locked(f"pulumi-{name}")] in listed for name in PLUGINS), plugins.stdout
    assert found.damaged == []
