"""The target `live`: applies Kubernetes objects to the cluster of a kubeconfig's context.

The provider finds the kubeconfig as kubectl does (KUBECONFIG, or ~/.kube/config), so that the state contains neither
credentials nor a path of the user's machine.
"""

from __future__ import annotations

from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes

from blueprint.stackfile.settings import ExistingCluster
from components.target import Target, Tree

CLUSTER_IDENTIFIER = "quorate"
"""Cluster identifier for the Kubernetes provider. It is constant, because the provider would otherwise replace every
object when the context is renamed. The commands check that the cluster is that of the state
(commands/live/connection.py).
"""

TIMEOUT = "30m"
"""How long an object may take until it is ready. The provider's default of 10 minutes can be too short for a schema
change of a large database or the first download of images. Project figure, not measured."""

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
"""Types of objects that `destroy` leaves in the cluster: volumes and claims with the members' data, and the namespace
and storage class of the claims."""
_FORCE = {"pulumi.com/patchForce": "true"}
"""The declared state wins over other writers of the same fields, as Kubernetes recommends for controllers of their own
objects (Server-Side Apply, Conflicts). Otherwise an interrupted `up` leaves objects that the next one cannot change."""
_ANNOTATIONS = {
    # By default, the provider waits until a Service's pods are ready. The pods' workloads depend on the Service, so an
    # update that repairs these pods would never start.
    _TYPE.format("core/v1:Service"): {"pulumi.com/skipAwait": "true"},
    # The provider waits for the address that a controller reports. Controllers on ports of nodes report none.
    _TYPE.format("networking.k8s.io/v1:Ingress"): {"pulumi.com/skipAwait": "true"},
    # The claim for backups is bound when the first backup runs.
    _TYPE.format("core/v1:PersistentVolumeClaim"): {"pulumi.com/skipAwait": "true"},
    # A failed Job never completes. The next update replaces it, so that it runs again.
    _TYPE.format("batch/v1:Job"): {"pulumi.com/replaceUnready": "true"},
}


class Live(Target):
    """Target that applies all Kubernetes objects to a running cluster, whose machines exist already."""

    def __init__(self, cluster: ExistingCluster) -> None:
        # With an empty kubeconfig, the provider searches for the file as kubectl does.
        self._kubernetes = provider("", context=cluster.context)

    @property
    def kubernetes(self) -> kubernetes.Provider:
        return self._kubernetes

    def options(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(transformations=[for_cluster])

    def machines(self, name: str, tree: Tree, opts: pulumi.ResourceOptions) -> None:
        """Raises NotImplementedError: the components of existing machines deliver no files."""
        raise NotImplementedError(name)


def provider(
    kubeconfig: pulumi.Input[str], context: str | None = None, opts: pulumi.ResourceOptions | None = None
) -> kubernetes.Provider:
    """Returns the provider that applies objects to a cluster.

    `kubeconfig`: the file's text; if it is empty, the provider searches for the file. `context`: the context of the
    file; None for its current context.
    """
    # Options that are not needed are set too, because the SDK would otherwise read them from the user's environment.
    # With server-side apply, an object that exists already is taken over.
    return kubernetes.Provider(
        "live",
        opts,
        context=context,
        cluster_identifier=CLUSTER_IDENTIFIER,
        kubeconfig=kubeconfig,
        delete_unreachable=False,
        skip_update_unreachable=False,
        enable_server_side_apply=True,
    )


def for_cluster(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
    """Adds timeouts and annotations to a Kubernetes object, by which the provider awaits and deletes the object.

    Returns None for other resources, which stay unchanged.
    """
    if not args.type_.startswith(_TYPE.format("")):
        return None
    props = dict(args.props)
    metadata = cast("dict[str, Any]", props["metadata"])
    added = _FORCE | _ANNOTATIONS.get(args.type_, {})
    props["metadata"] = {**metadata, "annotations": {**metadata.get("annotations", {}), **added}}
    timeouts = pulumi.CustomTimeouts(create=TIMEOUT, update=TIMEOUT)
    more = pulumi.ResourceOptions(custom_timeouts=timeouts, retain_on_delete=args.type_ in _KEPT or None)
    return pulumi.ResourceTransformationResult(props, pulumi.ResourceOptions.merge(args.opts, more))
