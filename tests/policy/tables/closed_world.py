from dataclasses import replace

from policy.rules.closed_world import resource_is_known
from tests.policy.cases import case
from tests.policy.world import Given, stack, whole_stack, workload

known = resource_is_known

URN = "urn:pulumi:test::quorate::pulumi:providers:libvirt::default"


def of_type(type_: str, name: str = "it", provider: str = "provider") -> Given:
    return Given(type_, name, {}, provider=provider)


def component(type_: str, name: str = "group") -> Given:
    return of_type(type_, name, provider="")


UNREAD = (
    "kubernetes:helm.sh/v3:Release",
    "kubernetes:kafka.strimzi.io/v1beta2:Kafka",
    "kubernetes:cilium.io/v2:CiliumNetworkPolicy",
    "kubernetes:apps/v1:StatefulSetPatch",
    "kubernetes:flowcontrol.apiserver.k8s.io/v1:FlowSchema",
    "kubernetes:cert-manager.io/v1:Unheard",
    "aws:ec2/instance:Instance",
    "azure-native:compute:VirtualMachine",
    "openstack:compute/instance:Instance",
    "pulumi-nodejs:dynamic:Resource",
)
RENDERED = (
    "kubernetes:helm.sh/v4:Chart",
    "kubernetes:yaml:ConfigFile",
    "kubernetes:yaml/v2:ConfigGroup",
    "kubernetes:kustomize:Directory",
)
READ = (
    "kubernetes:batch/v1:Job",
    "kubernetes:batch/v1:CronJob",
    "kubernetes:core/v1:Pod",
    "kubernetes:networking.k8s.io/v1:NetworkPolicy",
    "kubernetes:autoscaling/v2:HorizontalPodAutoscaler",
    "kubernetes:autoscaling.k8s.io/v1:VerticalPodAutoscaler",
    "kubernetes:rabbitmq.com/v1beta1:RabbitmqCluster",
    "kubernetes:ceph.rook.io/v1:CephCluster",
    "kubernetes:ceph.rook.io/v1:CephBlockPool",
    "kubernetes:ceph.rook.io/v1:CephClient",
    "kubernetes:monitoring.coreos.com/v1:Prometheus",
    "kubernetes:monitoring.coreos.com/v1:ServiceMonitor",
    "kubernetes:monitoring.coreos.com/v1alpha1:ScrapeConfig",
    "kubernetes:grafana.integreatly.org/v1beta1:GrafanaDashboard",
    "kubernetes:cert-manager.io/v1:Certificate",
    "kubernetes:cert-manager.io/v1:ClusterIssuer",
    "pulumi:providers:aws",
)

CASES = (
    case(known, "everything is of a known type", whole_stack(), passes="quorate-test"),
    *(case(known, f"read: {each}", stack(), of_type(each), passes="quorate-test") for each in READ),
    case(known, "a component groups others", stack(), component("mine:app:App"), passes="quorate-test"),
    *(case(known, f"not read: {each}", stack(), of_type(each), fails="it") for each in UNREAD),
    case(
        known,
        "a Helm release",
        stack(),
        of_type("kubernetes:helm.sh/v3:Release"),
        fails="it",
        message="Helm renders its objects during the update, so a preview knows neither them nor what its values do",
    ),
    case(
        known,
        "one finding for each resource",
        stack(),
        of_type("aws:s3/bucket:Bucket", "one"),
        of_type("aws:s3/bucket:Bucket", "two"),
        workload("app"),
        fails="one two",
        message="no rule reads resources of this type; "
        "expected a type that the policy pack evaluates; if nothing replaces it, a waiver",
    ),
    *(
        case(
            known,
            f"nothing rendered: {each}",
            stack(),
            component(each),
            fails="group",
            message="no object of it is rendered",
        )
        for each in RENDERED
    ),
    *(
        case(
            known,
            f"rendered: {each}",
            stack(),
            component(each),
            replace(workload("app"), parent="group"),
            passes="quorate-test",
        )
        for each in RENDERED
    ),
    case(
        known,
        "a hypervisor by its uri",
        stack(),
        of_type("libvirt:index/domain:Domain", provider="qemu+ssh://h1/system"),
        passes="quorate-test",
    ),
    case(
        known,
        "a hypervisor without a known uri",
        stack(),
        of_type("libvirt:index/volume:Volume", provider=URN),
        undecided="it",
        message="the uri of the libvirt provider, which names the physical host, of it cannot be known",
    ),
    case(known, "no resource"),
)
