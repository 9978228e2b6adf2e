"""The target `render`: writes files below build/<stack> and needs no server.

manifests/                         Kubernetes objects except Secrets
machines/<node>/                   the directory that the machine's `apply` reads (components/machine/directory.py)
secrets/manifests/                 Secret objects; the mode of secrets/ is 0700
secrets/machines/<node>/<path>     secret files of machines
"""

from __future__ import annotations

import json
from pathlib import PurePosixPath

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi import dynamic

from components.target import Target, Tree, directory, secrets_directory, table
from components.tree import TreeProvider


class Render(Target):
    """Target that only writes files. The operator applies the manifests and copies the files to the machines."""

    def __init__(self, stack: str) -> None:
        self._root = str(directory(stack) / "machines")
        secrets = secrets_directory(stack)
        self._secrets_root = str(secrets / "machines")
        self._kubernetes = _renderer("render", directory(stack) / "manifests")
        self._secrets = _renderer("render-secrets", secrets / "manifests")

    @property
    def kubernetes(self) -> kubernetes.Provider:
        return self._kubernetes

    @property
    def secrets(self) -> kubernetes.Provider:
        return self._secrets

    def machines(self, name: str, tree: Tree, opts: pulumi.ResourceOptions) -> None:
        RenderedTree(f"{name}-tree", tree, self._root, self._secrets_root, opts)


def _renderer(name: str, directory: PurePosixPath) -> kubernetes.Provider:
    # The last three options are set because the SDK would otherwise read them from the user's environment. The provider
    # rejects a kubeconfig together with a directory. delete_unreachable would remove every object from the state in a
    # refresh, and skip_update_unreachable would ignore changes.
    return kubernetes.Provider(
        name,
        render_yaml_to_directory=str(directory),
        kubeconfig="",
        delete_unreachable=False,
        skip_update_unreachable=False,
    )


class RenderedTree(dynamic.Resource, module="quorate", name="Tree"):
    """Resource with the rendered files of machines: one directory for each node."""

    def __init__(self, name: str, tree: Tree, root: str, secrets_root: str, opts: pulumi.ResourceOptions) -> None:
        secrets = {path: pulumi.Output.secret(content) for path, content in tree.secrets.items()}
        # Each as one text: Pulumi takes a second to handle a thousand values in a mapping.
        own = {
            path: pulumi.Output.secret(texts.apply(lambda found: json.dumps(found, sort_keys=True)))
            for path, texts in tree.node_secrets.items()
        }
        inputs = {
            "root": root,
            "nodes": table(tree.nodes),
            "files": dict(tree.files),
            **({"secretsRoot": secrets_root} if secrets or own else {}),
            **({"secrets": pulumi.Output.secret(secrets)} if secrets else {}),
            **({"nodeSecrets": pulumi.Output.secret(own)} if own else {}),
            "written": None,
        }
        super().__init__(TreeProvider(), name, inputs, opts)
