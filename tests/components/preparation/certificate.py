"""Certificates of authorities for tests."""

from __future__ import annotations

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding


def certificate(name: str) -> str:
    """Returns a certificate of an authority in PEM."""
    key = Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    begin = datetime(2026, 1, 1)  # noqa: DTZ001 - the builder takes UTC without a zone
    built = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    signed = built.not_valid_before(begin).not_valid_after(begin + timedelta(days=3650)).sign(key, None)
    return signed.public_bytes(Encoding.PEM).decode()
