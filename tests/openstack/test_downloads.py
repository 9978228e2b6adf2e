"""The list of what a stack downloads, compared with what components render for its pods and machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import machine_files
from components.machine import filled, variables
from formats import image_reference
from openstack import downloads
from openstack.downloads import needed_archives, needed_images
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.test_cloud import cloud
from tests.stacks import STACKS, full_size, parsed

MIRROR = "mirror.example:5000/site"
DIGEST = f"sha256:{'a' * 64}"
OTHER = f"sha256:{'b' * 64}"
MANIFEST = {"url": "https://site.example/calico.yaml", "sha256": "0" * 64}
ARCHIVES = {
    name: {"url": f"https://site.example/{name}", "sha256": "1" * 64}
    for name in ("cni", "etcd", "kubeadm", "kubectl", "kubelet")
}


def made(architecture: str = "100", computes: int = 3, **changes: Any) -> Plan:
    return plan(parsed(full_size(architecture, computes, **changes)))


def in_documents(value: object) -> Iterator[str]:
    """Yields the images of all containers in a document, whatever it calls them."""
    if isinstance(value, list):
        for each in cast("list[object]", value):
            yield from in_documents(each)
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            if key == "image" and isinstance(inner, str):
                yield inner
            else:
                yield from in_documents(inner)


def of_kubeadm(configuration: dict[str, Any]) -> Iterator[str]:
    """Yields what kubeadm 1.37 pulls by its ClusterConfiguration (cmd/kubeadm/app/images of Kubernetes)."""
    assert "external" in configuration["etcd"]
    registry = configuration.get("imageRepository", "registry.k8s.io")
    for name in ("apiserver", "controller-manager", "scheduler", "proxy"):
        yield f"{registry}/kube-{name}:{configuration['kubernetesVersion']}"
    names = configuration.get("dns", {}).get("imageRepository", registry)
    yield f"{names}/coredns{'/coredns' if names == 'registry.k8s.io' else ''}:v1.14.6"
    yield f"{registry}/pause:3.10.2"


def of_calico(kustomization: dict[str, Any], programs: tuple[str, ...]) -> Iterator[str]:
    """Yields the images of Calico's own manifest, which Quorate does not have, as kustomize changes them."""
    names = {each["name"]: each["newName"] for each in kustomization.get("images", [])}
    for program in programs:
        name = f"quay.io/calico/{program}"
        yield f"{names.get(name, name)}:v3.32.1"


def rendered(of: Plan) -> set[str]:
    """Returns the images of every resource and every machine's file, and those that kubeadm and Calico add."""
    resources = cloud(of)
    found = {image for each in resources for image in in_documents(each.inputs)}
    if of.settings.has_existing_machines:
        return found
    programs = ("cni", "kube-controllers", "node", *(["typha"] if len(of.nodes) > 50 else []))
    for node in of.nodes:
        for path, text in filled(machine_files.parts(of, node, CERTIFICATES), variables(node)).items():
            if path.endswith("config.toml"):
                found |= {line.split('"')[1] for line in text.splitlines() if "sandbox_image" in line}
            elif path.endswith((".yaml", ".conf")) and "apiVersion" in text:
                for document in yaml.load_all(text, yaml.CSafeLoader):
                    found |= set(in_documents(document))
                    if document["kind"] == "ClusterConfiguration":
                        found |= set(of_kubeadm(document))
                    elif document["kind"] == "Kustomization":
                        found |= set(of_calico(document, programs))
    return found


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(plan(load_file(STACKS["dev"])), id="dev"),
        pytest.param(made("1000", computes=60, prepare="packages"), id="1000"),
        pytest.param(made(images={"digests": {"coredns": DIGEST, "nginx": DIGEST, "ceph": DIGEST}}), id="digests"),
        pytest.param(made(services={"nova-api": {"image": "own.example/nova-api:1"}}, bootstrap={}), id="own-image"),
        pytest.param(made(machines="existing"), id="existing"),
        pytest.param(made(images={"mirror": MIRROR}, prepare="packages"), id="mirror"),
        pytest.param(made("1000", 60, images={"mirror": MIRROR, "digests": {"keystone": DIGEST}}), id="mirror-1000"),
    ],
)
def test_the_list_has_every_image_that_is_rendered_and_no_other(of: Plan) -> None:
    assert {each.reference for each in needed_images(of)} == rendered(of)


@pytest.mark.parametrize("size", ["100", "1000"])
def test_with_a_mirror_no_image_comes_from_elsewhere(size: str) -> None:
    of = made(size, images={"mirror": MIRROR, "registry": "own.example"}, prepare="packages")
    assert [each for each in sorted(rendered(of)) if not each.startswith(f"{MIRROR}/")] == []
    assert not {each.source for each in needed_images(of) if each.source.startswith(MIRROR)}


def test_an_image_is_listed_once_with_all_its_users() -> None:
    found = {each.source: each for each in needed_images(made())}
    (api,) = (each for each in found if "/nova-api:" in each)
    assert found[api].users == ("nova-api",)
    (volume,) = (each for each in found if "/cinder-volume:" in each)
    assert {"cinder-volume", "glance-storage"} <= set(found[volume].users)
    coredns = [
        each for each in needed_images(made(images={"digests": {"coredns": DIGEST}})) if "coredns" in each.source
    ]
    assert {(each.users, each.digest) for each in coredns} == {(("kubeadm",), ""), (("node-dns",), DIGEST)}


@pytest.mark.parametrize("version", ["1.35.1", "1.36.4", "1.37.2"])
def test_kubernetes_has_the_images_of_its_version(version: str) -> None:
    sources = [each.source for each in needed_images(made(kubernetes=version)) if "kubeadm" in each.users]
    tags = {image_reference.parse(each).name: image_reference.parse(each).tag for each in sources}
    assert tags["kube-apiserver"] == tags["kube-proxy"] == f"v{version}"
    expected = {"1.35.1": ("v1.13.1", "3.10.1"), "1.36.4": ("v1.14.2", "3.10.2"), "1.37.2": ("v1.14.6", "3.10.2")}
    assert (tags["coredns"], tags["pause"]) == expected[version]


def test_archives_are_those_of_the_stack_or_the_pinned_ones() -> None:
    assert [each.name for each in needed_archives(made())] == ["calico"]
    packages = {each.name: each.url for each in needed_archives(made(prepare="packages", bootstrap={"image": {}}))}
    assert packages.keys() == {"etcd-x86_64", "etcd-aarch64", "calico", "cirros"}
    pinned = made(prepare={"programs": "archives", "archives": ARCHIVES}, calico={"manifest": MANIFEST})
    found = {each.name: each.url for each in needed_archives(pinned)}
    assert found == {name: each["url"] for name, each in ARCHIVES.items()} | {"calico": MANIFEST["url"]}
    assert needed_archives(made(machines="existing")) == ()


def test_what_the_machines_are_told_to_download_is_in_the_list() -> None:
    of = made(prepare="packages")
    texts = filled(machine_files.parts(of, of.masters[0], CERTIFICATES), variables(of.masters[0]))
    lines = {tuple(line.split()) for line in texts["/etc/quorate/archives"].splitlines()}
    assert lines < {(each.name, each.sha256, each.url) for each in needed_archives(of)}


def test_images_of_an_own_manifest_of_calico_are_not_guessed() -> None:
    of = made(calico={"manifest": MANIFEST})
    assert downloads.unlisted_manifest(of) == MANIFEST["url"]
    assert not [each for each in needed_images(of) if "calico" in each.source]
    assert downloads.unlisted_manifest(made()) is None
