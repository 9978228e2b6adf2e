"""A stack whose Ceph cluster another team runs, on the real engine with the policy pack."""

from __future__ import annotations

import base64
import shutil
from dataclasses import replace

import yaml

from audit import log
from audit.result import audit
from policy.catalogue import BY_ID
from policy.findings import Verdict
from tests.engine.conftest import PACK, Projects
from tests.engine.test_history import violations
from tests.engine.test_lifecycle import edit, servers
from tests.stacks import external_ceph

OF_CEPH = ("ceph-mon-size", "nothing-beside-osd", "radosgw-beside-monitors", "ceph-copies-on-servers")
"""Rules about Ceph's own daemons."""
KEY = "AQBSHfJXID9pFRAAm4VLpbNXa4XJ9zgAh7dm2g=="


def test_the_audit_and_the_rendered_files_are_those_of_a_stack_without_ceph(project: Projects) -> None:
    ra100 = project("ra100")
    left = [each for each in servers(ra100) if each["roles"] != ["storage"]]
    edit(ra100, servers=left, ceph=external_ceph())
    ra100 = replace(ra100, environment={**ra100.environment, "GLANCE_KEY": KEY, "CINDER_KEY": "no-key-of-ceph"})

    done = ra100.run("preview", *PACK)
    assert done.code == 0, done.output
    assert violations(done) == {}
    assert "quorate:ceph.external.accounts.cinder.key: is not a key of Ceph" in done.output
    assert "no-key-of-ceph" not in done.output
    found = audit("ra100", log.read(ra100.directory / "events.jsonl"))
    assert {rule: found.verdict_of(BY_ID[rule]) for rule in OF_CEPH} == dict.fromkeys(OF_CEPH, Verdict.NOT_APPLICABLE)
    assert found.verdict_of(BY_ID["every-row-has-workload"]) is Verdict.PASS
    assert found.verdict_of(BY_ID["dedicated-nodes-are-there"]) is Verdict.PASS

    refused = ra100.run("up", "--yes", "--skip-preview")
    assert refused.code != 0
    assert "accounts.cinder.key: is not a key of Ceph" in refused.output
    shutil.rmtree(ra100.build, ignore_errors=True)
    ra100 = replace(ra100, environment={**ra100.environment, "CINDER_KEY": KEY})
    ra100.up()
    files = ra100.files()
    secret = yaml.safe_load(files["secrets/manifests/1-manifest/v1-secret-openstack-glance-api-secrets.yaml"])
    keyring = base64.b64decode(secret["data"]["ceph.client.glance.keyring"]).decode()
    assert keyring == f"[client.glance]\n    key = {KEY}\n"
    plain = {path: text for path, text in files.items() if not path.startswith("secrets/")}
    assert not [path for path, text in plain.items() if KEY in text or "keyring" in path]
    assert KEY not in ra100.state_file.read_text()
    assert not [path for path in files if "ceph-mon" in path or "ceph-osd" in path or "radosgw" in path]
