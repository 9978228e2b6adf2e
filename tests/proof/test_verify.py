"""A running cluster that has drifted: members on nodes that the scheduler did not choose, nodes without labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.api import MERGE, Api
from cluster.kubeconfig import read_kubeconfig
from commands.command_line import main
from console.errors import UserError
from contract import ROW, SERVER
from proof.cluster import from_api
from proof.prove import ProvedStack
from proof.simulation import SimulatedCluster
from proof.verify import verify
from tests.proof.conftest import StartCluster


def stray_member(simulated: SimulatedCluster, node: str) -> None:
    """A member of Galera put onto a node by hand, past the scheduler."""
    container = {"name": "mariadb", "image": "mariadb"}
    pod = {
        "metadata": {"name": "mysqld-by-hand", "annotations": {ROW: "mysqld-server"}},
        "spec": {"nodeName": node, "containers": [container], "tolerations": [{"operator": "Exists"}]},
    }
    simulated.api.ask("POST", "/api/v1/namespaces/openstack/pods", pod)
    simulated.wait(lambda: any(each.ready for each in simulated.pods_on([node]) if each.name == "mysqld-by-hand"))


def test_what_has_drifted_is_told(small: ProvedStack, start_cluster: StartCluster) -> None:
    with start_cluster(small.rendered) as simulated:
        api = Api(read_kubeconfig(simulated.plane.kubeconfig))
        assert verify(simulated.state, from_api(api)) == []

        member = next(pod for pod in simulated.pods_of(["mysqld-server"]) if pod.name == "mysqld-0")
        assert member.node
        stray_member(simulated, member.node)
        nameless = {"metadata": {"labels": {SERVER: None}}}
        api.ask("PATCH", "/api/v1/nodes/cmp1", nameless, content=MERGE)
        api.ask("DELETE", "/api/v1/nodes/cmp2")
        api.ask("POST", "/api/v1/nodes", {"metadata": {"name": "stranger"}})

        seen = {(each.check, each.subject) for each in verify(simulated.state, from_api(api))}
        assert {
            ("instances", "mysqld-server"),
            ("one-per-node", "StatefulSet mysqld"),
            ("one-member-per-server", "StatefulSet mysqld"),
            ("nodes-labelled", "node cmp1"),
            ("nodes-declared", "node cmp2"),
            ("nodes-declared", "node stranger"),
        } <= seen


def test_no_cluster_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "kubeconfig"
    assert main(["verify", "--kubeconfig", str(missing), "--stack", "dev"]) == 1
    assert "cannot be read" in capsys.readouterr().err
    missing.write_text("a: b\n", encoding="utf-8")
    with pytest.raises(UserError, match="is not a kubeconfig with a current context"):
        read_kubeconfig(missing)


def test_a_credential_plugin_is_asked(tmp_path: Path) -> None:
    answer = '{"status": {"token": "secret"}}'
    path = tmp_path / "kubeconfig"
    path.write_text(
        f"""
current-context: one
contexts: [{{name: one, context: {{cluster: one, user: one}}}}]
clusters: [{{name: one, cluster: {{server: "https://127.0.0.1:1/gate"}}}}]
users:
- name: one
  user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: echo, args: ['{answer}']}}}}
""",
        encoding="utf-8",
    )
    access = read_kubeconfig(path)
    assert access.headers == {"Authorization": "Bearer secret"}
    assert (access.host, access.port, access.prefix) == ("127.0.0.1", 1, "/gate")
