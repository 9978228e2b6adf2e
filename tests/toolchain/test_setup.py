"""The set-up from outside: a process in a clone of its own, with stand-ins for pip, Go and Pulumi.

Each case is a person's first minutes with the project going wrong, or right, in one way.
"""

from __future__ import annotations

import ast
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes import (
    BUILT_PULUMI,
    LOCKED_PACKAGES,
    LOCKED_PULUMI,
    PIP_WITHOUT_NETWORK,
    PIP_WORKS,
    ROOT,
    Clone,
    make_clone,
    script,
)
from toolchain import setup
from toolchain.process_identity import is_alive

GO = """\
case "$1" in
    env) shift; for name in "$@"; do case $name in
            GOVERSION) echo go1.99.0 ;; GOOS) echo linux ;; GOARCH) echo amd64 ;; GOCACHE) echo /tmp ;;
        esac; done ;;
    list) echo "%(sdk)s" ;;
    build)
        echo "go: downloading example.org/module v1.0.0"; echo example.org/module
        while [ "$1" != -o ]; do shift; done
        printf '#!/bin/sh\\necho "$PULUMI_HOME $*" >> "%(log)s"; mkdir -p "$PULUMI_HOME"\\n' > "$2"; chmod +x "$2" ;;
esac"""


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return make_clone(tmp_path)


@pytest.fixture
def go(clone: Clone, tmp_path: Path) -> Path:
    """A Go on PATH whose builds are instantaneous; returns the log of what the built Pulumi was asked."""
    sdk = tmp_path / "sdk"
    for name in ("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-resource-pulumi-python"):
        script((sdk / name).parent, Path(name).name, "")
    log = tmp_path / "pulumi.log"
    script(clone.path, "go", GO % {"sdk": sdk, "log": log})
    for name in ("chmod", "mkdir", "printf"):
        script(clone.path, name, f'exec {shutil.which(name, path=os.defpath)} "$@"')
    return log


def test_a_pulumi_on_path_is_used_as_it_is(clone: Clone) -> None:
    clone.python(PIP_WORKS)
    clone.pulumi()
    code, output = clone.set_up()
    assert code == 0, output
    assert f"Using the Pulumi {LOCKED_PULUMI} on PATH" in output
    assert f"Installing {LOCKED_PACKAGES} packages" in output  # it says what it does, and of how many packages
    assert (clone.root / ".venv" / "bin" / "pulumi").readlink() == clone.path / "pulumi"
    assert "plugin install" not in (clone.path / "asked").read_text(encoding="utf-8")  # it has both plugins


def test_a_second_run_says_and_does_nothing(clone: Clone) -> None:
    clone.python(PIP_WORKS)
    clone.pulumi()
    clone.set_up()
    clone.python("echo 'pip was called again'; exit 1")
    assert clone.set_up() == (0, "")


def test_a_changed_lock_file_is_installed_again(clone: Clone) -> None:
    clone.python(PIP_WORKS)
    clone.pulumi()
    clone.set_up()
    with (clone.root / "requirements.lock").open("a", encoding="utf-8") as lock:
        lock.write("# another\n")
    code, output = clone.set_up()
    assert code == 0
    assert "Installing" in output


def test_a_changed_recipe_brings_another_engine(clone: Clone, go: Path) -> None:
    clone.python(PIP_WORKS)
    clone.set_up()
    with (clone.root / "toolchain" / "engine" / "pulumi" / "go.mod").open("a", encoding="utf-8") as module:
        module.write("// another\n")
    code, output = clone.set_up()
    assert code == 0, output
    assert "Building Pulumi" in output
    assert "Installing" not in output
    assert len(list((clone.cache / "quorate").glob("engine-*"))) == 2  # another clone may still use the first


def test_without_pulumi_on_path_the_engine_is_built_once_for_all_clones(clone: Clone, go: Path, tmp_path: Path) -> None:
    clone.python(PIP_WORKS)
    code, output = clone.set_up()
    assert code == 0, output
    assert "about 10 minutes" in output
    (engine,) = (clone.cache / "quorate").glob("engine-*")
    assert {path.name for path in (engine / "bin").iterdir()} == {
        "pulumi",
        "pulumi-language-python",
        "pulumi-language-python-exec",
        "pulumi-resource-pulumi-python",
    }
    asked = go.read_text(encoding="utf-8")
    assert "plugin install resource kubernetes 4.25.0 --file" in asked
    assert clone.leftovers == []

    other = make_clone(tmp_path / "other")
    other = Clone(other.root, clone.path, clone.cache)
    other.python(PIP_WORKS)
    code, output = other.set_up()
    assert code == 0, output
    assert "Building" not in output
    assert (other.root / ".venv" / "bin" / "pulumi").readlink() == engine / "bin" / "pulumi"


def test_no_network_for_python_packages(clone: Clone) -> None:
    clone.python(PIP_WITHOUT_NETWORK)
    code, output = clone.set_up()
    assert code == 1
    assert "No network: the packages of requirements.lock could not be downloaded" in output
    assert "run the same command again to continue" in output
    assert "Traceback" not in output

    clone.python(PIP_WORKS)
    clone.pulumi()
    assert clone.set_up()[0] == 0


def test_no_network_for_go_modules(clone: Clone, go: Path) -> None:
    clone.python(PIP_WORKS)
    working = (clone.path / "go").read_text(encoding="utf-8")
    failing = 'build) echo "example.org/module@v1.0.0: dial tcp: lookup proxy: no such host"; exit 1 ;;\n    build)'
    (clone.path / "go").write_text(working.replace("build)", failing, 1), encoding="utf-8")
    code, output = clone.set_up()
    assert code == 1
    assert f"No network: the Go modules of pulumi {BUILT_PULUMI} could not be downloaded" in output
    assert "Traceback" not in output
    assert clone.leftovers == []
    assert not (clone.root / ".venv" / "bin" / "pulumi").exists()

    (clone.path / "go").write_text(working, encoding="utf-8")
    assert clone.set_up()[0] == 0


def test_no_compiler_to_be_had(clone: Clone) -> None:
    clone.python(PIP_WORKS)  # … but go.lock's package is refused
    code, output = clone.set_up()
    assert code == 1
    assert "No compiler: this machine has no Go 1.26.6 or newer, and it could not be downloaded." in output
    assert "Install Go 1.26.6 or put a Pulumi release on PATH" in output
    assert "Traceback" not in output


def test_an_old_go_is_not_used(clone: Clone, go: Path) -> None:
    clone.python(PIP_WORKS)
    (clone.path / "go").write_text(
        (clone.path / "go").read_text(encoding="utf-8").replace("go1.99.0", "go1.20.1"), encoding="utf-8"
    )
    code, output = clone.set_up()
    assert code == 1
    assert "No compiler" in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_build_leaves_nothing_and_goes_on(
    clone: Clone, go: Path, number: signal.Signals, tmp_path: Path
) -> None:
    """The set-up alone is told, as by a supervisor; from a terminal the compiler would hear of it as well."""
    clone.python(PIP_WORKS)
    working = (clone.path / "go").read_text(encoding="utf-8")
    at_work = tmp_path / "at-work"
    compiling = f"build) echo $$ > {at_work}.new; mv {at_work}.new {at_work}; exec sleep 600 ;;\n    build)"
    script(clone.path, "mv", f'exec {shutil.which("mv", path=os.defpath)} "$@"')
    (clone.path / "go").write_text(working.replace("build)", compiling, 1), encoding="utf-8")
    process = clone.start()
    _until(at_work.exists)
    process.send_signal(number)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Interrupted. Run the same command again to continue" in output
    assert "Traceback" not in output
    assert clone.leftovers == []
    _until(lambda: not is_alive(int(at_work.read_text(encoding="utf-8"))))

    (clone.path / "go").write_text(working, encoding="utf-8")
    code, output = clone.set_up()
    assert code == 0, output
    assert "Installing" not in output  # the environment was complete already


def test_a_killed_build_is_swept_away_by_the_next(clone: Clone, go: Path) -> None:
    clone.python(PIP_WORKS)
    code, output = clone.set_up()
    assert code == 0, output
    (engine,) = (clone.cache / "quorate").glob("engine-*")
    half = engine.with_name(engine.name + ".partial")
    engine.rename(half)
    (half / "bin" / "pulumi").write_text("half", encoding="utf-8")
    code, output = clone.set_up()
    assert code == 0, output
    assert clone.leftovers == []
    assert (engine / "bin" / "pulumi").read_text(encoding="utf-8") != "half"


def test_two_set_ups_at_once_wait_for_each_other(clone: Clone, tmp_path: Path) -> None:
    at_work, go_on = tmp_path / "at-work", tmp_path / "go-on"
    clone.pulumi()
    clone.python(f": > {at_work}; while [ ! -e {go_on} ]; do sleep 0.1; done")
    first = clone.start()
    _until(at_work.exists)
    second = clone.start()
    assert second.stdout
    assert second.stdout.readline() == "Another set-up is running; waiting for it …\n"
    go_on.touch()
    outputs = [process.communicate(timeout=120)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], outputs
    assert "Installing" in outputs[0]
    assert "Installing" not in outputs[1]  # what the first has brought is not brought again


def test_an_unknown_choice_of_engine_is_refused(clone: Clone) -> None:
    code, output = clone.set_up(QUORATE_ENGINE="docker")
    assert code == 1
    assert output == "QUORATE_ENGINE is 'docker'; set it to one of path, download, build, or unset it.\n"


def test_an_old_python_is_told_so_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.version_info", (3, 9, 2, "final", 0))
    monkeypatch.setattr("sys.executable", "/usr/bin/python3")
    assert setup.main() == 1
    said = capsys.readouterr().err
    assert said.startswith("This project needs Python 3.11 or newer; /usr/bin/python3 is 3.9.\n")
    assert "make PYTHON=" in said


def test_an_old_python_can_read_the_entry() -> None:
    source = (ROOT / "toolchain" / "setup.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 7))
    assert "from __future__" not in source  # 3.6 knows no annotations of the future


def _until(happened: Callable[[], bool], patience: float = 90.0) -> None:
    deadline = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def test_a_plan_needs_no_engine(clone: Clone) -> None:
    """Ten minutes of building for a table that Python prints would be no comfort. There is no Go and no Pulumi here."""
    clone.python(PIP_WORKS)
    process = clone.start("--without-engine")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert f"Installing {LOCKED_PACKAGES} packages" in output
    assert "Pulumi" not in output
    assert not (clone.root / ".venv" / "bin" / "pulumi").exists()


def _built(clone: Clone) -> Path:
    clone.python(PIP_WORKS)
    code, output = clone.set_up()
    assert code == 0, output
    (engine,) = (clone.cache / "quorate").glob("engine-*")
    return engine


@pytest.mark.parametrize("content", ["", "#!/bin/sh\n", "#!/bin/sh\necho something else of any length\n", None])
def test_a_damaged_engine_is_built_again(clone: Clone, go: Path, content: str | None) -> None:
    engine = _built(clone)
    assert clone.set_up() == (0, "")
    pulumi = engine / "bin" / "pulumi"
    good = pulumi.read_bytes()
    if content is None:
        pulumi.unlink()
    else:
        pulumi.write_text(content, encoding="utf-8")
    code, output = clone.set_up()
    assert code == 0, output
    assert "Pulumi in the cache is damaged (bin/pulumi): building it again." in output
    assert pulumi.read_bytes() == good
    assert clone.set_up() == (0, "")


def test_the_same_bytes_at_another_time_are_not_built_again(clone: Clone, go: Path) -> None:
    """A clock that jumps, a cache that was copied."""
    pulumi = _built(clone) / "bin" / "pulumi"
    os.utime(pulumi, (0, 0))
    assert clone.set_up() == (0, "")


def test_an_engine_without_checksums_is_built_again(clone: Clone, go: Path) -> None:
    engine = _built(clone)
    (engine / "checksums.json").unlink()
    code, output = clone.set_up()
    assert code == 0, output
    assert "Building Pulumi" in output
    assert (engine / "checksums.json").exists()


def test_a_home_that_cannot_be_written_is_told_in_two_lines(clone: Clone) -> None:
    clone.python(PIP_WORKS)
    clone.cache.touch()  # a file where the cache would be: unwritable for root as well
    code, output = clone.set_up()
    assert code == 1
    assert output.splitlines() == [
        f"{clone.cache}/quorate: a part of the path is not a directory. Move that file away, "
        "then run the same command again.",
        "Or set XDG_CACHE_HOME to a directory that you can write.",
    ]
