"""Pulumi's state in an object store: put there by `up`, and fetched by a machine that has only the stack file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.engine.clones import Clone
from tests.engine.conftest import with_root_secret
from tests.object_store import ACCESS, BUCKET, REGION, SECRET, object_store
from tests.stacks import STACKS
from toolchain.install import STATE

pytestmark = pytest.mark.heavy

STACK = "one-server"


def test_a_lost_state_comes_back_by_the_stack_file_and_its_passphrase(tmp_path: Path, engine: dict[str, str]) -> None:
    with object_store() as store:
        document = yaml.safe_load(STACKS[STACK].read_text())
        document["config"]["quorate:backups"] = {
            "copies": {
                "endpoint": store.endpoint,
                "bucket": BUCKET,
                "prefix": "prod",
                "region": REGION,
                "accessKey": {"environment": "ACCESS"},
                "secretKey": {"environment": "SECRET"},
            }
        }
        source = tmp_path / "stack.yaml"
        source.write_text(with_root_secret(f"\n{yaml.safe_dump(document)}"))
        made = Clone.make(tmp_path / "clone", STACK, source)
        variables = {"PULUMI_CONFIG_PASSPHRASE": engine["PULUMI_CONFIG_PASSPHRASE"], "ACCESS": ACCESS, "SECRET": SECRET}
        clone = Clone(made.root, STACK, variables)
        assert "was not copied" not in clone.up().output
        file = clone.root / STATE / f".pulumi/stacks/quorate/{STACK}.json"
        before = json.loads(file.read_text())

        shutil.rmtree(clone.root / "build")
        found = clone.run("copies", "--fetch", "state")
        assert found.code == 0, found.output
        (line,) = [each for each in found.output.splitlines() if "cp -a" in each]
        command = line.split("`")[1].split()
        assert command[:2] == ["cp", "-a"]
        Path(command[-1]).mkdir(parents=True, exist_ok=True)
        shutil.copytree(clone.root / command[2], command[3], dirs_exist_ok=True)
        assert json.loads(file.read_text()) == before
        preview = clone.run("preview")
        assert preview.code == 0, preview.output
        assert "No changes: all" in preview.output

        other = Clone(made.root, STACK, {**variables, "PULUMI_CONFIG_PASSPHRASE": "another"})
        shutil.rmtree(clone.root / "build")
        refused = other.run("copies", "--fetch", "state")
        assert refused.code == 1
        assert "could not be opened" in refused.output
        assert SECRET not in found.output + refused.output
