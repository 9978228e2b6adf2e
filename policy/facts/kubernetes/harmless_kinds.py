"""Custom resources that cannot stop, evict, starve, cut or delete a quorum member, by API group and kind.

Each kind has the answer to this question. Kinds whose operator makes pods are not here: operators.py reads them. Nor
are kinds that change other objects, such as a Cilium policy or a chaos experiment.
"""

from __future__ import annotations

from collections.abc import Mapping

_SHOWS = "what Grafana shows; it changes nothing in the cluster"
_READS = "what Prometheus reads; it changes nothing in the cluster"
_SIGNS = "asks for a certificate, which is a Secret; it starts no pod"
_ROUTES = "routes of clients' requests; connections between members do not pass a gateway"
_ACCOUNT = "an account or a name space in Ceph; its pools are resources of their own"

HARMLESS_KINDS: Mapping[str, Mapping[str, str]] = {
    "monitoring.coreos.com": {
        **dict.fromkeys(("ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig"), _READS),
        "PrometheusRule": "alerts and sums; they change nothing in the cluster",
        "AlertmanagerConfig": "whom Alertmanager tells; it changes nothing in the cluster",
    },
    "grafana.integreatly.org": dict.fromkeys(
        (
            *("GrafanaDashboard", "GrafanaDatasource", "GrafanaFolder", "GrafanaAlertRuleGroup", "GrafanaContactPoint"),
            *("GrafanaNotificationPolicy", "GrafanaMuteTiming", "GrafanaNotificationTemplate", "GrafanaLibraryPanel"),
        ),
        _SHOWS,
    ),
    "cert-manager.io": {
        **dict.fromkeys(("Certificate", "CertificateRequest"), _SIGNS),
        **dict.fromkeys(("Issuer", "ClusterIssuer"), "signs what Certificates ask for; it starts no pod"),
    },
    "trust.cert-manager.io": {"Bundle": "a ConfigMap of authorities' certificates"},
    "gateway.networking.k8s.io": dict.fromkeys(
        ("GatewayClass", "HTTPRoute", "GRPCRoute", "TLSRoute", "ReferenceGrant"), _ROUTES
    ),
    "snapshot.storage.k8s.io": dict.fromkeys(
        ("VolumeSnapshot", "VolumeSnapshotClass", "VolumeSnapshotContent"),
        "a copy of a volume, which it leaves as it is",
    ),
    "ceph.rook.io": dict.fromkeys(
        (
            *("CephClient", "CephObjectStoreUser", "CephFilesystemSubVolumeGroup", "CephBlockPoolRadosNamespace"),
            *("CephObjectRealm", "CephObjectZoneGroup", "CephBucketTopic", "CephBucketNotification"),
        ),
        _ACCOUNT,
    ),
    "rabbitmq.com": dict.fromkeys(
        ("User", "Vhost", "Permission", "Exchange", "Binding"), "an account or a route in RabbitMQ; it stops no member"
    ),
    "k8s.mariadb.com": dict.fromkeys(
        ("Database", "User", "Grant"), "an account or an empty database; the operator leaves tables as they are"
    ),
}


def why_harmless(group_and_kind: str) -> str:
    """Returns why resources of a kind, such as `cert-manager.io/Issuer`, are harmless; "" if it is not listed."""
    group, _, kind = group_and_kind.partition("/")
    return HARMLESS_KINDS.get(group, {}).get(kind, "")
