"""Certificates of etcd's members and clients."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from cloud.certificates import Authority, Pair


def certificate(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def usages(pair: Pair) -> set[x509.ObjectIdentifier]:
    return set(certificate(pair).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_a_member_is_server_and_client_under_all_its_names() -> None:
    pair = Authority("etcd-ca").member("master1", [IPv4Address("10.20.0.21"), IPv4Address("127.0.0.1")])
    names = certificate(pair).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["master1", "localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [IPv4Address("10.20.0.21"), IPv4Address("127.0.0.1")]
    assert usages(pair) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}


def test_a_client_is_no_server() -> None:
    assert usages(Authority("etcd-ca").client("api")) == {ExtendedKeyUsageOID.CLIENT_AUTH}


def test_only_the_own_authority_has_signed_it() -> None:
    authority, other = Authority("etcd-ca"), Authority("etcd-ca")
    signed = certificate(authority.client("api"))
    signed.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate))
    with pytest.raises(InvalidSignature):
        signed.verify_directly_issued_by(x509.load_pem_x509_certificate(other.certificate))


def test_the_key_fits_the_certificate() -> None:
    pair = Authority("etcd-ca").client("api")
    key = serialization.load_pem_private_key(pair.key, None)
    form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    assert key.public_key().public_bytes(*form) == certificate(pair).public_key().public_bytes(*form)
