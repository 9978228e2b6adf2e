"""A stack from its first preview to its end, on the real engine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from blueprint.plan.plan_json import to_json
from tests.engine.conftest import FirstRuns, Project, Projects

MACHINES = "**dynamic/quorate:**"
"""For --target: the provider of Kubernetes objects cannot read a rendered one back."""


def edit(project: Project, **keys: Any) -> None:
    """Changes keys of the stack file; None removes a key."""
    document = yaml.safe_load(project.stack_file.read_text())
    config = document["config"] | {f"quorate:{key}": value for key, value in keys.items()}
    document["config"] = {key: value for key, value in config.items() if value is not None}
    project.stack_file.write_text(yaml.safe_dump(document, sort_keys=False))


def servers(project: Project) -> list[dict[str, Any]]:
    return yaml.safe_load(project.stack_file.read_text())["config"]["quorate:servers"]


def test_a_preview_writes_the_plan_and_nothing_else(first_preview: FirstRuns) -> None:
    dev = first_preview("dev").project
    assert dev.files().keys() == {"plan.json"}
    assert dev.files()["plan.json"] == to_json(dev.plan)


def test_the_second_up_changes_nothing(standing: Projects) -> None:
    dev = standing("dev")
    before = dev.files()
    again = dev.up()
    assert again.resources().keys() == {"same"}
    assert dev.files() == before
    assert dev.run("preview", "--expect-no-changes").code == 0


def test_the_end_leaves_no_file_and_no_resource(standing: Projects) -> None:
    dev = standing("dev")
    done = dev.run("destroy", "--yes", "--skip-preview")
    assert done.code == 0, done.output
    assert dev.files().keys() == {"plan.json"}
    assert not (dev.build / "machines").exists()
    assert dev.state() == {}


def test_damage_of_a_tree_is_shown_and_repaired(standing: Projects) -> None:
    dev = standing("dev")
    before = dev.files()
    shutil.rmtree(dev.build / "machines" / "master1")
    node = dev.build / "machines" / "virt2" / "root/etc/quorate/node.yaml"
    node.write_text(node.read_text() + "edited: by hand\n")

    refreshed = dev.run("refresh", "--yes", "--skip-preview", "--target", MACHINES)
    assert refreshed.code == 0, refreshed.output
    assert dev.run("preview", "--expect-no-changes").code != 0
    assert dev.up().changes() == {
        "create": {"cloud-virt1-master1-tree"},
        "update": {"cloud-compute-32c-128g-virt-24c-52g-tree"},
    }
    assert dev.files() == before


def test_an_unknown_file_beside_a_machines_stays(standing: Projects) -> None:
    dev = standing("dev")
    notes = dev.build / "machines" / "virt3" / "notes.txt"
    notes.write_text("mine")
    (server,) = servers(dev)
    edit(dev, servers=[server | {"memory": 160}])
    dev.up()
    assert notes.read_text() == "mine"


def test_a_new_compute_is_one_change_of_its_pool(standing: Projects) -> None:
    prod = standing("prod")
    one_more = [each | {"name": "cmp[001-301]"} if each["name"].startswith("cmp") else each for each in servers(prod)]
    edit(prod, servers=one_more)
    changes = prod.up().changes()
    assert changes == {
        "update": {
            "cloud",
            "cloud-compute-24c-256g",
            "cloud-compute-24c-256g-tree",
            "cloud-openstack-nova-compute",
            "cloud-openstack-nova-libvirt",
            "cloud-openstack-nova-ssh",
            "cloud-openstack-neutron-l2-agent",
            "cloud-openstack-neutron-openvswitch-db",
            "cloud-openstack-neutron-openvswitch-vswitchd",
            "cloud-openstack-prometheus-node-exporter",
            "cloud-openstack-fluentd-log-collector",
        },
    }
    assert (prod.build / "machines" / "cmp301" / "root/etc/quorate/node.yaml").exists()


def test_larger_servers_are_a_new_pool_and_keep_their_files(standing: Projects) -> None:
    """The new resource writes before the old one is deleted: a node's files must outlive that."""
    dev = standing("dev")
    (server,) = servers(dev)
    edit(dev, servers=[server | {"memory": 160}])
    changes = dev.up().changes()
    assert changes["create"] == {f"cloud-compute-32c-160g-virt-24c-52g{end}" for end in ("", "-tree")}
    assert changes["delete"] == {f"cloud-compute-32c-128g-virt-24c-52g{end}" for end in ("", "-tree")}
    for name in ("virt1", "virt2", "virt3"):
        assert "memory: 108Gi" in (dev.build / "machines" / name / "root/etc/quorate/node.yaml").read_text()


def test_a_machine_that_leaves_takes_its_directory_along(standing: Projects) -> None:
    dev = standing("dev")
    (server,) = servers(dev)
    without_storage = [vm for vm in server["vms"] if not vm["name"].startswith("storage")]
    edit(dev, servers=[server | {"vms": without_storage}])
    dev.up()
    left = {path.name for path in (dev.build / "machines").iterdir()}
    assert not {name for name in left if name.startswith("storage")}
    assert left >= {"virt1", "master1", "messaging1", "database1"}


def test_a_template_of_ones_own(project: Projects) -> None:
    dev = project("dev")
    (dev.directory / "mine.xml").write_text("<domain type='kvm'><memory unit='GiB'>{ram}</memory>{nothing}</domain>\n")
    edit(dev, template="mine.xml")
    dev.up()
    found = (dev.build / "machines" / "database2" / "definition" / "domain.xml").read_text()
    assert found == "<domain type='kvm'><memory unit='GiB'>16</memory></domain>\n"


def test_a_failed_update_shows_no_traceback_of_the_program(project: Projects) -> None:
    """The language host interrupts the program when an update has failed."""
    one = project("one-server")
    one.build.mkdir(parents=True)
    (one.build / "machines").write_text("a file")
    done = one.run("up", "--yes", "--skip-preview")
    assert done.code != 0
    assert "Not a directory: 'build/one-server/machines/" in done.output
    assert "KeyboardInterrupt" not in done.output
    assert '__main__.py", line' not in done.output.replace("dynamic/__main__.py", "")


def test_a_stack_is_refused_in_plain_lines(project: Projects) -> None:
    dev = project("dev")
    edit(dev, profile="labb", speed="high")
    done = dev.run("preview")
    assert done.code != 0
    assert "quorate:profile: 'labb' is not known (did you mean 'lab'?)" in done.output
    assert "quorate:speed: unknown key" in done.output
    assert "Traceback" not in done.output
    assert "unhandled" not in done.output


def test_a_plan_that_does_not_fit_is_refused_in_plain_lines(project: Projects) -> None:
    dev = project("dev")
    edit(dev, profile="production", architecture="1000")
    done = dev.run("preview")
    assert done.code != 0
    assert "architecture 1000 dedicates 30 nodes" in done.output
    assert "Traceback" not in done.output


def test_live_machines_without_host_keys_are_refused_in_plain_lines(project: Projects) -> None:
    dev = project("dev")
    edit(dev, target="live")
    done = dev.run("preview")
    assert done.code != 0
    assert "have no hostKey; write the line of" in done.output
    assert "Traceback" not in done.output


def test_a_users_own_kubeconfig_changes_nothing(standing: Projects, tmp_path: Path) -> None:
    """The SDK would hand it to the provider, which refuses it beside a directory to render to."""
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "c", "namespace": "elsewhere"}}
    config = {"clusters": [cluster], "contexts": [context], "users": [{"name": "c", "user": {"token": "t"}}]}
    kubeconfig.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", **config}))
    dev = standing("dev")
    before = dev.files()
    with_one = Project(dev.directory, dev.stack, dev.environment | {"KUBECONFIG": str(kubeconfig)})
    assert with_one.up().resources().keys() == {"same"}
    assert dev.files() == before
