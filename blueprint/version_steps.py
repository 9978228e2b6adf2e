"""Which version of a part of the cloud may follow which: one table of steps, and what a change of versions breaks.

`quorate check` compares the stack file with the record of the last deployment, the policy rules an update, and
`quorate diff` two previews. All of them ask `problems`, so that they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

Versions = Mapping[str, str]
"""The version of each part of a cloud: of OpenStack and Kubernetes by the part's name, of others by part and service,
such as `database mysqld`. The version of a container image is its tag, or its digest if it has no tag."""


@dataclass(frozen=True)
class Steps:
    """The steps that the upstream of a part supports."""

    name: str
    """The product's name in messages."""
    key: str
    """The key of the stack file that has the version; `{}` stands for the service."""
    source: str
    """Where upstream says so."""
    after: Mapping[str, tuple[str, ...]]
    """The series that may follow each series directly."""
    in_kolla: Mapping[str, str] | None = None
    """The series in Kolla's images of each release of OpenStack; None if the images are not Kolla's."""
    pattern: str = r"v?(\d+\.\d+)"
    """Matches a version, with its series as the first group."""


IMAGE = "quorate:services.{}.image"
OPENSTACK, KUBERNETES, DATABASE, BROKER, CEPH = "OpenStack", "Kubernetes", "database", "broker", "Ceph"
BACKEND = "networks"
"""The part that connects virtual machines: a cloud with OVN records `ovn`, one with Open vSwitch's agents nothing."""
AUTHORITY = "authority"
"""A certificate authority, such as `authority etcd`, or keys, `authority serviceAccounts`. Its version is the
generation in use and those that are trusted, as in `1 of 1+2`; one that is not recorded has only the first."""
ETCD, CLUSTER, SERVICE_ACCOUNTS, COMPUTES = "etcd", "kubernetes", "serviceAccounts", "computes"
"""Names of these, in the stack file too."""
_USERS = {ETCD: "members", CLUSTER: "kubelets", SERVICE_ACCOUNTS: "API servers", COMPUTES: "computes"}
"""Those that use another authority or key one after the other."""
_FIRST = "1 of 1"

TABLE: Mapping[str, Steps] = {
    OPENSTACK: Steps(
        "OpenStack",
        "quorate:release",
        "https://governance.openstack.org/tc/resolutions/20220210-release-cadence-adjustment.html",
        # Releases .1 are SLURP: from one of them, the release between may be skipped.
        {"2025.1": ("2025.2", "2026.1"), "2025.2": ("2026.1",), "2026.1": ("2026.2", "2027.1"), "2026.2": ("2027.1",)},
    ),
    KUBERNETES: Steps(
        "Kubernetes",
        "quorate:kubernetes",
        "https://kubernetes.io/releases/version-skew-policy/",
        {"1.35": ("1.36",), "1.36": ("1.37",), "1.37": ("1.38",)},
    ),
    DATABASE: Steps(
        "MariaDB",
        IMAGE,
        "https://mariadb.com/docs/server/server-management/install-and-upgrade-mariadb/upgrading/"
        "mariadb-community-server-upgrade-paths/general-upgrade-information",
        # Members of Galera that run at the same time are one long-term series apart at most.
        {"10.6": ("10.11",), "10.11": ("11.4",), "11.4": ("11.8",), "11.8": ("12.3",)},
        {"2025.1": "10.11", "2025.2": "11.4", "2026.1": "11.4", "2026.2": "11.4"},
    ),
    BROKER: Steps(
        "RabbitMQ",
        IMAGE,
        "https://www.rabbitmq.com/docs/upgrade",
        # Each series requires the feature flags of the one before it: 4.3 runs beside 4.2 only.
        {"3.13": ("4.0",), "4.0": ("4.1",), "4.1": ("4.2",), "4.2": ("4.3",), "4.3": ("4.4",)},
        {"2025.1": "4.0", "2025.2": "4.1", "2026.1": "4.2", "2026.2": "4.3"},
    ),
    CEPH: Steps(
        "Ceph",
        IMAGE,
        "https://docs.ceph.com/en/latest/releases/",
        {"17": ("18", "19"), "18": ("19", "20"), "19": ("20", "21"), "20": ("21", "22"), "21": ("22", "23")},
        pattern=r"v?(\d+)\.\d+",
    ),
}
"""The steps of each part, in the order in which they are changed."""


class VersionFault(StrEnum):
    """What is wrong with a change of versions. The values are ids of the policy rules that report them."""

    NO_STEP = "version-step-supported"
    TOGETHER = "one-version-at-a-time"
    NO_OPERATION = "live-upgrade-has-operation"
    UNTRUSTED = "authority-trusted-before-use"


@dataclass(frozen=True)
class VersionProblem:
    """A change of versions that is refused."""

    fault: VersionFault
    key: str
    """Key of the stack file."""
    actual: str
    expected: str

    def __str__(self) -> str:
        return f"{self.key}: {self.actual}; expected {self.expected}"


@dataclass(frozen=True)
class VersionChange:
    """A part whose version changes."""

    part: str
    service: str
    """The service whose image changes; "" for OpenStack and Kubernetes."""
    before: str
    after: str

    @property
    def steps(self) -> Steps:
        return TABLE[self.part]

    @property
    def key(self) -> str:
        return self.steps.key.format(self.service)

    @property
    def words(self) -> str:
        """The change in words, with the series that an image's tag stands for."""
        return f"{self.steps.name} from {self._written(self.before)} to {self._written(self.after)}"

    def _written(self, version: str) -> str:
        found = series(self.part, version)
        return version if found is None or found in version else f"{found} (image {version})"

    @property
    def is_certain(self) -> bool:
        """Whether another version is deployed for certain: another digest, or build of a series, may be none."""
        old, new = series(self.part, self.before), series(self.part, self.after)
        return self.part in (OPENSTACK, KUBERNETES) or (None not in (old, new) and old != new)


def series(part: str, version: str) -> str | None:
    """Returns the series of a version, such as 11.4 for Kolla's tag 2026.1-debian-trixie; None if it is not known."""
    steps = TABLE[part]
    release = re.match(r"(20\d\d\.[12])(-|$)", version)
    if release and part != OPENSTACK:
        return (steps.in_kolla or {}).get(release[1])
    found = re.match(rf"{steps.pattern}(?![0-9])", version)
    return found[1] if found else None


def changes(before: Versions, after: Versions) -> list[VersionChange]:
    """Returns the parts whose versions differ, in the order of the table. Parts that come or go have no version."""
    found: list[VersionChange] = []
    for name in sorted(before.keys() & after.keys()):
        part, _, service = name.partition(" ")
        if before[name] != after[name] and part in TABLE:
            found.append(VersionChange(part, service, before[name], after[name]))
    return sorted(found, key=lambda each: list(TABLE).index(each.part))


def problems(before: Versions, after: Versions, *, is_live: bool) -> list[VersionProblem]:
    """Returns why the versions `after` may not follow the deployed versions `before`; [] if they may.

    `is_live`: whether `up` changes a running cloud. Nothing upgrades one yet, so that each other version is refused.
    """
    changed = changes(before, after)
    found = [problem for each in changed for problem in _step(each)]
    found += _together(changed)
    found += _untrusted(before, after)
    if is_live:
        found += [_without_operation(each) for each in changed if each.is_certain]
        found += _other_backend(before, after)
    return found


def _step(change: VersionChange) -> Iterator[VersionProblem]:
    old, new = series(change.part, change.before), series(change.part, change.after)
    if old is None or new is None:
        return
    if old == new:
        if change.part == KUBERNETES and _numbers(change.after) < _numbers(change.before):
            yield _no_step(change, f"{change.before} or a newer patch version: Kubernetes' programs are not taken back")
        return
    allowed = change.steps.after.get(old, ())
    if _numbers(new) < _numbers(old):
        expected = f"{change.before}: data of a newer version is not readable for an older one. To go back, restore a "
        expected += "backup of the older version into a new cloud"
        yield _no_step(change, expected)
    elif new not in allowed and old in change.steps.after:
        yield _no_step(change, f"{' or '.join(allowed)} next; deploy one step after another ({change.steps.source})")


def _no_step(change: VersionChange, expected: str) -> VersionProblem:
    verb = "goes back" if _numbers(change.after) < _numbers(change.before) else "skips a version"
    return VersionProblem(VersionFault.NO_STEP, change.key, f"{change.words} {verb}", expected)


def _together(changed: list[VersionChange]) -> Iterator[VersionProblem]:
    """Yields a problem if several parts change, at least one of them for certain."""
    certain = [each for each in changed if each.is_certain]
    parts = {each.part: each for each in reversed(changed)}
    if not certain or len(parts) < 2:
        return
    first = certain[0]
    others = [each for each in changed if each.part != first.part]
    kept = "; ".join(sorted({f"{each.key}: the image that is deployed, {each.before}" for each in others}))
    yield VersionProblem(
        VersionFault.TOGETHER,
        first.key,
        f"{', '.join(each.words for each in (*certain, *(other for other in changed if not other.is_certain)))} change "
        "together",
        f"one of them in an update. Change {first.steps.name} alone, keep the others as they are ({kept}), and change "
        "each in an update of its own",
    )


def _without_operation(change: VersionChange) -> VersionProblem:
    return VersionProblem(
        VersionFault.NO_OPERATION,
        change.key,
        f"{change.words} on a running cloud",
        f"{change.before}: `up` makes no backup, migrates no schema and asks no quorum between the members, and there "
        "is no operation yet that does (docs/not-built.md)",
    )


def _other_backend(before: Versions, after: Versions) -> Iterator[VersionProblem]:
    """Yields a problem if other programs would connect the virtual machines of a running cloud."""
    old, new = before.get(BACKEND, "ovs"), after.get(BACKEND, "ovs")
    if before and old != new:
        yield VersionProblem(
            VersionFault.NO_OPERATION,
            "quorate:networks.backend",
            f"the backend of networks from {old} to {new} on a running cloud",
            f"{old}: nothing moves the ports and routers that there are (docs/not-built.md)",
        )


def _untrusted(before: Versions, after: Versions) -> Iterator[VersionProblem]:
    """Yields a problem for each authority whose users would refuse each other while one after the other changes."""
    for name in sorted({*before, *after}):
        part, _, service = name.partition(" ")
        if part != AUTHORITY:
            continue
        (used, trusted), (use, trust) = (_generations(each.get(name, _FIRST)) for each in (before, after))
        key = f"quorate:certificates.{service}"
        who = _USERS[service]
        if use not in trusted:
            yield VersionProblem(
                VersionFault.UNTRUSTED,
                f"{key}.uses",
                f"{use}, which {who} do not trust yet",
                f"{used}, with trusts: {sorted({used, use})}; deploy that to all {who} first",
            )
        if used not in trust:
            yield VersionProblem(
                VersionFault.UNTRUSTED,
                f"{key}.trusts",
                f"without {used}, which {who} still use",
                f"{sorted({used, use})} until all of them use {use}" if use in trusted else f"{sorted({used, use})}",
            )


def _generations(version: str) -> tuple[int, set[int]]:
    used, _, trusted = version.partition(" of ")
    return int(used), {int(each) for each in trusted.split("+")}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version.partition("-")[0])[:3])
