from openstack import scripts
from policy.rules.volume_managers import one_manager_per_volume
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, config_map, daemons, machines, reading, workload

one = one_manager_per_volume
SHARED = "[DEFAULT]\nenabled_backends = ceph\n[ceph]\nbackend_host = ceph\n"
CLUSTER = "[DEFAULT]\nenabled_backends = ceph\ncluster = ceph\n[ceph]\nbackend_host =\n"
BY_LEASE = "env PYTHONPATH=/etc/cinder python3 -m one_manager run cinder-volume"
NODE = {"name": "OS_DEFAULT__HOST", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}


def cinder(given: Given | None = None, **container: object) -> Given:
    """cinder-volume, which reads the ConfigMap of its name."""
    built = given or workload("cinder-volume", pools=("rabbitmq",), row="cinder-volume")
    main = {"name": "main", "image": "registry/cinder-volume:1", "env": [NODE], **container}
    return reading(built.but(spec__template__spec__containers=[main]), "cinder-volume")


def options(text: str, command: str = "cinder-volume") -> Given:
    return config_map("cinder-volume", {"cinder.conf": text, "config.json": f'{{"command": "{command}"}}'})


CASES = (
    case(one, "by a Lease", cloud(), cinder(), options(SHARED, BY_LEASE), passes="cinder-volume"),
    case(
        one,
        "by a Lease, in the container's command",
        cloud(),
        cinder(command=BY_LEASE.split()),
        options(SHARED),
        passes="cinder-volume",
    ),
    case(
        one,
        "one host, and nothing that keeps the instances apart",
        cloud(),
        cinder(),
        options(SHARED),
        fails="cinder-volume",
        message="3 instances share the host ceph; expected one at a time, by a Lease",
    ),
    case(
        one,
        "the program, which the command does not run",
        cloud(),
        cinder(),
        config_map(
            "cinder-volume",
            {
                "cinder.conf": SHARED,
                "config.json": '{"command": "cinder-volume"}',
                "one_manager-__main__.py": scripts.modules("one_manager")["__main__.py"],
            },
        ),
        fails="cinder-volume",
        message="share the host ceph",
    ),
    case(
        one,
        "one host in a cluster",
        cloud(),
        cinder(),
        options(f"{SHARED}[DEFAULT]\ncluster = c\n[coordination]\nbackend_url = etcd3+http://etcd:2379\n"),
        fails="cinder-volume",
        message="share the host ceph",
    ),
    case(
        one,
        "the second backend with one host",
        cloud(),
        cinder(),
        options("[DEFAULT]\nenabled_backends = lvm, ceph\n[lvm]\n[ceph]\nbackend_host = ceph\n"),
        fails="cinder-volume",
        message="share the host ceph",
    ),
    case(
        one,
        "one host for all backends",
        cloud(),
        cinder(env=[]),
        options("[DEFAULT]\nhost = storage\n"),
        fails="cinder-volume",
        message="share the host storage",
    ),
    case(
        one,
        "a host that the node's name overrides",
        cloud(),
        cinder(),
        options("[DEFAULT]\nhost = storage\n"),
        passes="cinder-volume",
    ),
    case(
        one,
        "a backend that is not enabled",
        cloud(),
        cinder(),
        options("[DEFAULT]\nenabled_backends = lvm\n[ceph]\nbackend_host = ceph\n"),
        passes="cinder-volume",
    ),
    case(
        one,
        "a cluster with locks",
        cloud(),
        cinder(),
        options(f"{CLUSTER}[coordination]\nbackend_url = etcd3+http://etcd:2379\n"),
        passes="cinder-volume",
    ),
    case(
        one,
        "a cluster without locks",
        cloud(),
        cinder(),
        options(CLUSTER),
        fails="cinder-volume",
        message="the locks of the cluster ceph are files of each instance (file://$state_path); expected a backend_url "
        "that all instances reach and that keeps locks, such as etcd3+http",
    ),
    case(
        one,
        "a cluster with locks in memcached",
        cloud(),
        cinder(),
        options(f"{CLUSTER}[coordination]\nbackend_url = memcached://cache:11211\n"),
        fails="cinder-volume",
        message="may be lost at any time",
    ),
    case(
        one,
        "on every compute, with volumes on its disks",
        cloud(),
        machines("compute", 2),
        cinder(daemons("cinder-volume", "compute", row="cinder-volume")),
        options("[DEFAULT]\nenabled_backends = lvm\n[lvm]\nvolume_group = volumes\n"),
        passes="cinder-volume",
    ),
    case(
        one,
        "a single instance",
        cloud(),
        cinder(workload("cinder-volume", row="cinder-volume", replicas=1)),
        options(SHARED),
    ),
    case(
        one,
        "another service",
        cloud(),
        reading(workload("glance-api", row="glance-api"), "cinder-volume"),
        options(SHARED),
    ),
    case(one, "without its configuration", cloud(), cinder()),
    case(
        one,
        "unknown configuration",
        cloud(),
        cinder(),
        config_map("cinder-volume", {"cinder.conf": UNKNOWN}),
        undecided="cinder-volume",
    ),
    case(
        one,
        "an unknown number",
        cloud(),
        cinder(workload("cinder-volume", row="cinder-volume", replicas=UNKNOWN)),
        options(SHARED),
        undecided="cinder-volume",
    ),
)
