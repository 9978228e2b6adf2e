"""When the certificates of etcd and Kubernetes on the machines with etcd's members expire."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from openstack.monitoring import limits
from operations.living.answers import CERTIFICATES, Answer

_FILES = "/etc/etcd/pki/*.crt /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/etcd/*.crt"
QUESTION = (
    f'sh -c \'for file in {_FILES}; do [ ! -e "$file" ] ||'
    ' echo "$file $(openssl x509 -noout -enddate -in "$file")"; done\''
)
"""For a user who may read the files, which is root."""


@dataclass(frozen=True)
class Certificate:
    """A certificate of a machine."""

    machine: str
    path: str
    ends: datetime

    def left(self, now: datetime) -> timedelta:
        """Returns the time until it expires; negative if it has."""
        return self.ends - now


def read(answers: Mapping[str, Answer]) -> tuple[Certificate, ...]:
    """Returns the certificates by the answers of machines, the next to expire first."""
    found = (each for machine, answer in answers.items() for each in _of_machine(machine, answer))
    return tuple(sorted(found, key=lambda certificate: certificate.ends))


def expiring(certificates: tuple[Certificate, ...], now: datetime) -> tuple[Certificate, ...]:
    """Returns those that have expired, or do within the time from which `quorate doctor` and an alert name them."""
    return tuple(each for each in certificates if each.left(now) < limits.CERTIFICATE)


def _of_machine(machine: str, answer: Answer) -> Iterator[Certificate]:
    for line in answer.parts.get(CERTIFICATES, "").splitlines():
        path, _, end = line.partition(" notAfter=")
        try:
            yield Certificate(machine, path, datetime.fromtimestamp(ssl.cert_time_to_seconds(end), UTC))
        except ValueError:
            continue  # openssl could not read the file; `quorate doctor` names it
