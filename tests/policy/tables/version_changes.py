from collections.abc import Mapping

from policy.rules.version_changes import (
    authority_trusted_before_use,
    live_upgrade_has_operation,
    one_version_at_a_time,
    version_step_supported,
)
from tests.policy.cases import case
from tests.policy.world import UNKNOWN, Given, cloud, machine, quorum, workload

step, together, live = version_step_supported, one_version_at_a_time, live_upgrade_has_operation
trusted = authority_trusted_before_use

MARIADB, RABBITMQ, CEPH = "database mysqld", "broker rabbitmq", "Ceph ceph-mon"
BASE = {
    "OpenStack": "2026.1",
    "Kubernetes": "1.36.3",
    MARIADB: "2026.1-debian-trixie",
    RABBITMQ: "2026.1-debian-trixie",
}


def deployed(versions: Mapping[str, object] | object) -> Given:
    """The record of the last deployment, with these versions."""
    return Given("quorate:index:Previous", "previous", {"stood": {}, "versions": versions})


FIRST = Given("quorate:index:Previous", "previous", {"stood": None, "versions": None})


def now(
    release: str = "2026.1",
    kubernetes: str = "1.36.3",
    database: str = ":2026.1-debian-trixie",
    broker: str = ":2026.1-debian-trixie",
    target: str = "render",
    *,
    networks: str = "",
) -> list[Given]:
    """A stack with these versions. `networks`: the fact of the Cloud; "" for none, as with Neutron's agents."""
    kubeadm = {"/etc/kubernetes/kubeadm.yaml": f"kind: ClusterConfiguration\nkubernetesVersion: v{kubernetes}\n"}
    return [
        cloud(release=release, target=target, **({"networks": networks} if networks else {})),
        machine("master-1", "master", roles=["master"], files=kubeadm),
        quorum(image=f"registry:5000/rabbitmq{broker}"),
        workload("mysqld", "StatefulSet", row="mysqld-server", image=f"registry:5000/mariadb-server{database}"),
    ]


def generations(given: object, name: str = "etcd") -> Given:
    """A master tier with these generations of an authority or key; `name`: as in the stack file."""
    return Given("quorate:k8s:MasterTier", "masters", {"masters": [], "generations": {name: given}})


def token_keys(given: object) -> Given:
    return generations(given, "serviceAccounts")


def kubernetes(given: object) -> Given:
    return generations(given, "kubernetes")


BOTH = {**BASE, "authority etcd": "1 of 1+2"}
BOTH_OF_KUBERNETES = {**BASE, "authority kubernetes": "1 of 1+2"}
BOTH_KEYS = {**BASE, "authority serviceAccounts": "1 of 1+2"}
OLD_DIGEST, NEW_DIGEST = (f"sha256:{letter * 64}" for letter in "ab")
DIGESTS = {**BASE, MARIADB: OLD_DIGEST, RABBITMQ: OLD_DIGEST}

CASES = (
    case(step, "nothing changes", deployed(BASE), now(), passes="previous"),
    case(step, "the next minor version", deployed(BASE), now(kubernetes="1.37.2"), passes="previous"),
    case(step, "a patch version", deployed(BASE), now(kubernetes="1.36.9"), passes="previous"),
    case(
        step,
        "a minor version back",
        deployed(BASE),
        now(kubernetes="1.35.9"),
        fails="previous",
        message="quorate:kubernetes: Kubernetes from 1.36.3 to 1.35.9 goes back; expected 1.36.3: data of a newer "
        "version is not readable for an older one",
    ),
    case(step, "a patch version back", deployed(BASE), now(kubernetes="1.36.1"), fails="previous"),
    case(
        step,
        "a minor version is skipped",
        deployed({**BASE, "Kubernetes": "1.35.1"}),
        now(kubernetes="1.37.2"),
        fails="previous",
        message="Kubernetes from 1.35.1 to 1.37.2 skips a version; expected 1.36 next",
    ),
    case(step, "from SLURP to SLURP", deployed({**BASE, "OpenStack": "2025.1"}), now(), passes="previous"),
    case(step, "two releases back", deployed(BASE), now(release="2025.1"), fails="previous"),
    case(
        step,
        "a release that is skipped outside of a SLURP pair",
        deployed({**BASE, "OpenStack": "2025.2"}),
        now(release="2026.2"),
        fails="previous",
        message="quorate:release: OpenStack from 2025.2 to 2026.2 skips a version; expected 2026.1 next",
    ),
    case(
        step,
        "a series of RabbitMQ is skipped, in Kolla's images",
        deployed({**BASE, RABBITMQ: "2025.1-debian-bookworm"}),
        now(),
        fails="previous",
        message="quorate:services.rabbitmq.image: RabbitMQ from 4.0 (image 2025.1-debian-bookworm) to 4.2 (image "
        "2026.1-debian-trixie) skips a version; expected 4.1 next",
    ),
    case(
        step,
        "an older MariaDB, in an image of one's own",
        deployed({**BASE, MARIADB: "11.4.2"}),
        now(database=":10.11.6"),
        fails="previous",
        message="quorate:services.mysqld.image",
    ),
    case(step, "another digest", deployed(DIGESTS), now(database=f"@{NEW_DIGEST}"), passes="previous"),
    case(step, "the first deployment", FIRST, now()),
    case(step, "what was deployed is unknown", deployed(UNKNOWN), undecided="previous"),
    case(together, "one changes", deployed(BASE), now(kubernetes="1.37.2"), passes="previous"),
    case(
        together,
        "Kubernetes and the broker",
        deployed(BASE),
        now(kubernetes="1.37.2", broker=":2026.2-debian-trixie"),
        fails="previous",
        message="quorate:kubernetes: Kubernetes from 1.36.3 to 1.37.2, RabbitMQ from 4.2 (image 2026.1-debian-trixie) "
        "to 4.3 (image 2026.2-debian-trixie) change together; expected one of them in an update",
    ),
    case(
        together,
        "a release, and all images with it",
        deployed(BASE),
        now(release="2026.2", database=":2026.2-debian-trixie", broker=":2026.2-debian-trixie"),
        fails="previous",
        message="(quorate:services.mysqld.image: the image that is deployed, 2026.1-debian-trixie; "
        "quorate:services.rabbitmq.image: the image that is deployed, 2026.1-debian-trixie)",
    ),
    case(
        together,
        "a release alone, with the images as they were",
        deployed(BASE),
        now(release="2026.2"),
        passes="previous",
    ),
    case(
        together,
        "a release, and another digest of the database",
        deployed(DIGESTS),
        now(release="2026.2", database=f"@{NEW_DIGEST}", broker=f"@{OLD_DIGEST}"),
        fails="previous",
    ),
    case(
        together,
        "other digests of database and broker: the same versions, rebuilt",
        deployed(DIGESTS),
        now(database=f"@{NEW_DIGEST}", broker=f"@{NEW_DIGEST}"),
        passes="previous",
    ),
    case(together, "the first deployment", FIRST, now()),
    case(together, "what was deployed is unknown", deployed(UNKNOWN), undecided="previous"),
    case(trusted, "no authority is replaced", deployed(BASE), now(), passes="previous"),
    case(trusted, "both are trusted", deployed(BASE), now(), generations("1 of 1+2"), passes="previous"),
    case(trusted, "the new one is used", deployed(BOTH), now(), generations("2 of 1+2"), passes="previous"),
    case(trusted, "back again", deployed(BOTH), now(), passes="previous"),
    case(
        trusted,
        "the old one is not trusted any more",
        deployed({**BASE, "authority etcd": "2 of 1+2"}),
        now(),
        generations("2 of 2"),
        passes="previous",
    ),
    case(
        trusted,
        "the new one is used at once",
        deployed(BASE),
        now(),
        generations("2 of 1+2"),
        fails="previous",
        message="quorate:certificates.etcd.uses: 2, which members do not trust yet; expected 1, "
        "with trusts: [1, 2]; deploy that to all members first",
    ),
    case(
        trusted,
        "the old one is dropped while it is used",
        deployed(BOTH),
        now(),
        generations("2 of 2"),
        fails="previous",
        message="quorate:certificates.etcd.trusts: without 1, which members still use; expected "
        "[1, 2] until all of them use 2",
    ),
    case(
        trusted,
        "the key leaves the stack file in the middle",
        deployed({**BASE, "authority etcd": "2 of 2"}),
        now(),
        fails="previous",
        message="quorate:certificates.etcd.uses: 1, which members",
    ),
    case(trusted, "the first deployment", FIRST, now(), generations("2 of 2")),
    case(trusted, "nodes trust both", deployed(BASE), now(), kubernetes("1 of 1+2"), passes="previous"),
    case(trusted, "nodes use the new", deployed(BOTH_OF_KUBERNETES), now(), kubernetes("2 of 1+2"), passes="previous"),
    case(
        trusted,
        "nodes use the new authority at once",
        deployed(BASE),
        now(),
        kubernetes("2 of 1+2"),
        fails="previous",
        message="quorate:certificates.kubernetes.uses: 2, which kubelets do not trust yet; expected 1, "
        "with trusts: [1, 2]; deploy that to all kubelets first",
    ),
    case(
        trusted,
        "the old authority of nodes is dropped while they use it",
        deployed(BOTH_OF_KUBERNETES),
        now(),
        kubernetes("2 of 2"),
        fails="previous",
        message="quorate:certificates.kubernetes.trusts: without 1, which kubelets still use; expected "
        "[1, 2] until all of them use 2",
    ),
    case(trusted, "the nodes' authority is unknown", deployed(BASE), now(), kubernetes(UNKNOWN), undecided="previous"),
    case(trusted, "both keys of tokens are accepted", deployed(BASE), now(), token_keys("1 of 1+2"), passes="previous"),
    case(trusted, "the new key of tokens signs", deployed(BOTH_KEYS), now(), token_keys("2 of 1+2"), passes="previous"),
    case(
        trusted,
        "the new key of tokens signs at once",
        deployed(BASE),
        now(),
        token_keys("2 of 1+2"),
        fails="previous",
        message="quorate:certificates.serviceAccounts.uses: 2, which API servers do not trust yet; expected "
        "1, with trusts: [1, 2]; deploy that to all API servers first",
    ),
    case(
        trusted,
        "the old key of tokens is dropped while it signs",
        deployed(BOTH_KEYS),
        now(),
        token_keys("2 of 2"),
        fails="previous",
        message="quorate:certificates.serviceAccounts.trusts: without 1, which API servers still use; "
        "expected [1, 2] until all of them use 2",
    ),
    case(trusted, "the keys of tokens are unknown", deployed(BASE), now(), token_keys(UNKNOWN), undecided="previous"),
    case(trusted, "computes trust both", deployed(BASE), now(), generations("1 of 1+2", "computes"), passes="previous"),
    case(
        trusted,
        "a compute uses the new authority at once",
        deployed(BASE),
        now(),
        generations("2 of 2", "computes"),
        fails="previous",
        message="quorate:certificates.computes.uses: 2, which computes do not trust yet; expected 1, with trusts: "
        "[1, 2]; deploy that to all computes first",
    ),
    case(
        trusted,
        "all generations are unknown",
        deployed(BASE),
        now(),
        Given("quorate:k8s:MasterTier", "masters", {"masters": [], "generations": UNKNOWN}),
        undecided="previous",
    ),
    case(trusted, "what was deployed is unknown", deployed(UNKNOWN), undecided="previous"),
    case(trusted, "what is deployed is unknown", deployed(BASE), now(), generations(UNKNOWN), undecided="previous"),
    case(live, "nothing changes", deployed(BASE), now(target="live"), passes="previous"),
    case(
        live,
        "nothing changes with OVN",
        deployed({**BASE, "networks": "ovn"}),
        now(target="live", networks="ovn"),
        passes="previous",
    ),
    case(
        live,
        "Neutron's agents in place of OVN",
        deployed({**BASE, "networks": "ovn"}),
        now(target="live"),
        fails="previous",
        message="quorate:networks.backend: the backend of networks from ovn to ovs on a running cloud",
    ),
    case(
        live,
        "a release",
        deployed(BASE),
        now(release="2026.2", target="live"),
        fails="previous",
        message="quorate:release: OpenStack from 2026.1 to 2026.2 on a running cloud; expected 2026.1",
    ),
    case(
        live, "a patch version of Kubernetes", deployed(BASE), now(kubernetes="1.36.4", target="live"), fails="previous"
    ),
    case(
        live,
        "a rebuilt image of the same series",
        deployed({**BASE, MARIADB: "11.4.2"}),
        now(database=":11.4.9", target="live"),
        passes="previous",
    ),
    case(live, "files only", deployed(BASE), now(release="2026.2")),
    case(live, "what was deployed is unknown", deployed(UNKNOWN), undecided="previous"),
)
