"""Broken stacks with wrong placement: dedicated nodes, shared nodes, anti-affinity and load balancers."""

from collections.abc import Callable

from tests.attacks.attack import container, given
from tests.broken.broken import Broken, Props, apart_terms, moved_to, replicas, requesting
from tests.policy.world import Given


def _without_spread(topology: str) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        terms = apart_terms(props)
        terms[:] = [term for term in terms if term["topologyKey"] != topology]

    return break_


def _without_rival(service: str) -> Callable[[Props], None]:
    """No anti-affinity against another service; either side's own is enough for the scheduler."""

    def break_(props: Props) -> None:
        terms = apart_terms(props)
        for term in terms:
            selector = term["labelSelector"]
            for expression in selector.get("matchExpressions", []):
                expression["values"] = [value for value in expression["values"] if value != service]
        terms[:] = [term for term in terms if service not in term["labelSelector"].get("matchLabels", {}).values()]

    return break_


def _volume_on(node: str) -> Callable[[Props], None]:
    def break_(props: Props) -> None:
        (term,) = props["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        term["matchExpressions"][0]["values"] = [node]

    return break_


def _other_backends(props: Props) -> None:
    props["spec"]["selector"] = {"app": "nothing-has-this"}


def _past_the_proxy(props: Props) -> None:
    props["spec"]["ports"][0]["targetPort"] = "mysql"
    props["spec"]["selector"] = {"app.kubernetes.io/name": "mysqld"}


def _distributed(props: Props) -> None:
    props["data"]["neutron.conf"] = f"[DEFAULT]\nrouter_distributed = True\n{props['data']['neutron.conf']}"


def _gives_functions(props: Props) -> None:
    device = '{"devname": "ens2f1", "physical_network": "physnet1"}'
    props["data"]["nova.conf"] = f"{props['data']['nova.conf']}\n[pci]\ndevice_spec = {device}\n"


def _no_taint(props: Props) -> None:
    props["taints"] = []


def _guest(kind: str, name: str, **spec: object) -> Given:
    """A workload of no row on Galera's nodes, whose containers request nothing."""
    labels = {"app": name}
    toleration = {"key": "quorate.io/dedicated", "operator": "Equal", "value": "mysqld", "effect": "NoSchedule"}
    pod: Props = {"containers": [container(name, resources={})], "tolerations": [toleration]}
    template: Props = {"metadata": {"labels": labels}, "spec": pod}
    return given(f"apps/v1:{kind}", name, {"selector": {"matchLabels": labels}, "template": template, **spec})


CASES = [
    Broken(
        "guests without requests on Galera's nodes",
        (),
        {"dedicated-nodes-admit-guests": {"shop", "scanner"}},
        adds=(_guest("Deployment", "shop", replicas=2), _guest("DaemonSet", "scanner")),
    ),
    Broken(
        "two instances may share a node",
        (("Deployment", "cloud-openstack-keystone", _without_spread("kubernetes.io/hostname")),),
        {"one-instance-per-node": {"cloud-openstack-keystone"}},
    ),
    Broken(
        "horizon on keystone's nodes",
        (
            ("Deployment", "cloud-openstack-horizon", moved_to("keystone")),
            ("Deployment", "cloud-openstack-horizon", _without_rival("keystone")),
            ("Deployment", "cloud-openstack-keystone", _without_rival("horizon")),
        ),
        {"services-apart": {"cloud-openstack-horizon", "cloud-openstack-keystone"}},
    ),
    Broken(
        "a service beside an OSD",
        (("Deployment", "cloud-openstack-alertmanager-nagios", moved_to("storage")),),
        {"nothing-beside-osd": {"cloud-openstack-alertmanager-nagios"}},
    ),
    Broken(
        "a guest that RabbitMQ's nodes do not admit",
        (("Deployment", "cloud-openstack-nova-conductor", moved_to("rabbitmq")),),
        {"dedicated-nodes-admit-guests": {"cloud-openstack-nova-conductor"}},
    ),
    Broken(
        "a Service in front of nothing",
        (("Service", "cloud-openstack-glance-api", _other_backends),),
        {"load-balanced-row-has-service": {"cloud-openstack-glance-api"}},
    ),
    Broken(
        "a dedicated node that lets everybody in",
        (("Machine", "cloud-ctl04", _no_taint),),
        {"machine-facts-match-files": {"cloud-ctl04"}, "dedicated-nodes-are-there": {"cloud"}},
    ),
    Broken(
        "schedulers away from Nova",
        (("Deployment", "cloud-openstack-nova-scheduler", moved_to("rabbitmq")),),
        {"scheduler-beside-nova": {"cloud-openstack-nova-scheduler"}},
    ),
    Broken(
        "metadata agents away from Neutron",
        (("Deployment", "cloud-openstack-neutron-metadata-agent", moved_to("mysqld")),),
        {
            "network-agents-beside-server": {
                "cloud-openstack-neutron-metadata-agent",
                "cloud-openstack-neutron-l3-agent",
                "cloud-openstack-neutron-dhcp-agent",
            }
        },
    ),
    Broken(
        "two metadata agents for the nodes of three routers",
        (("Deployment", "cloud-openstack-neutron-metadata-agent", replicas(2)),),
        {
            "instances-match-row": {"cloud-openstack-neutron-metadata-agent"},
            "network-agents-beside-server": {"cloud-openstack-neutron-l3-agent", "cloud-openstack-neutron-dhcp-agent"},
        },
    ),
    Broken(
        "distributed routers without their agents",
        (("ConfigMap", "cloud-openstack-neutron-server-kolla", _distributed),),
        {"distributed-routers-on-computes": {"cloud-openstack-nova-compute"}},
    ),
    Broken(
        "functions of network cards without their agents",
        (("ConfigMap", "cloud-openstack-nova-compute-kolla", _gives_functions),),
        {"sriov-devices-have-agents": {"cloud-openstack-nova-compute"}},
    ),
    Broken(
        "a light guest of RabbitMQ that is not light",
        (("Deployment", "cloud-openstack-glance-api", requesting("2", "2Gi")),),
        {"light-services-are-light": {"cloud-openstack-glance-api"}},
    ),
    Broken(
        "object gateways away from the monitors",
        (("Deployment", "cloud-openstack-radosgw", moved_to("keystone")),),
        {"radosgw-beside-monitors": {"cloud-openstack-radosgw"}},
    ),
    Broken(
        "clients past ProxySQL",
        (("Service", "cloud-openstack-mariadb-proxysql", _past_the_proxy),),
        {"database-behind-proxysql": {"cloud-openstack-mariadb-mysqld"}},
    ),
    Broken(
        "RabbitMQ and one of its volumes on keystone's nodes",
        (
            ("StatefulSet", "cloud-openstack-rabbitmq", moved_to("rabbitmq", "keystone")),
            ("PersistentVolume", "cloud-openstack-rabbitmq-ctl03", _volume_on("ctl07")),
        ),
        {"alone-on-own-nodes": {"cloud-openstack-rabbitmq"}},
        stack="ra500",
    ),
    Broken(
        "a guest beside the conductor",
        (("Deployment", "cloud-openstack-placement-api", moved_to("nova-conductor")),),
        {"dedicated-nodes-admit-guests": {"cloud-openstack-placement-api"}},
        stack="ra1000",
    ),
]
