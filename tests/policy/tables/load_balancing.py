from policy.rules.load_balancing import database_behind_proxysql, ingress_uses_tls, load_balanced_row_has_service
from tests.policy.cases import case
from tests.policy.world import (
    UNKNOWN,
    Given,
    behind_proxysql,
    cloud,
    companion,
    names,
    proxysql,
    quorum,
    service,
    stack,
    workload,
)

KEYSTONE = workload("keystone", row="keystone-all")
rule, proxy = load_balanced_row_has_service, database_behind_proxysql
GALERA = quorum("mysqld", "mysqld-server")


def ingress(*hosts: object, **spec: object) -> Given:
    rules = [{"host": host} if host else {} for host in hosts]
    given = {"metadata": {"name": "openstack"}, "spec": {"rules": rules, **spec}}
    return Given("kubernetes:networking.k8s.io/v1:Ingress", "openstack", given)


HOST = "identity.example.org"
tls = ingress_uses_tls

CASES = (
    case(tls, "a host with a certificate", ingress(HOST, tls=[{"hosts": [HOST]}]), passes="openstack"),
    case(tls, "a certificate for all hosts", ingress(HOST, "", tls=[{"secretName": "tls"}]), passes="openstack"),
    case(tls, "a certificate with a wildcard", ingress(HOST, tls=[{"hosts": ["*.example.org"]}]), passes="openstack"),
    case(
        tls,
        "a wildcard of another domain",
        ingress(HOST, tls=[{"hosts": ["*.example.com"]}]),
        fails="openstack",
        message=f"without TLS: {HOST}; expected an entry under tls for each host",
    ),
    case(
        tls,
        "one host of two",
        ingress(HOST, "image.example.org", tls=[{"hosts": [HOST]}]),
        fails="openstack",
        message="without TLS: image.example.org",
    ),
    case(tls, "no certificate", ingress(HOST), fails="openstack", message=f"without TLS: {HOST}"),
    case(
        tls,
        "requests for any other host",
        ingress(HOST, tls=[{"hosts": [HOST]}], defaultBackend={"service": {"name": "horizon"}}),
        fails="openstack",
        message="without TLS: any host",
    ),
    case(tls, "a host that is not known yet", ingress(UNKNOWN, tls=[{"hosts": [HOST]}]), undecided="openstack"),
    case(tls, "no Ingress", cloud(), KEYSTONE),
    case(rule, "a Service in front", cloud(), KEYSTONE, service("keystone"), passes="keystone"),
    case(
        rule,
        "a headless one for names beside it",
        cloud(),
        quorum("mysqld", "mysqld-server"),
        service("mysqld"),
        service("mysqld", clusterIP="None"),
        passes="mysqld",
    ),
    case(
        rule,
        "a Service in front of the proxy that accompanies the row",
        cloud(),
        GALERA,
        proxysql("mysqld"),
        service("proxysql"),
        passes="mysqld",
    ),
    case(
        rule,
        "a Service in front of a companion that is not a proxy",
        cloud(),
        GALERA,
        companion("exporter", "mysqld-server"),
        service("exporter"),
        fails="mysqld",
    ),
    case(
        rule,
        "a proxy of another row",
        cloud(),
        GALERA,
        companion("proxysql", "rabbitmq-server", image="registry/proxysql:1"),
        service("proxysql"),
        fails="mysqld",
    ),
    case(rule, "none at all", cloud(), KEYSTONE, fails="keystone", message="no Service selects its pods"),
    case(rule, "it selects other pods", cloud(), KEYSTONE, service("keystone", {"app": "keystone"}), fails="keystone"),
    case(rule, "in another namespace", cloud(), KEYSTONE, service("keystone", namespace="default"), fails="keystone"),
    case(
        rule,
        "only a headless one",
        cloud(),
        KEYSTONE,
        service("keystone", clusterIP="None"),
        fails="keystone",
        message="only headless Services select its pods (keystone-service)",
    ),
    case(rule, "an alias for a name", cloud(), KEYSTONE, service("keystone", type="ExternalName"), fails="keystone"),
    case(rule, "without a selector", cloud(), KEYSTONE, service("keystone", {}), fails="keystone"),
    case(rule, "a row that needs none", cloud(), workload("nova-conductor", row="nova-conductor")),
    case(rule, "no architecture is named", stack(), KEYSTONE),
    case(
        rule,
        "an address that may be none",
        cloud(),
        KEYSTONE,
        service("keystone", clusterIP=UNKNOWN),
        undecided="keystone",
    ),
    case(
        rule,
        "unknown selector",
        cloud(),
        KEYSTONE,
        service("keystone", UNKNOWN),
        undecided="keystone",
        message="spec.selector of keystone-service",
    ),
    case(
        proxy,
        "through ProxySQL, by the name of its port",
        behind_proxysql(GALERA),
        names("mysqld"),
        service("mysqld", ports=[{"port": 3306, "targetPort": "proxysql"}]),
        passes="mysqld",
    ),
    case(
        proxy,
        "ProxySQL as a workload of its own",
        cloud(),
        GALERA,
        proxysql("mysqld"),
        service("proxysql", ports=[{"port": 3306, "targetPort": "proxysql"}]),
        passes="mysqld",
    ),
    case(
        proxy,
        "past it, though it is there",
        cloud(),
        GALERA,
        proxysql("mysqld"),
        service("proxysql", ports=[{"port": 3306, "targetPort": "proxysql"}]),
        service("mysqld", ports=[{"port": 3306, "targetPort": "mysql"}]),
        fails="mysqld",
    ),
    case(
        proxy,
        "by its number",
        behind_proxysql(GALERA),
        service("mysqld", ports=[{"port": 3306, "targetPort": 6033}]),
        passes="mysqld",
    ),
    case(
        proxy,
        "past it",
        behind_proxysql(GALERA),
        service("mysqld", ports=[{"port": 3306}]),
        fails="mysqld",
        message="Service mysqld-service targets database port 3306; expected a port of a proxy container",
    ),
    case(
        proxy,
        "no proxy at all, hand-written",
        workload("db", image="mariadb:11", labels={"app": "db"}, replicas=2),
        service("db", {"app": "db"}, ports=[{"port": 3306, "targetPort": "mysql"}]),
        fails="db",
    ),
    case(proxy, "names alone, or no Galera", GALERA, names("mysqld"), quorum(), service("rabbitmq")),
    case(
        proxy,
        "an unknown port",
        behind_proxysql(GALERA),
        service("mysqld", ports=[{"port": 3306, "targetPort": UNKNOWN}]),
        undecided="mysqld",
    ),
)
