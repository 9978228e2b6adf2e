"""Masters and nodes whose clients and servers have real certificates of Kubernetes' authorities.

The masters are those of token_masters.py, with questions that are asked before their files change. Each machine has
the rendered scripts, a kubelet.conf and a client certificate of its own, and no kubelet: a thread of the test asks API
servers with them as a kubelet does, and `systemctl restart` lets the thread read them again.
"""

from __future__ import annotations

import base64
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pulumi
import yaml

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from components import machine_files
from components.k8s_master import kubernetes_authority, service_account_keys
from components.k8s_master.pki import JOINING, Pki
from components.kubelet import CONFIGURATION, DISCOVERY, NODE, PATCHES
from components.machine import Parts, filled, variables
from components.secrets import Keyring
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.components.k8s_master.test_certificates import written
from tests.proof.etcd_machines import address, until
from tests.proof.token_masters import ANSWERS, TokenMaster, TokenMasters, install, running, write
from tests.stacks import STACKS, parsed

STEPS = (
    kubernetes_authority.USE,
    "configure-api-server",
    "configure-controller-manager",
    "configure-scheduler",
    "publish-authority",
    "forget-authority",
)
_SYSTEMCTL = """\
#!/bin/sh
# The thread in place of kubelet reads its files again.
[ "$*" = "restart kubelet.service" ] && : >"$ROOT/restarted"
"""
_KEPT = (
    CONFIGURATION,
    PATCHES,
    DISCOVERY,
    NODE,
    "/etc/kubernetes/pki",
    "/etc/kubernetes/audit",
    service_account_keys.SCRIPT,
    kubernetes_authority.SCRIPT,
    kubernetes_authority.QUESTION,
)


class AuthorityMasters(TokenMasters):
    """Three masters of the stack dev, and one of its computes."""

    def __init__(self, directory: Path, binaries: Path, kubectl: Path) -> None:
        super().__init__(directory, binaries, kubectl)
        self.node = TokenMaster(4, directory / "node")  # a root directory and programs; it runs no manifests

    @property
    def machines(self) -> list[TokenMaster]:
        return [*self.all, self.node]

    def planned(self, machine: TokenMaster, generations: dict[str, Any]) -> tuple[Plan, Node, Parts, Pki]:
        """The plan for these generations, and what it has for a machine."""
        found = yaml.safe_load(STACKS["dev"].read_text(encoding="utf-8"))["config"]
        config = {key.removeprefix("quorate:"): value for key, value in found.items()}
        names = [address(number) for number in (1, 2, 3)]
        more = {"certificates": {"kubernetes": generations}} if generations else {}
        made = plan(parsed({**config, "apiServers": {"names": names}, **more}))
        masters = {each.name: each for each in made.masters}
        node = masters.get(machine.name) or next(each for each in made.nodes if "compute" in each.roles)
        pki = Pki(Keyring("kubernetes", pulumi.Output.from_input("root")), made.settings.certificates)
        return made, node, machine_files.parts(made, node, CERTIFICATES), pki

    def texts(self, machine: TokenMaster, generations: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
        """The plain and the secret files of a machine, by path."""
        made, node, parts, pki = self.planned(machine, generations)
        secret = (*pki.discovery_file(made.masters[0]),)
        if machine in self.all:
            secret += (*pki.kubernetes_files(), *pki.encryption_file())
        plain = {path: text for path, text in filled(parts, variables(node)).items() if path.startswith(_KEPT)}
        return plain, written(secret)

    def place(self, machine: TokenMaster, generations: dict[str, Any]) -> None:
        """Writes a machine's files."""
        plain, secret = self.texts(machine, generations)
        for file in (machine.root / PATCHES[1:]).glob("kube-*"):
            file.unlink()
        for path in ("signing-ca.crt", "trusted-ca.crt"):
            if f"/etc/kubernetes/pki/{path}" not in secret:
                (machine.root / "etc/kubernetes/pki" / path).unlink(missing_ok=True)
        for path, text in (plain | secret).items():
            write(machine.root / path[1:], text)

    def question(self, machine: TokenMaster, generations: dict[str, Any], answers: int = ANSWERS) -> str:
        """Asks what `apply` asks before it writes files. Returns why they may not be written; "" if they may.

        `answers`: seconds until an API server must accept what would be used.
        """
        parts = self.planned(machine, generations)[2]
        plain, secret = self.texts(machine, generations)
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            for path, text in plain.items():
                write(directory / "here/root" / path[1:], text)
            for path, text in secret.items():
                write(directory / "secrets" / path[1:], text)
            for each in parts.questions:
                script = f"export HERE={directory}/here SECRETS={directory}/secrets ANSWERS={answers}\n{each.asks}"
                code, output = machine.run(script)
                if code:
                    return output or "no output"
        return ""

    def deploy(self, machine: TokenMaster, generations: dict[str, Any]) -> str:
        """Gives a machine another authority as `apply` does. Returns why it was refused; "" if it was not."""
        if said := self.question(machine, generations):
            return said
        self.place(machine, generations)
        steps = self.planned(machine, generations)[2].ordered_steps()
        return machine.apply([each for each in steps if each.name in STEPS])

    def begin(self, machine: TokenMaster, generations: dict[str, Any], name: str) -> subprocess.Popen[str]:
        """Starts a step whose files may be written."""
        assert self.question(machine, generations) == ""
        self.place(machine, generations)
        (step,) = (each for each in self.planned(machine, generations)[2].steps if each.name == name)
        return machine.begin(step.apply)

    def name(self, machine: TokenMaster) -> str:
        """Name of a machine's Node."""
        return self.planned(machine, {})[1].name

    def initialise(self) -> None:
        """Makes the masters, then the Node of each machine with what kubeadm makes when it joins."""
        install(self.node, self.binaries, self.kubectl)
        for each in self.machines:
            write(each.root / "bin/systemctl", _SYSTEMCTL)
            (each.root / "bin/systemctl").chmod(0o755)
            (each.root / "run").mkdir(parents=True)
        super().initialise()
        self.place(self.node, {})
        for each in self.machines:
            self._join(each)

    def share(self) -> None:
        """Makes what the cluster has once. Its namespaces appear after its API servers."""
        api = self.all[0].api()
        for path, body in _shared(self.texts(self.node, {})[1][DISCOVERY]):
            until(lambda path=path, body=body: api.call("POST", path, body).status == 201)

    def _join(self, machine: TokenMaster) -> None:
        """Makes kubelet.conf and the certificate that it names, signed by a master, as the first authority does."""
        first, name = self.all[0], self.name(machine)
        user = f"kubeadm kubeconfig user --client-name=system:node:{name} --org=system:nodes"
        code, output = first.run(f'{user} --config="$ROOT{CONFIGURATION}" 2>/dev/null')
        assert code == 0, output
        found = yaml.safe_load(output)["users"][0]["user"]
        pem = "".join(base64.b64decode(found[f"client-{each}-data"]).decode() for each in ("certificate", "key"))
        file = machine.root / "var/lib/kubelet/pki/kubelet-client-first.pem"
        write(file, pem)
        (file.parent / "kubelet-client-current.pem").symlink_to(file)
        conf = yaml.safe_load((machine.root / DISCOVERY[1:]).read_text(encoding="utf-8"))
        conf["clusters"][0]["cluster"]["server"] = f"https://{address(min(machine.number, 3))}:6443"
        current = str(file.parent / "kubelet-client-current.pem")
        conf["users"][0]["user"] = {"client-certificate": current, "client-key": current}
        write(machine.root / "etc/kubernetes/kubelet.conf", yaml.safe_dump(conf, sort_keys=False))
        if machine not in self.all:
            write(machine.root / "etc/kubernetes/pki/ca.crt", (first.root / "etc/kubernetes/pki/ca.crt").read_text())


def _shared(discovery: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields what kubeadm makes in the cluster: nodes may request certificates, and machines find the authority.

    kubeadm's own command for it asks the first master's real address.
    """
    group, api = "rbac.authorization.k8s.io", "apis/rbac.authorization.k8s.io/v1"
    roles = {
        "kubelet-bootstrap": "system:node-bootstrapper",
        "node-autoapprove-bootstrap": "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    }
    for name, role in roles.items():
        yield (
            f"/{api}/clusterrolebindings",
            {
                "apiVersion": f"{group}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"kubeadm:{name}"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": group, "kind": "Group", "name": JOINING}],
            },
        )
    found = yaml.safe_load(discovery)
    conf = yaml.safe_dump({**found, "contexts": [], "current-context": "", "users": []}, sort_keys=False)
    yield "/api/v1/namespaces/kube-public/configmaps", {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-info"}, "data": {"kubeconfig": conf},
    }  # fmt: skip


@contextmanager
def authority_masters(directory: Path, binaries: Path, node: Path) -> Generator[AuthorityMasters]:
    """Yields three masters that run. `node`: directory with kubectl."""
    made = AuthorityMasters(directory, binaries, node / "kubectl")
    with running(made, directory):
        made.share()
        yield made
