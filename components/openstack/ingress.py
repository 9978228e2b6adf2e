"""The Ingress object, through which clients outside of the cluster reach the services with TLS (source 004, 1.6.2).

The cluster must have an ingress controller; the stack file names its IngressClass. One Ingress object has all hosts, so
that one certificate covers them. cert-manager creates the certificate if the stack file names an issuer; otherwise the
operator provides the Secret with the certificate.
"""

from __future__ import annotations

import pulumi

from blueprint.openstack.projects.process_definition import ProcessDefinition
from blueprint.stackfile.settings import Ingress
from components.kubernetes_api import meta, networking
from components.openstack import labels
from openstack.config import domains
from openstack.config.wiring import Wiring

_ISSUER = "cert-manager.io/cluster-issuer"


def ingress(name: str, settings: Ingress, wiring: Wiring, opts: pulumi.ResourceOptions) -> networking.Ingress:
    """Creates the Ingress of an environment, with a host for each of its processes that has a subdomain."""
    environment, processes = wiring.environment, wiring.records.processes
    hosts = domains.hosts(settings, wiring.records, wiring.instances)
    annotations = {**({_ISSUER: settings.issuer} if settings.issuer else {}), **settings.annotations}
    metadata = meta.ObjectMetaArgs(
        name=environment,
        namespace=environment,
        labels=labels.named("ingress", "ingress"),
        annotations=annotations or None,
    )
    spec = networking.IngressSpecArgs(
        ingress_class_name=settings.class_name,
        tls=[networking.IngressTLSArgs(hosts=list(hosts.values()), secret_name=settings.certificate)],
        rules=[_rule(host, processes[process]) for process, host in hosts.items()],
    )
    return networking.Ingress(f"{name}-ingress", metadata=metadata, spec=spec, opts=opts)


def _rule(host: str, process: ProcessDefinition) -> networking.IngressRuleArgs:
    port = next(iter(process.exposed.values()))
    service = networking.IngressServiceBackendArgs(
        name=process.name, port=networking.ServiceBackendPortArgs(number=port)
    )
    path = networking.HTTPIngressPathArgs(
        path="/", path_type="Prefix", backend=networking.IngressBackendArgs(service=service)
    )
    return networking.IngressRuleArgs(host=host, http=networking.HTTPIngressRuleValueArgs(paths=[path]))
