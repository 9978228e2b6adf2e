"""Layers in the cache: built once, again if their recipe or a parent's changes, complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from tests.fakes import script
from toolchain import debian_root
from trials.cloud.images import kolla, prepare
from trials.cloud.images.kolla import Kolla
from trials.cloud.images.layers import Builder
from trials.cloud.images.recipe import parse_catalogue

RECIPES = """\
repository: quay.io/openstack.kolla
tag: "1"
images:
  debian: {packages: [sudo]}
  base: {parent: debian, setup: echo base}
  memcached: {parent: base, packages: [memcached]}
  keystone: {parent: base, setup: echo keystone}
"""
ROOT = """\
for word; do case $word in */tree) mkdir -p "$word/etc" && echo "$*" >"$word/etc/root" ;; esac; done
echo debian >>"$LOG"
"""
ALONE = """\
case $* in *mmdebstrap*) while [ "$1" != mmdebstrap ]; do shift; done && exec "$@" ;; esac
"""
"""What `unshare` does with mmdebstrap: runs it."""
OVERLAY = """\
while [ "${1#*layer.sh}" = "$1" ]; do shift; done
test -d "$3/tree" && test -d "$4/lists" && test -e "$4/inputs/kolla/base/start.sh" || exit 1
for tree in $(echo "$2" | tr : ' '); do test -d "$tree" || exit 2; done
mkdir "$3/tree/etc"
echo "$5" >"$3/tree/etc/made"
basename "$3" | sed 's/-.*//' >>"$LOG"
"""


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Builds images of recipes with stand-ins for mmdebstrap and unshare; returns the layers that were built."""
    log = tmp_path / "log"
    script(tmp_path / "bin", "mmdebstrap", ROOT)
    script(tmp_path / "bin", "unshare", f'export LOG="{log}"\n{ALONE}{OVERLAY}')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("LOG", str(log))
    monkeypatch.setattr(debian_root, "mirror", lambda: "http://mirror.example/debian")
    (tmp_path / "docker/base").mkdir(parents=True)
    (tmp_path / "docker/base/start.sh").touch()
    (tmp_path / "cache").mkdir()

    def build(*names: str, recipes: str = RECIPES) -> list[str]:
        log.write_text("", encoding="utf-8")
        content = Kolla(tmp_path / "docker", {"nova": (42436, 42436, "nova")})
        builder = Builder(parse_catalogue(recipes), content, tmp_path / "cache", Reporter())
        layers = builder.layers(names)
        assert all(layer.path.is_file() for chain in layers.values() for layer in chain)
        assert [len(layers[name]) for name in names] == [3] * len(names)
        return log.read_text(encoding="utf-8").split()

    return build


def test_each_layer_is_built_once(built: Callable[..., list[str]], tmp_path: Path) -> None:
    assert built("memcached", "keystone") == ["debian", "base", "memcached", "keystone"]
    assert built("memcached", "keystone") == []
    (base,) = (tmp_path / "cache").glob("base-*")
    text = (base / "tree/etc/made").read_text(encoding="utf-8")
    assert "groupadd --gid 42436 nova" in text
    assert text.endswith("echo base\n")
    assert not list((tmp_path / "cache").glob("shared-*"))


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (("echo keystone", "echo other"), ["keystone"]),
        (("echo base", "echo other"), ["base", "memcached", "keystone"]),
        (("[sudo]", "[sudo, curl]"), ["debian", "base", "memcached", "keystone"]),
        (('tag: "1"', 'tag: "2"'), []),
    ],
)
def test_a_change_builds_the_layer_and_those_above_it(
    built: Callable[..., list[str]], change: tuple[str, str], again: list[str]
) -> None:
    built("memcached", "keystone")
    assert built("memcached", "keystone", recipes=RECIPES.replace(*change)) == again


def test_a_damaged_layer_is_built_again(built: Callable[..., list[str]], tmp_path: Path) -> None:
    built("memcached")
    (blob,) = (tmp_path / "cache").glob("memcached-*/layer.tar.gz")
    blob.write_bytes(b"damaged")
    assert built("memcached") == ["memcached"]


def test_a_failure_keeps_what_is_complete_and_nothing_else(built: Callable[..., list[str]], tmp_path: Path) -> None:
    unshare = tmp_path / "bin/unshare"
    works = unshare.read_text(encoding="utf-8")
    unshare.write_text(f"#!/bin/sh\n{ALONE}echo 'E: Unable to locate package' >&2; exit 100\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"(?s)layer base could not be built.*Unable to locate"):
        built("memcached")
    assert [path.name.partition("-")[0] for path in (tmp_path / "cache").iterdir()] == ["debian"]
    unshare.write_text(works, encoding="utf-8")
    assert built("memcached") == ["base", "memcached"]


def test_the_way_to_packages_is_all_that_a_script_knows_of_the_machine(
    built: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.example")
    monkeypatch.setenv("https_proxy", "http://proxy.example")
    monkeypatch.setenv("PIP_FIND_LINKS", "/opt/wheels")
    monkeypatch.setenv("SECRET", "x")
    unshare = tmp_path / "bin/unshare"
    unshare.write_text(unshare.read_text(encoding="utf-8") + f"\nenv >{tmp_path}/environment\n", encoding="utf-8")
    built("memcached")
    found = dict(line.split("=", 1) for line in (tmp_path / "environment").read_text(encoding="utf-8").splitlines())
    assert found["PIP_INDEX_URL"] == "http://index.example"
    assert found["https_proxy"] == "http://proxy.example"
    assert not {"PIP_FIND_LINKS", "SECRET", "HOME"} & found.keys()


def test_only_root_makes_images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(kolla, "ensure", pytest.fail)
    with pytest.raises(UserError, match="made by root"):
        prepare.prepare(["quay.io/openstack.kolla/keystone:2026.1-debian-trixie"], Reporter())
