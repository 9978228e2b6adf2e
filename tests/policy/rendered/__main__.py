"""What the Kubernetes provider renders from files on the disk: charts, kustomizations and manifests, each a quorum of
two. A Release is rendered by Helm during the update, and no preview has its objects.
"""

from __future__ import annotations

import os
from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_kubernetes.helm import v3 as helm_v3
from pulumi_kubernetes.helm import v4 as helm_v4
from pulumi_kubernetes.yaml import v2 as yaml_v2

HERE = Path(__file__).resolve().parent
CHART, OVERLAY, MANIFEST = (str(HERE / name) for name in ("chart", "overlay", "overlay/members.yaml"))
NAMESPACE = "openstack"
rendered = kubernetes.Provider("rendered", render_yaml_to_directory=os.environ["QUORATE_RENDERED"], kubeconfig="")
opts = pulumi.ResourceOptions(provider=rendered)

helm_v4.Chart("chart", chart=CHART, namespace=NAMESPACE, opts=opts)
helm_v3.Chart("old-chart", helm_v3.LocalChartOpts(path=CHART, namespace=NAMESPACE), opts=opts)
helm_v3.Release("release", chart=CHART, namespace=NAMESPACE, opts=opts)
# Version 2 of Directory renders as well, but the SDK for Python (4.25.0) cannot read its outputs.
kubernetes.kustomize.Directory("overlay", directory=OVERLAY, opts=opts)
yaml_v2.ConfigFile("file", file=MANIFEST, opts=opts)
yaml_v2.ConfigGroup("group", files=[MANIFEST], opts=opts)
