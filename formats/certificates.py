"""X.509 certificates whose keys and signatures follow from secrets: the same secrets give the same certificates.

So a preview shows no difference without a change, and nothing but the root secret has to be kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID_FROM = datetime(2026, 1, 1, tzinfo=UTC)
VALID_UNTIL = datetime(2036, 1, 1, tzinfo=UTC)
"""Validity of the first generation of certificates: ten years, as that of kubeadm's CA. Fixed times, because the
current time would change every certificate at every preview. `make doctor` reports certificates that expire soon."""
LONGER = 5
"""Years for which a further generation is valid beyond the one before it. Project figure."""

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Order of the curve P-256 (NIST SP 800-186, 3.2.1.3)."""
_SEED = 48
"""Bytes that a private key is computed from: 128 bits more than the order has, so that the remainder is not biased
(FIPS 186-5, A.2.1)."""
_SERIAL = 19
"""Bytes of a serial number, of at most 20 (RFC 5280, 4.1.2.2)."""
_BOTH = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


@dataclass(frozen=True)
class Pair:
    """A certificate or a public key, and its private key, as PEM."""

    public: str
    private: str


class Authority:
    """A certificate authority. `secret`: a derived secret, from which its private key is computed.

    `generation`: of its key. A further one has another name, and is valid longer.
    """

    def __init__(self, name: str, secret: str, generation: int = 1) -> None:
        self._key = _private_key(secret)
        self._name = _subject(name if generation == 1 else f"{name} {generation}")
        self._until = VALID_UNTIL.replace(year=VALID_UNTIL.year + LONGER * (generation - 1))
        builder = _builder(self._name, self._name, self._key.public_key()).not_valid_after(self._until)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(is_authority=True), critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        self._certificate = builder.add_extension(identifier, critical=False).sign(
            self._key, hashes.SHA256(), ecdsa_deterministic=True
        )

    @property
    def pair(self) -> Pair:
        """The authority's own certificate and key."""
        return Pair(_pem(self._certificate), _pem_of_key(self._key))

    def member(self, name: str, addresses: Sequence[IPv4Address], secret: str) -> Pair:
        """Returns the certificate of a server that also connects to others, as members of etcd do."""
        names = [x509.DNSName(name), x509.DNSName("localhost"), *map(x509.IPAddress, addresses)]
        return self._sign(_subject(name), secret, _BOTH, names)

    def client(self, name: str, secret: str, group: str = "") -> Pair:
        """Returns the certificate of a client. `group`: its group in Kubernetes; "" for none."""
        return self._sign(_subject(name, group), secret, (ExtendedKeyUsageOID.CLIENT_AUTH,), [])

    def _sign(
        self,
        subject: x509.Name,
        secret: str,
        purposes: Sequence[x509.ObjectIdentifier],
        names: Sequence[x509.GeneralName],
    ) -> Pair:
        key = _private_key(secret)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = _builder(subject, self._name, key.public_key(), *map(repr, names)).not_valid_after(self._until)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(is_authority=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        builder = builder.add_extension(issuer, critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return Pair(_pem(builder.sign(self._key, hashes.SHA256(), ecdsa_deterministic=True)), _pem_of_key(key))


def key_pair(secret: str) -> Pair:
    """Returns a public and a private key without a certificate."""
    key = _private_key(secret)
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Pair(public.decode(), _pem_of_key(key))


def recipient(name: str, secret: str) -> Pair:
    """Returns a certificate that data is encrypted for, signed with its own key, and the key that decrypts it."""
    key = _private_key(secret)
    subject = _subject(name)
    certificate = _builder(subject, subject, key.public_key()).not_valid_after(VALID_UNTIL)
    return Pair(_pem(certificate.sign(key, hashes.SHA256(), ecdsa_deterministic=True)), _pem_of_key(key))


def _private_key(secret: str) -> ec.EllipticCurvePrivateKey:
    seed = HKDF(hashes.SHA256(), length=_SEED, salt=None, info=b"quorate/P-256").derive(secret.encode())
    return ec.derive_private_key(int.from_bytes(seed, "big") % (_ORDER - 1) + 1, ec.SECP256R1())


def _subject(name: str, group: str = "") -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, *more: str
) -> x509.CertificateBuilder:
    """Returns a builder of a certificate without its end and extensions.

    The serial number is a digest of names, key and `more`.
    """
    encoded = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    content = "\n".join((issuer.rfc4514_string(), subject.rfc4514_string(), encoded.hex(), *more))
    serial = int.from_bytes(hashlib.sha256(content.encode()).digest()[:_SERIAL], "big")
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(serial)
        .not_valid_before(VALID_FROM)
    )


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _pem_of_key(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
