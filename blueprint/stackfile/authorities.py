"""Certificates of the site's own authorities, which machines that Quorate prepares trust."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cryptography import x509

from blueprint.problems import Problem
from files import text_file

LARGEST = 1024 * 1024
"""Maximum size of a file in bytes: the whole list of a distribution is a fifth of it."""
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+-----END CERTIFICATE-----\n")


def certificates(path: str) -> tuple[str, ...]:
    """Returns the certificates in a PEM file, each as a text of its own, without what stands between them.

    Raises UnreadableError if the file cannot be read, ValueError if it has none, a wrong one, or a private key.
    """
    text = text_file.read(Path(path), LARGEST).replace("\r\n", "\n")
    if "PRIVATE KEY-----" in text:
        raise ValueError("has a private key, which no machine needs; remove it from the file (and from its history)")
    found = tuple(each[0] for each in _CERTIFICATE.finditer(f"{text}\n"))
    if not found:
        raise ValueError("has no certificate; write a file in PEM, with -----BEGIN CERTIFICATE-----")
    try:
        for each in found:
            x509.load_pem_x509_certificate(each.encode())
    except ValueError:
        raise ValueError("has a certificate that cannot be read; replace it") from None
    return found


def problems(key: str, paths: Sequence[str]) -> Iterator[Problem]:
    """Yields the problems of the files. `key`: of their list in the stack file."""
    for index, path in enumerate(paths):
        where = f"{key}[{index}]"
        try:
            certificates(path)
        except text_file.UnreadableError as error:
            yield Problem(where, f"{path} cannot be read: {error}; write the path of a file with certificates in PEM")
        except ValueError as error:
            yield Problem(where, f"{path} {error}")
