"""How the control plane's programs are pinned, named and kept: complete or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from tests.fakes import script
from toolchain import checksums, cluster_programs
from toolchain.go_build import Go

BUILDS = """\
while [ "$1" != -o ]; do shift; done
echo "k8s.io/some/package"
touch "$2"
"""


@pytest.fixture
def with_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A fake Go, which is a script, and a separate cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def set_up(body: str) -> Path:
        go = Go(script(tmp_path / "bin", "go", body), (1, 26), "linux/amd64")

        def ensure_go(*_arguments: object) -> Go:
            return go

        monkeypatch.setattr(cluster_programs, "ensure_go", ensure_go)
        return tmp_path / "cache" / "quorate"

    return set_up


def test_versions_are_those_of_the_module_files() -> None:
    assert {program.name for program in cluster_programs.PROGRAMS} >= {
        "etcd",
        "kube-apiserver",
        "kube-scheduler",
        "kwok",
    }
    assert all(cluster_programs.pinned(program).startswith("v") for program in cluster_programs.PROGRAMS)
    assert cluster_programs.kubernetes_version() == cluster_programs.pinned(cluster_programs.PROGRAMS[2])


def test_a_build_is_named_after_what_made_it() -> None:
    one = Go(Path("go"), (1, 26, 8), "linux/amd64")
    assert cluster_programs.digest(one) == cluster_programs.digest(Go(Path("/elsewhere/go"), (1, 26, 8), "linux/amd64"))
    assert cluster_programs.digest(one) != cluster_programs.digest(Go(Path("go"), (1, 27), "linux/amd64"))
    assert cluster_programs.digest(one) != cluster_programs.digest(Go(Path("go"), (1, 26, 8), "linux/arm64"))


def test_it_is_built_once(with_go: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    cache = with_go(BUILDS)
    home = cluster_programs.ensure(Reporter())
    assert home.parent == cache
    names = {program.name for program in cluster_programs.PROGRAMS}
    assert {path.name for path in home.iterdir()} == {*names, "checksums.json"}
    assert "once for all clones" in capsys.readouterr().err
    with_go("exit 1")
    assert cluster_programs.ensure(Reporter()) == home
    assert capsys.readouterr().err == ""


def test_a_failed_build_leaves_nothing(with_go: Callable[[str], Path]) -> None:
    cache = with_go('echo "dial tcp: lookup: no such host"; exit 1')
    with pytest.raises(UserError, match="No network: the Go modules of etcd"):
        cluster_programs.ensure(Reporter())
    assert not list(cache.glob("cluster-*"))


def test_only_damaged_programs_are_built_again(
    with_go: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with_go(BUILDS)
    home = cluster_programs.ensure(Reporter())
    (home / "etcd").write_bytes(b"half a program")
    (home / "kwok").unlink()
    capsys.readouterr()
    assert cluster_programs.ensure(Reporter()) == home
    said = capsys.readouterr().err
    assert f"Damaged programs in {home}: etcd, kwok. Building them again." in said
    assert [line.split()[1] for line in said.splitlines() if line.startswith("Building ")] == ["etcd", "kwok"]
    assert (home / "etcd").read_bytes() == b""
    assert checksums.damaged(home) == []


def test_programs_without_checksums_are_built_again(
    with_go: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with_go(BUILDS)
    home = cluster_programs.ensure(Reporter())
    (home / checksums.NAME).unlink()
    capsys.readouterr()
    assert cluster_programs.ensure(Reporter()) == home
    assert "Building etcd" in capsys.readouterr().err
    assert checksums.damaged(home) == []


def test_every_bundle_has_its_own_digest_and_pinned_versions() -> None:
    go = Go(Path("go"), (1, 26, 8), "linux/amd64")
    bundles = (cluster_programs.CONTROL_PLANE, cluster_programs.NODE)
    assert len({cluster_programs.digest(go, bundle) for bundle in bundles}) == len(bundles)
    own = {program.name for program in cluster_programs.NODE.programs if not cluster_programs.pinned(program)}
    assert own == {"pause"}


def test_kubelets_are_of_the_version_of_the_control_plane() -> None:
    (kubelet,) = [program for program in cluster_programs.NODE.programs if program.name == "kubelet"]
    assert cluster_programs.pinned(kubelet) == cluster_programs.kubernetes_version()
