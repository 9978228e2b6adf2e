"""The target `live`: applies Kubernetes objects to the cluster of a kubeconfig's context.

The provider reads the kubeconfig as kubectl does (KUBECONFIG, or ~/.kube/config), so that neither credentials nor a
path of this machine enter the state.
"""

from __future__ import annotations

from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes

from blueprint.stackfile.settings import ExistingCluster
from components.target import Target, Tree

CLUSTER_IDENTIFIER = "quorate"
"""A constant: otherwise the provider would replace every object when the context is renamed. The commands compare the
cluster with the state before every run (commands/live_cluster.py)."""

TIMEOUT = "30m"
"""How long an object may take until it is ready. The provider's 10 minutes are short for a schema change of a large
database and for the first download of images. Project figure, not measured."""

_TYPE = "kubernetes:{}"
_KEPT = tuple(
    map(
        _TYPE.format,
        (
            "core/v1:Namespace",
            "core/v1:PersistentVolume",
            "core/v1:PersistentVolumeClaim",
            "storage.k8s.io/v1:StorageClass",
        ),
    )
)
"""Types of objects that `destroy` leaves in the cluster: the members' data, and what their claims depend on."""
_FORCE = {"pulumi.com/patchForce": "true"}
"""The declared state wins over other writers of the same fields, as Kubernetes recommends for controllers of their own
objects (Server-Side Apply, Conflicts). Otherwise an interrupted `up` leaves objects that the next one cannot change."""
_ANNOTATIONS = {
    # The provider would wait until a Service's pods are ready. Their workloads depend on the Service, so an update that
    # repairs its pods would never start.
    _TYPE.format("core/v1:Service"): {"pulumi.com/skipAwait": "true"},
    # The claim for backups is bound when the first backup runs.
    _TYPE.format("core/v1:PersistentVolumeClaim"): {"pulumi.com/skipAwait": "true"},
    # A failed Job never completes. The next update replaces it, so that it runs again.
    _TYPE.format("batch/v1:Job"): {"pulumi.com/replaceUnready": "true"},
}


class Live(Target):
    """Applies objects; Secret objects go to the same cluster. Machines exist already."""

    def __init__(self, cluster: ExistingCluster) -> None:
        self.kubernetes = kubernetes.Provider(
            "live",
            context=cluster.context,
            cluster_identifier=CLUSTER_IDENTIFIER,
            # Set here, since the SDK would read them from the user's environment. An empty kubeconfig makes the
            # provider search for one as kubectl does. An object that exists already is taken over.
            kubeconfig="",
            delete_unreachable=False,
            skip_update_unreachable=False,
            enable_server_side_apply=True,
        )
        self.secrets = self.kubernetes

    def options(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(providers=[self.kubernetes], transformations=[_for_cluster])

    def machines(self, name: str, tree: Tree, opts: pulumi.ResourceOptions) -> None:
        """Raises NotImplementedError: blueprint/stackfile/checks.py refuses a live stack that makes machines."""
        raise NotImplementedError(name)


def _for_cluster(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
    """Adds to an object how the provider awaits and deletes it in a cluster."""
    if not args.type_.startswith(_TYPE.format("")):
        return None
    props = dict(args.props)
    metadata = cast("dict[str, Any]", props["metadata"])
    added = _FORCE | _ANNOTATIONS.get(args.type_, {})
    props["metadata"] = {**metadata, "annotations": {**metadata.get("annotations", {}), **added}}
    timeouts = pulumi.CustomTimeouts(create=TIMEOUT, update=TIMEOUT)
    more = pulumi.ResourceOptions(custom_timeouts=timeouts, retain_on_delete=args.type_ in _KEPT or None)
    return pulumi.ResourceTransformationResult(props, pulumi.ResourceOptions.merge(args.opts, more))
