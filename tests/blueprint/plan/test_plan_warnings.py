"""What a plan admits with a warning."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.plan.planner import plan
from tests.stacks import full_size, parsed

MIRROR = "registry.example/cloud"
BEGINNING = f"images come from {MIRROR}, but machines download from the internet: "
MANIFEST = "Calico's manifest (write quorate:calico.manifest)"
ETCD = "etcd's release (write quorate:prepare.archives.etcd)"
PACKAGES = "Kubernetes' packages (write quorate:prepare.repository)"
ARCHIVE = {"url": "https://mirror.example/file", "sha256": "0" * 64}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, [MANIFEST]),
        ({"calico": {"manifest": ARCHIVE}}, []),
        ({"cni": "none"}, []),
        ({"cni": "none", "prepare": "packages"}, [ETCD, PACKAGES]),
        (
            {
                "cni": "none",
                "prepare": {
                    "programs": "packages",
                    "archives": {"etcd": ARCHIVE},
                    "repository": "https://mirror.example/k8s",
                },
            },
            [],
        ),
        ({"prepare": "packages"}, [MANIFEST, ETCD, PACKAGES]),
    ],
)
def test_what_is_not_in_the_mirror_is_named(changed: dict[str, Any], expected: list[str]) -> None:
    made = plan(parsed(full_size("100", images={"mirror": MIRROR}, **changed)))
    found = [each.removeprefix(BEGINNING).split("; ") for each in made.warnings if each.startswith(BEGINNING)]
    assert found == ([expected] if expected else [])


def test_without_a_mirror_nothing_is_said_of_downloads() -> None:
    assert not [each for each in plan(parsed(full_size("100"))).warnings if "download from the internet" in each]
