"""Reports about volumes: who manages them."""

from __future__ import annotations

import json
import re

from openstack import scripts
from tests.reports.stacks import named, objects, planned


def test_a_volume_has_one_manager_at_a_time() -> None:
    """An instance that starts claims the unfinished work of all that share its host name (cinder/manager.py)."""
    made = objects(planned())
    data = named(made, "ConfigMap", "cinder-volume-kolla")["data"]
    kolla = json.loads(data["config.json"])
    assert re.search("^backend_host = ceph$", data["cinder.conf"], re.MULTILINE)
    assert " one_manager run cinder-volume " in kolla["command"]
    copied = {file["dest"] for file in kolla["config_files"]}
    assert copied >= {f"/etc/cinder/one_manager/{module}" for module in scripts.modules("one_manager")}
    pod = named(made, "Deployment", "cinder-volume")["spec"]["template"]["spec"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("cinder-volume", True)


def test_no_other_pod_has_a_token_of_the_api() -> None:
    made = objects(planned())
    workloads = [each.inputs for each in made if each.kind in ("Deployment", "StatefulSet", "DaemonSet")]
    pods = {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in workloads}
    openstack = {name: pod for name, pod in pods.items() if pod.get("serviceAccountName") == name}
    assert len(openstack) > 20
    assert [name for name, pod in openstack.items() if pod["automountServiceAccountToken"]] == ["cinder-volume"]
