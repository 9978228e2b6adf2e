"""The table of versions has what the project pins and offers, and nothing else; its page and reports follow it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from blueprint import node_software
from blueprint.releases import DISTRO_VERSIONS, KUBERNETES_MINORS
from blueprint.stackfile.settings import KUBERNETES
from commands.plan import stack_check
from doctor.checks import ETCD
from openstack.images import CEPH_TAG
from tests.stacks import ROOT, full_size, write
from toolchain import cluster_programs
from toolchain.environment import locked_version
from versions import check, page, support

TODAY = date(2026, 11, 27)
IMAGES = ("RabbitMQ", "MariaDB", "OpenSearch", "Prometheus")
"""Components that every release of Kolla's images has."""


def _required(module: str, name: str) -> str:
    """The version of a module that a go.mod of the toolchain requires."""
    text = (ROOT / "toolchain" / module / "go.mod").read_text(encoding="utf-8")
    (version,) = re.findall(rf"^(?:require)?\s*{re.escape(name)} v(\S+)", text, re.MULTILINE)
    return version


def _pins() -> Iterator[tuple[str, str]]:
    lock = ROOT / "requirements.lock"
    for name in ("pulumi", "pulumi-policy", "pulumi-command", "pulumi-kubernetes", "pulumi-libvirt"):
        yield name, locked_version(lock, name)
    yield "Pulumi engine", _required("engine/pulumi", "github.com/pulumi/pulumi/pkg/v3")
    yield "terraform-provider-libvirt", _required("engine/libvirt", "github.com/dmacvicar/terraform-provider-libvirt")
    yield "Kubernetes", KUBERNETES
    yield "etcd", _required("cluster/etcd", "go.etcd.io/etcd/server/v3")
    yield "KWOK", _required("cluster/kwok", "sigs.k8s.io/kwok")
    yield "CoreDNS", node_software.COREDNS.rpartition(":v")[2]
    yield "nginx", node_software.NGINX.rpartition(":")[2].partition("-")[0]
    yield "Calico", node_software.CALICO_VERSION.removeprefix("v")
    yield "Ceph", CEPH_TAG.removeprefix("v")


def _series() -> Iterator[tuple[str, str]]:
    yield from (("OpenStack", release) for release in DISTRO_VERSIONS)
    yield from (("Kubernetes", f"1.{minor}") for minor in KUBERNETES_MINORS)
    yield "etcd", f"{ETCD[0]}.{ETCD[1]}"


def _rows(*, series: bool) -> list[tuple[str, str]]:
    return [(each.name, each.version) for each in support.components() if each.series is series and not each.in_]


def test_the_table_has_every_pin_and_no_other() -> None:
    assert sorted(_rows(series=False)) == sorted(_pins())


def test_the_table_has_every_release_that_a_stack_may_name() -> None:
    assert sorted(_rows(series=True)) == sorted(_series())


@pytest.mark.parametrize("name", IMAGES)
def test_the_table_has_what_the_images_of_every_release_contain(name: str) -> None:
    found = [release for each in support.components() if each.name == name for release in each.in_]
    assert sorted(found) == sorted(DISTRO_VERSIONS)


def test_what_runs_in_the_proof_is_the_default_of_a_stack() -> None:
    assert cluster_programs.kubernetes_version() == f"v{KUBERNETES}"
    assert _required("cluster/node", "k8s.io/kubernetes") == KUBERNETES
    assert _required("cluster/coredns", "github.com/coredns/coredns") == node_software.COREDNS.rpartition(":v")[2]


def test_the_page_is_up_to_date() -> None:
    """`python -m versions.page` writes it again."""
    assert page.PAGE.read_text(encoding="utf-8") == page.page()


def test_a_version_is_reported_when_its_support_has_ended_or_it_is_older_than_a_year() -> None:
    given = {"name": "a", "version": "1.2", "released": date(2025, 1, 1), "source": "https://example.org"}
    pin = support.SupportedComponent.model_validate(given)
    assert pin.trouble(date(2026, 1, 1)) == ""
    assert pin.trouble(date(2026, 1, 2)) == "released on 2025-01-01, more than a year ago"
    series = support.SupportedComponent.model_validate(given | {"series": True, "ends": date(2027, 1, 1)})
    assert series.trouble(date(2027, 1, 1)) == ""
    assert series.trouble(date(2027, 1, 2)) == "support ended on 2027-01-01"


def test_the_report_fails_when_a_version_is_not_kept_any_longer() -> None:
    text, code = check.report(TODAY)
    assert code == 0, text
    assert "kept until 2027-10-27: OpenStack 2025.1: support ended on 2026-10-02" in text
    text, code = check.report(date(2027, 3, 1))
    assert code == 1
    assert "FAIL Kubernetes 1.35: support ended on 2027-02-28; see https://kubernetes.io/releases/1.35/\n" in text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"release": "2025.1"}, "quorate:release: the support of OpenStack 2025.1 ended on 2026-10-02; write a newer"),
        ({"release": "2026.2"}, ""),
        ({}, ""),
    ],
)
def test_a_release_without_support_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, Any], said: str
) -> None:
    file = write(tmp_path, full_size("100", **settings))
    assert stack_check.check(ROOT, [file]) == 0
    warning = capsys.readouterr().err
    assert said in warning
    assert bool(said) is bool(warning)
