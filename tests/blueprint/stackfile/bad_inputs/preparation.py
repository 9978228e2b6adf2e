"""Bad settings of quorate:prepare."""

from __future__ import annotations

from typing import Any

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack

KEY = "quorate:prepare"
ARCHIVE = {"url": "https://site.example/kubelet", "sha256": "0" * 64}
PROGRAMS = dict.fromkeys(("etcd", "kubeadm", "kubectl", "kubelet"), ARCHIVE)


def prepare(key: str, problem: str, **settings: Any) -> Bad:
    return Bad(stack(prepare=settings), f"{KEY}{key}: {problem}")


CASES = {
    "preparation of an unknown kind": Bad(
        stack(prepare="images"), f"{KEY}.programs: 'images' is not known; write one of: packages, archives, none"
    ),
    "archives without one": prepare(
        ".archives.kubectl",
        "is missing; write it as {url: https://…, sha256: …}",
        programs="archives",
        archives={name: each for name, each in PROGRAMS.items() if name != "kubectl"},
    ),
    "an archive without a digest": prepare(
        ".archives.etcd.sha256",
        "is missing",
        programs="packages",
        archives={"etcd": {"url": "https://site.example/etcd.tar.gz"}},
    ),
    "an authority that is not there": prepare(
        ".authorities[0]", "ca.pem cannot be read: ", programs="packages", authorities=["ca.pem"]
    ),
    "an authority without a certificate": Bad(
        stack(prepare={"programs": "packages", "authorities": ["ca.pem"]}),
        f"{KEY}.authorities[0]: ca.pem has no certificate; write a file in PEM",
        files={"ca.pem": "hello"},
    ),
    "an authority with its key": Bad(
        stack(prepare={"programs": "packages", "authorities": ["ca.pem"]}),
        f"{KEY}.authorities[0]: ca.pem has a private key, which no machine needs",
        files={"ca.pem": "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n"},
    ),
    "an authority that is broken": Bad(
        stack(prepare={"programs": "packages", "authorities": ["ca.pem"]}),
        f"{KEY}.authorities[0]: ca.pem has a certificate that cannot be read; replace it",
        files={"ca.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
    ),
    "what no proxy is asked for without one": prepare(
        ".direct", "is what no proxy is asked for, and there is no proxy", programs="packages", direct=[".a.example"]
    ),
    "what no proxy is asked for as a URL": prepare(
        ".direct[0]", "'https://a' does not", programs="packages", proxy="http://p:1", direct=["https://a"]
    ),
    "an archive by a path": prepare(
        ".archives.etcd.url",
        "'file:///etcd' does not",
        programs="packages",
        archives={"etcd": {**ARCHIVE, "url": "file:///etcd"}},
    ),
    "an archive that packages replace": prepare(
        ".archives.kubelet",
        "is not used, because programs are packages; write programs: archives, or remove it",
        programs="packages",
        archives={"kubelet": ARCHIVE},
    ),
    "a repository beside archives": prepare(
        ".repository",
        "has packages, and programs are archives; write programs: packages",
        programs="archives",
        archives=PROGRAMS,
        repository="https://mirror.example/kubernetes",
    ),
    "a proxy for nothing": prepare(
        "",
        "has proxy, timeServers, but prepares nothing; write programs: packages or archives too",
        proxy="http://proxy.example:3128",
        timeServers=["ntp.example.org"],
    ),
    "a proxy with a password": prepare(
        ".proxy", "", programs="packages", proxy="http://user:password@proxy.example:3128"
    ),
    "a mirror of a path": prepare(
        ".registries.../../etc",
        "'../../etc' does not fit",
        programs="packages",
        registries={"../../etc": "https://mirror.example"},
    ),
    "preparation of a running cluster": Bad(
        stack(prepare="packages", machines="existing"),
        f"{KEY}: prepares machines of a new cluster; with machines: existing, remove it",
    ),
}
