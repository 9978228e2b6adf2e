"""Certificates and keys of etcd and Kubernetes: derived, so that the same secrets give the same files."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any, cast

import pulumi
import pytest
import yaml
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from blueprint.plan.nodes import Node
from blueprint.plan.planner import plan
from blueprint.stackfile.certificate_generations import CertificateGenerations, Generations
from blueprint.stackfile.loader import load_file
from components.k8s_master import pki
from components.k8s_master.pki import Pki
from components.kubelet import DISCOVERY
from components.machine import File, Unit
from components.secrets import Keyring
from formats import certificates
from formats.certificates import Authority, Pair
from tests.stacks import STACKS

MASTERS = plan(load_file(STACKS["dev"])).masters
KEYRING = Keyring("kubernetes", pulumi.Output.from_input("root"))
REPLACEMENT = (
    Generations(uses=1, trusts=(1, 2)),
    Generations(uses=2, trusts=(1, 2)),
    Generations(uses=2, trusts=(2,)),
)
"""The deployments in which one generation of an authority replaces the other."""
ADDRESSES = [IPv4Address("10.20.0.21"), IPv4Address("127.0.0.1")]


def certificate(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.public.encode())


def usages(pair: Pair) -> set[x509.ObjectIdentifier]:
    return set(certificate(pair).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_the_same_secrets_give_the_same_certificates() -> None:
    first, second = (Authority("etcd-ca", "secret") for _ in range(2))
    assert first.pair == second.pair
    assert first.member("master1", ADDRESSES, "a") == second.member("master1", ADDRESSES, "a")
    assert first.client("api", "a") == second.client("api", "a")
    assert certificates.key_pair("a") == certificates.key_pair("a")


def test_other_secrets_names_and_addresses_give_others() -> None:
    authority = Authority("etcd-ca", "secret")
    pairs = [
        authority.pair,
        Authority("etcd-ca", "other").pair,
        authority.member("master1", ADDRESSES, "a"),
        authority.member("master2", ADDRESSES, "a"),
        authority.member("master1", ADDRESSES, "b"),
        authority.member("master1", ADDRESSES[:1], "a"),
        authority.client("master1", "a"),
    ]
    assert len({certificate(each).serial_number for each in pairs}) == len(pairs)
    assert len({each.public for each in pairs}) == len(pairs)


def test_a_member_is_server_and_client_under_all_its_names() -> None:
    pair = Authority("etcd-ca", "secret").member("master1", ADDRESSES, "a")
    names = certificate(pair).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["master1", "localhost"]
    assert names.get_values_for_type(x509.IPAddress) == ADDRESSES
    assert usages(pair) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}


def test_a_client_is_not_a_server() -> None:
    assert usages(Authority("etcd-ca", "secret").client("api", "a")) == {ExtendedKeyUsageOID.CLIENT_AUTH}


def test_only_the_own_authority_has_signed_it() -> None:
    authority, other = Authority("etcd-ca", "secret"), Authority("etcd-ca", "other")
    signed = certificate(authority.client("api", "a"))
    signed.verify_directly_issued_by(certificate(authority.pair))
    with pytest.raises(InvalidSignature):
        signed.verify_directly_issued_by(certificate(other.pair))


@pytest.mark.parametrize(
    "pair", [Authority("ca", "secret").pair, Authority("ca", "secret").client("api", "a")], ids=["authority", "client"]
)
def test_the_key_fits_the_certificate(pair: Pair) -> None:
    key = serialization.load_pem_private_key(pair.private.encode(), None)
    form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    assert key.public_key().public_bytes(*form) == certificate(pair).public_key().public_bytes(*form)


def written(files: tuple[File, ...]) -> dict[str, str]:
    """Returns the contents of secret files by path."""
    assert all(file.secret and file.mode == 0o600 for file in files)
    contents = asyncio.get_event_loop().run_until_complete(
        pulumi.Output.all(*(file.content for file in files)).future()
    )
    assert contents is not None
    return dict(zip((file.path for file in files), contents, strict=True))


def of_nodes(files: tuple[File, ...]) -> dict[str, dict[str, str]]:
    """Returns the contents of secret files of single nodes: the texts by node, by path."""
    return {path: dict(cast("dict[str, str]", texts)) for path, texts in written(files).items()}


def test_each_master_has_the_authorities_and_its_own_certificates() -> None:
    first, second = MASTERS[:2]
    made = Pki(Keyring("kubernetes", pulumi.Output.from_input("root")))
    one, other = (written(made.etcd_files(each, Unit("etcd.service"))) for each in (first, second))
    assert one[f"{pki.ETCD}/ca.crt"] == other[f"{pki.ETCD}/ca.crt"]
    assert one[f"{pki.ETCD_CLIENT}.key"] == other[f"{pki.ETCD_CLIENT}.key"]
    names = ("server.key", "peer.key")
    keys = [texts[f"{pki.ETCD}/{name}"] for texts in (one, other) for name in names]
    assert len(set(keys)) == len(keys) == 4
    assert all("PRIVATE KEY" in text for text in keys)


def test_all_api_servers_encrypt_secrets_with_a_key_of_the_stack() -> None:
    def configuration(root: str) -> dict[str, Any]:
        made = Pki(Keyring("kubernetes", pulumi.Output.from_input(root)))
        return yaml.safe_load(written(made.encryption_file())[pki.ENCRYPTION])

    one, again, other = (configuration(root) for root in ("root", "root", "other"))
    assert one == again
    assert one != other
    (rule,) = one["resources"]
    assert rule["resources"] == ["secrets"]
    secretbox, identity = rule["providers"]
    assert len(base64.b64decode(secretbox["secretbox"]["keys"][0]["secret"])) == 32
    assert identity == {"identity": {}}, "Secrets that were stored without encryption stay readable"


def test_a_machine_joins_with_a_certificate_that_kubernetes_authority_has_signed() -> None:
    made = Pki(Keyring("kubernetes", pulumi.Output.from_input("root")))
    first = MASTERS[0]
    document = yaml.safe_load(written(made.discovery_file(first))[DISCOVERY])
    assert document["clusters"][0]["cluster"]["server"] == f"https://{first.address}:6443"
    authority = written(made.kubernetes_files())[f"{pki.KUBERNETES}/ca.crt"]
    user = document["users"][0]["user"]
    client = x509.load_pem_x509_certificate(base64.b64decode(user["client-certificate-data"]))
    client.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.encode()))
    groups = client.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [each.value for each in groups] == ["system:bootstrappers:kubeadm:default-node-token"]


def test_each_compute_has_a_certificate_of_its_own_for_both_directions() -> None:
    computes = plan(load_file(STACKS["dev"])).carrying("compute")
    authority_file, *own = Pki(Keyring("kubernetes", pulumi.Output.from_input("root"))).compute_files(computes)
    texts = of_nodes(tuple(own))
    assert len(computes) > 1
    authority = x509.load_pem_x509_certificate(written((authority_file,))[f"{pki.COMPUTE}/ca.crt"].encode())
    for node in computes:
        pair = Pair(*(texts[f"{pki.COMPUTE}/tls.{end}"][node.name] for end in ("crt", "key")))
        certificate(pair).verify_directly_issued_by(authority)
        assert usages(pair) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
        names = certificate(pair).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert IPv4Address(node.address) in names.get_values_for_type(x509.IPAddress)
        assert node.name in names.get_values_for_type(x509.DNSName)
    assert len(set(texts[f"{pki.COMPUTE}/tls.key"].values())) == len(computes)


def test_a_compute_s_certificate_has_its_migration_address_too() -> None:
    (first, *_) = plan(load_file(STACKS["dev"])).carrying("compute")

    def addresses(node: Node) -> list[str]:
        _, own, _ = Pki(Keyring("kubernetes", pulumi.Output.from_input("root"))).compute_files([node])
        (text,) = of_nodes((own,))[f"{pki.COMPUTE}/tls.crt"].values()
        found = x509.load_pem_x509_certificate(text.encode())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return [str(each) for each in names.get_values_for_type(x509.IPAddress)]

    apart = replace(first, machine=replace(first.machine, addresses={"migration": "10.23.4.1", "overlay": "10.21.4.1"}))
    assert addresses(first) == [first.address]
    assert addresses(apart) == [first.address, "10.23.4.1"]


def test_the_authority_of_computes_signs_nothing_else() -> None:
    """Whoever has a certificate of it controls all virtual machines."""
    computes = plan(load_file(STACKS["dev"])).carrying("compute")
    made = Pki(Keyring("kubernetes", pulumi.Output.from_input("root")))
    (text,) = written(made.compute_files(computes)[:1]).values()
    others = {**written(made.kubernetes_files()), **written(made.etcd_files(MASTERS[0], Unit("etcd.service")))}
    assert text not in others.values()


def test_a_further_generation_of_the_authority_of_computes_is_trusted_before_it_signs() -> None:
    computes = plan(load_file(STACKS["dev"])).carrying("compute")

    def files(generations: Generations) -> tuple[str, dict[str, dict[str, str]]]:
        trusted, *own = Pki(KEYRING, CertificateGenerations(computes=generations)).compute_files(computes)
        (text,) = written((trusted,)).values()
        return text, of_nodes(tuple(own))

    one, both, other, alone = map(files, (Generations(), *REPLACEMENT))
    assert (one[1], other[1]) == (both[1], alone[1]), "the first and the third deployment change only what is trusted"
    old, new = x509.load_pem_x509_certificates(both[0].encode())
    assert set(x509.load_pem_x509_certificates(other[0].encode())) == {old, new}
    assert ([old], [new]) == tuple(x509.load_pem_x509_certificates(each[0].encode()) for each in (one, alone))
    assert (old.not_valid_after_utc.year, new.not_valid_after_utc.year) == (2036, 2041)
    for end in ("crt", "key"):
        before, after = (each[1][f"{pki.COMPUTE}/tls.{end}"] for each in (one, other))
        assert not set(before.values()) & set(after.values())
    for text in other[1][f"{pki.COMPUTE}/tls.crt"].values():
        x509.load_pem_x509_certificate(text.encode()).verify_directly_issued_by(new)


def test_without_the_root_secret_files_contain_placeholders() -> None:
    made = Pki(Keyring("kubernetes", None))
    contents = written(made.kubernetes_files())
    assert contents[f"{pki.KUBERNETES}/ca.key"] == f"<secret {pki.KUBERNETES}/ca.key>"


def test_a_further_generation_has_keys_and_an_end_of_its_own() -> None:
    def files(etcd: Generations) -> dict[str, str]:
        made = Pki(KEYRING, CertificateGenerations(etcd=etcd))
        return written(made.etcd_files(MASTERS[0], Unit("etcd.service")))

    one, both, other, alone = map(files, (Generations(), *REPLACEMENT))
    authority, leaf = f"{pki.ETCD}/ca.crt", f"{pki.ETCD}/server.crt"
    assert {path for path in one if one[path] != both[path]} == {authority}, "first it is trusted only"
    assert both[authority] == one[authority] + alone[authority] == other[authority]
    assert {path for path in both if both[path] != other[path]} == both.keys() - {authority}
    assert {path for path in other if other[path] != alone[path]} == {authority}
    old, new = x509.load_pem_x509_certificates(both[authority].encode())
    assert (old.not_valid_after_utc.year, new.not_valid_after_utc.year) == (2036, 2041)
    certificate = x509.load_pem_x509_certificate(other[leaf].encode())
    certificate.verify_directly_issued_by(new)
    assert certificate.not_valid_after_utc.year == 2041
    assert old.subject != new.subject


def test_masters_without_a_member_trust_the_same_authorities() -> None:
    for etcd in REPLACEMENT:
        made = Pki(KEYRING, CertificateGenerations(etcd=etcd))
        member, master = written(made.etcd_files(MASTERS[0], Unit("etcd.service"))), written(made.etcd_client_files())
        assert master == {path: member[path] for path in master}


def test_further_keys_of_service_accounts_are_accepted_before_one_signs() -> None:
    def files(keys: Generations) -> tuple[str, str]:
        texts = written(
            Pki(KEYRING, CertificateGenerations.model_validate({"serviceAccounts": keys})).kubernetes_files()
        )
        return texts[f"{pki.KUBERNETES}/sa.key"], texts[f"{pki.KUBERNETES}/sa.pub"]

    one, both, other, alone = map(files, (Generations(), *REPLACEMENT))
    assert one[0] == both[0] != other[0] == alone[0]
    assert both[1] == one[1] + alone[1] == other[1]
    for private, public in (one, alone):
        key = serialization.load_pem_private_key(private.encode(), None).public_key()
        form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        assert key.public_bytes(*form).decode() == public


def test_a_further_authority_of_kubernetes_is_trusted_before_it_signs() -> None:
    def made(kubernetes: Generations) -> tuple[dict[str, str], dict[str, Any]]:
        found = Pki(KEYRING, CertificateGenerations(kubernetes=kubernetes))
        conf = yaml.safe_load(written(found.discovery_file(MASTERS[0]))[DISCOVERY])
        texts = {
            path.removeprefix(f"{pki.KUBERNETES}/"): text for path, text in written(found.kubernetes_files()).items()
        }
        return texts, conf

    (one, _), (both, first), (other, second), (alone, third) = map(made, (Generations(), *REPLACEMENT))
    old, new = one["ca.crt"], alone["ca.crt"]
    # kubeadm signs with the first of ca.crt; controller managers take one only, and pods read the last.
    assert "signing-ca.crt" not in one
    assert [each["ca.crt"] for each in (both, other)] == [old + new, new + old]
    assert [each["signing-ca.crt"] for each in (both, other, alone)] == [old, new, new]
    assert [each["trusted-ca.crt"] for each in (both, other, alone)] == [old + new, old + new, new]
    assert one["ca.key"] == both["ca.key"] != other["ca.key"] == alone["ca.key"]
    for conf, texts in ((first, both), (second, other), (third, alone)):
        trusted = base64.b64decode(conf["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        assert trusted == texts["ca.crt"]
        client = x509.load_pem_x509_certificate(base64.b64decode(conf["users"][0]["user"]["client-certificate-data"]))
        client.verify_directly_issued_by(x509.load_pem_x509_certificate(texts["signing-ca.crt"].encode()))
    assert x509.load_pem_x509_certificate(new.encode()).not_valid_after_utc.year == 2041
