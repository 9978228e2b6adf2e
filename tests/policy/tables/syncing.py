from policy.rules.syncing import members_sync_writes
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, config_map, quorum, reading

sync = members_sync_writes


def configured(program: str, name: str, text: object) -> list[Given]:
    """A quorum of this program that mounts a file."""
    image = f"registry.example/{program}:1.2.3"
    return [reading(quorum(program, None, image=image), "conf"), config_map("conf", {name: text})]


CASES = (
    case(sync, "ZooKeeper's default", configured("zookeeper", "zoo.cfg", "tickTime=2000\n"), passes="zookeeper"),
    case(sync, "ZooKeeper syncs", configured("zookeeper", "zoo.cfg", "forceSync=yes\n"), passes="zookeeper"),
    case(
        sync,
        "ZooKeeper does not sync",
        configured("zookeeper", "zoo.cfg", "tickTime=2000\nforceSync=no\n"),
        fails="zookeeper",
        message="zoo.cfg of StatefulSet zookeeper switches off the sync (forceSync); expected the default",
    ),
    case(
        sync,
        "MongoDB without its journal",
        configured("mongodb", "mongod.conf", "storage:\n  journal:\n    enabled: false\n"),
        fails="mongodb",
        message="(journal)",
    ),
    case(
        sync,
        "OpenSearch acknowledges before the sync",
        configured("opensearch", "opensearch.yml", "index.translog.durability: async\n"),
        fails="opensearch",
    ),
    case(
        sync,
        "PostgreSQL without fsync",
        configured("postgresql", "postgresql.conf", "fsync = off\n"),
        fails="postgresql",
    ),
    case(sync, "no such product", configured("rabbitmq", "rabbitmq.conf", "fsync = off\n")),
    case(sync, "an unknown file", configured("zookeeper", "zoo.cfg", UNKNOWN), undecided="zookeeper"),
)
