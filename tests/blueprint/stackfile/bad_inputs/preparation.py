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
