"""Options of OpenStack: the lists are well formed, and right options are accepted; bad_inputs/options.py has others."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from blueprint.openstack import options
from blueprint.openstack.options import Kind, Sections, listed
from blueprint.plan.planner import plan
from blueprint.releases import DISTRO_VERSIONS
from blueprint.stackfile.loader import load_file
from blueprint.stackfile.settings import Settings
from tests.projects import OPTION_FILES
from tests.stacks import ROOT, full_size, parsed
from toolchain.openstack_programs import DEFAULT, releases
from toolchain.option_lists import PROJECTS

WITH_LISTS = sorted(path.name for path in (ROOT / "blueprint/openstack/options").iterdir())
EVERY_LIST = [(release, file) for release in WITH_LISTS for files in OPTION_FILES.values() for file in files]


def found(project: str, file: str, sections: Sections) -> list[str]:
    known = OPTION_FILES.get(project, ())
    return [str(problem) for problem in options.problems("key", project, known, "2026.1", {file: sections})]


def test_every_release_has_every_list() -> None:
    assert WITH_LISTS == sorted(DISTRO_VERSIONS) == releases()
    assert {project: tuple(files) for project, files in PROJECTS.items()} == OPTION_FILES


def test_the_tests_run_the_services_of_the_default_release() -> None:
    assert Settings.model_fields["release"].default == DEFAULT


@pytest.mark.parametrize(("release", "file"), EVERY_LIST)
def test_a_list_is_well_formed(release: str, file: str) -> None:
    sections = listed(release, file)
    assert "debug" in sections["DEFAULT"]
    for section, names in sections.items():
        assert names, section
        for name, option in names.items():
            assert re.fullmatch(r"[A-Za-z0-9_.]+", name), f"{section}.{name}"
            assert option.kind in get_args(Kind)
            if option.renamed:
                new_section, _, new_name = option.renamed.partition("/")
                replacement = sections[new_section][new_name]
                assert (replacement.renamed, replacement.kind) == (None, option.kind), option.renamed


def test_secrets_are_known_as_such() -> None:
    kept = {"keystone.conf": {"auth"}}  # auth.password is a plugin's name
    for _, file in EVERY_LIST:
        for section, names in listed("2026.1", file).items():
            for name in ("password", "transport_url", "metadata_proxy_shared_secret"):
                option = names.get(name)
                assert option is None or option.secret or section in kept[file], f"{file} {section}.{name}"


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("DEFAULT", "debug", True),
        ("DEFAULT", "debug", "False"),
        ("DEFAULT", "reserved_host_memory_mb", 4096),
        ("DEFAULT", "reserved_host_memory_mb", "4096"),
        ("DEFAULT", "reserved-host-memory-mb", 4096),
        ("DEFAULT", "initial_cpu_allocation_ratio", 4),
        ("vnc", "novncproxy_port", 6080),
        ("DEFAULT", "my_ip", "$host"),
        ("conductor", "workers", "$scheduler.workers"),
        ("filter_scheduler", "enabled_filters", ("ComputeFilter", "ImagePropertiesFilter")),
        ("filter_scheduler", "enabled_filters", "ComputeFilter,ImagePropertiesFilter"),
        ("pci", "device_spec", ('{"vendor_id": "1af4"}', '{"vendor_id": "8086"}')),
        ("keystone_authtoken", "username", "nova"),
        ("libvirt", "cpu_mode", "host-passthrough"),
    ],
)
def test_a_right_option_is_accepted(section: str, name: str, value: options.Value) -> None:
    assert found("nova", "nova.conf", {section: {name: value}}) == []


def test_backends_have_the_options_of_their_kind() -> None:
    rbd: Sections = {"ceph1": {"rbd_max_clone_depth": 5}}
    assert found("cinder", "cinder.conf", rbd)
    assert found("cinder", "cinder.conf", {"DEFAULT": {"enabled_backends": "lvm, ceph1"}, **rbd}) == []
    assert found("cinder", "cinder.conf", {"DEFAULT": {"enabled_backends": ("ceph1",)}, "ceph1": {"rbd_x": 1}})
    fast: Sections = {"DEFAULT": {"enabled_backends": ("fast:rbd",)}, "fast": {"rbd_store_chunk_size": 8}}
    assert found("glance", "glance-api.conf", fast) == []
    assert found("glance", "glance-api.conf", {"os_glance_tasks_store": {"filesystem_store_datadir": "/x"}}) == []


def test_contexts_of_privsep_have_its_options() -> None:
    assert found("cinder", "cinder.conf", {"privsep_osbrick": {"thread_pool_size": 2}}) == []
    assert found("cinder", "cinder.conf", {"privsep_osbrick": {"threads": 2}})
    assert found("cinder", "cinder.conf", {"privsepx": {"thread_pool_size": 2}})


def test_an_option_that_is_to_be_removed_is_a_warning_of_the_plan() -> None:
    given = {"nova": {"options": {"nova.conf": {"DEFAULT": {"backdoor_port": "1"}}}}}
    (warning,) = [text for text in plan(parsed(full_size("100", projects=given))).warnings if "backdoor" in text]
    assert warning.startswith("quorate:projects.nova.options.nova.conf.DEFAULT.backdoor_port: a release after 2026.1")
    assert load_file(ROOT / "Pulumi.dev.yaml").projects.overrides == {}
