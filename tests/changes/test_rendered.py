"""The difference of rendered trees, tree.diff."""

from __future__ import annotations

from changes.rendered import files, patch
from changes.summary import to_json, to_text
from tests.changes.test_summary import comparison
from tests.changes.worlds import CLOUD, compared, replaced
from tests.policy.world import Given, facts


def test_secret_objects_are_in_no_tree() -> None:
    def secret(value: str) -> Given:
        return Given("kubernetes:core/v1:Secret", "root", {"metadata": {"name": "root"}, "stringData": {"a": value}})

    before, after = [*CLOUD, secret("one-clear")], [*CLOUD, secret("two-clear")]
    assert patch(facts(before).resources, facts(after).resources) == ""
    assert not [path for path in files(facts(after).resources) if path.startswith("manifests/") and "root" in path]
    (change,) = compared(before, after)
    assert "clear" not in to_text(comparison(change)) + to_json(comparison(change))


def test_the_trees_difference_names_files_and_lines() -> None:
    computes = next(given for given in CLOUD if given.name == "computes")
    files = {**computes.props["files"], "/etc/kubelet.yaml": "a: 1\n"}
    after = replaced(CLOUD, Given(computes.type, computes.name, {**computes.props, "files": files}))
    text = patch(facts(CLOUD).resources, facts(after).resources)
    assert text == (
        "--- /dev/null\n+++ head/machines/compute-1 and the rest of its pool/root/etc/kubelet.yaml\n"
        "@@ -0,0 +1 @@\n+a: 1\n"
    )
