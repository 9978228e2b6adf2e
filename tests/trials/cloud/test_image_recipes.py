"""The recipes of images: complete for what the stack renders, and refused if they cannot be right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from blueprint.stackfile.settings import Networks
from console.errors import UserError
from tests.stacks import ROOT
from tests.trials.services.stack import documents
from trials.cloud.images import script
from trials.cloud.images.prepare import by_recipe
from trials.cloud.images.recipe import OWN_FILES, ImageCatalogue, Recipe, RecipeError, catalogue, parse_catalogue

SMALL = """\
repository: quay.io/openstack.kolla
tag: 2026.1-debian-trixie
images:
  debian: {packages: [sudo]}
  base: {parent: debian, environment: {A: "1", B: "2"}, entrypoint: [init], command: [start], user: x}
  keystone: {parent: base, environment: {B: "3"}}
  ceph: {parent: base, reference: "quay.io/ceph/ceph:v1", entrypoint: [], user: ""}
"""


def images(value: Any) -> Iterator[str]:
    """Every image that a rendered object names."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            if key == "image" and isinstance(inner, str):
                yield inner
            else:
                yield from images(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from images(inner)


@pytest.fixture(scope="module")
def named() -> set[str]:
    """Every image that the stack "dev" names, with Neutron's agents and with OVN."""
    return {*images(documents("dev")), *images(documents("dev", networks=Networks(backend="ovn")))}


def test_every_image_of_the_stack_has_a_recipe(named: set[str]) -> None:
    assert by_recipe(named, catalogue()).keys() == named


def test_no_recipe_is_for_an_image_that_nobody_names(named: set[str]) -> None:
    recipes = catalogue()
    wanted = by_recipe(named, recipes)
    used = {layer for recipe in wanted.values() for layer in recipes.chain(recipe)}
    assert recipes.images.keys() == used


def test_images_without_a_recipe_are_all_named_in_one_error() -> None:
    wrong = ["example.com/unknown:1", "quay.io/openstack.kolla/keystone:2025.1-debian-bookworm"]
    with pytest.raises(UserError) as refused:
        by_recipe([*wrong, "quay.io/openstack.kolla/keystone:2026.1-debian-trixie"], catalogue())
    text = str(refused.value)
    assert all(name in text for name in wrong)
    assert "keystone:2026.1-debian-trixie" not in text


@pytest.mark.parametrize(
    ("reference", "recipe"),
    [
        ("quay.io/openstack.kolla/keystone:2026.1-debian-trixie", "keystone"),
        ("registry.example:5000/mirror/keystone:2026.1-debian-trixie", "keystone"),
        ("quay.io/ceph/ceph:v1", "ceph"),
        ("quay.io/ceph/ceph:2026.1-debian-trixie", None),
        ("quay.io/openstack.kolla/keystone:2026.1-ubuntu-noble", None),
        (f"quay.io/openstack.kolla/keystone:2026.1-debian-trixie@sha256:{'0' * 64}", None),
        ("keystone:2026.1-debian-trixie extra", None),
    ],
)
def test_an_image_is_known_by_name_and_tag(reference: str, recipe: str | None) -> None:
    assert parse_catalogue(SMALL).named(reference) == recipe


def test_an_image_inherits_what_it_does_not_set() -> None:
    small = parse_catalogue(SMALL)
    assert small.settings("keystone") == {"Env": ["A=1", "B=3"], "Entrypoint": ["init"], "Cmd": ["start"], "User": "x"}
    assert small.settings("ceph") == {"Env": ["A=1", "B=2"], "Cmd": ["start"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("parent: debian", "parent: nothing"), "the parent 'nothing' has no recipe"),
        (("parent: debian", "parent: keystone"), "base: is its own ancestor"),
        (("base: {parent: debian, ", "base: {"), "found debian, base"),
        (("packages: [sudo]", "packages: ['sudo; reboot']"), "images.debian.packages.0"),
        (("packages: [sudo]", "package: [sudo]"), "images.debian.package: Extra inputs"),
        (("user: x", "scripts: {usr/bin/x: base/x}"), "images.base.scripts"),
        (("user: x", "files: {/usr/bin/x: ../x}"), "images.base.files"),
        (("tag:", "images:"), "line 3: the key 'images' is there twice"),
        (("tag: 2026", "{tag: 2026"), "not valid YAML"),
    ],
)
def test_recipes_that_cannot_be_right_are_refused(change: tuple[str, str], message: str) -> None:
    assert change[0] in SMALL
    with pytest.raises(RecipeError) as refused:
        parse_catalogue(SMALL.replace(*change))
    assert message in str(refused.value)


def test_every_file_that_a_recipe_copies_exists() -> None:
    copied = {source for recipe in catalogue().images.values() for source in recipe.files.values()}
    assert copied == {path.name for path in OWN_FILES.iterdir() if path.is_file()}
    assert all(lock.is_file() for recipe in catalogue().images.values() for lock in script.locks(recipe))


def test_a_script_makes_the_account_before_its_packages() -> None:
    recipe = Recipe.model_validate(
        {
            "account": {"name": "nova", "home": "/var/lib/nova", "groups": ["qemu"]},
            "packages": ["novnc"],
            "scripts": {"/etc/sudoers.d/x": "nova/x", "/usr/local/bin/kolla_extend_start": "nova/y"},
            "files": {"/usr/bin/z": "z.sh"},
            "setup": "echo end",
        }
    )
    lines = script.text("nova-novncproxy", recipe, {"nova": (42436, 42436, "nova")}).splitlines()
    assert lines[0] == "set -eu"
    assert lines[1] == "usermod --append --home /var/lib/nova --groups kolla,qemu nova"
    assert lines[-5:] == [
        "apt-get -qq -y install novnc",
        "install -D -m 440 /tmp/kolla/nova/x /etc/sudoers.d/x",
        "install -D -m 644 /tmp/kolla/nova/y /usr/local/bin/kolla_extend_start",
        "install -D -m 755 /tmp/own/z.sh /usr/bin/z",
        "echo end",
    ]


def test_an_account_that_kolla_lacks_has_the_group_of_its_pods() -> None:
    groups = {each.rpartition("/")[2].partition(":")[0]: group for each, group in _groups().items()}
    own = {
        name: each.account.number for name, each in catalogue().images.items() if each.account and each.account.number
    }
    assert own == {"ceph": groups["ceph"]}


def _groups() -> dict[str, int]:
    """The group of the volumes of each workload, by the image of its first container."""
    found: dict[str, int] = {}
    for each in documents("dev"):
        if each["kind"] in ("Deployment", "StatefulSet", "DaemonSet"):
            pod = each["spec"]["template"]["spec"]
            found[pod["containers"][0]["image"]] = int(pod["securityContext"]["fsGroup"])
    return found


def test_the_catalogue_is_read_once() -> None:
    assert isinstance(catalogue(), ImageCatalogue)
    assert catalogue() is catalogue()


def test_the_documentation_lists_every_stand_in() -> None:
    text = (ROOT / "docs" / "cloud.md").read_text(encoding="utf-8")
    section = text.split("### Stand-ins")[1].split("\n## ")[0]
    listed = {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")}
    assert listed == {name for name, recipe in catalogue().images.items() if recipe.stand_in}
