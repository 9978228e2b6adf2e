"""Bad inputs: names, racks, pools and images that are not valid label values or image references."""

from __future__ import annotations

from typing import Any

from tests.blueprint.stackfile.bad_inputs.case import Bad, one_more, stack, with_vm

LABEL = "is not a valid label of a node; write up to 63 letters"
DIGEST = "sha256:" + "0" * 64


def rack(value: str, said: str) -> Bad:
    return Bad(one_more(rack=value), f"quorate:servers[4].rack (x1): {said}")


def name(value: str, said: str) -> Bad:
    return Bad(one_more(name=value), f"quorate:servers[4].name ({value}): {said}")


def image(value: str, said: str) -> Bad:
    return Bad(stack(services={"mysqld": {"image": value}}), f"quorate:services.mysqld.image: {said}")


def images(said: str, **values: Any) -> Bad:
    (key,) = values
    return Bad(stack(images=values), f"quorate:images.{key}: {said}")


def ingress(said: str, **values: Any) -> Bad:
    (key,) = values
    given = {"domain": "cloud.example.org", "className": "traefik", **values}
    return Bad(stack(ingress=given), f"quorate:ingress.{key}: {said}")


DOMAIN = "is not a valid domain; write one such as cloud.example.org"

CASES = {
    "a domain with a scheme": ingress(f"'https://example.org' {DOMAIN}", domain="https://example.org"),
    "a domain with a port": ingress(f"'example.org:8443' {DOMAIN}", domain="example.org:8443"),
    "a domain in capitals": ingress(f"'Example.org' {DOMAIN}", domain="Example.org"),
    "a domain with an empty part": ingress(f"'example..org' {DOMAIN}", domain="example..org"),
    "a domain that leaves no room for a name": ingress(f"'{'a.' * 28}a… {DOMAIN}"[:40], domain="a." * 120 + "org"),
    "a domain with a wildcard": ingress(f"'*.example.org' {DOMAIN}", domain="*.example.org"),
    "an issuer with a quote": ingress("'a\"b' is not a valid name of a Kubernetes object", issuer='a"b'),
    "a port of HTTPS that there is not": ingress("70000 does not fit", port=70000),
    "a rack with a second label": rack("r1,quorate.io/pool=master", f"'r1,quorate.io/pool=master' {LABEL}"),
    "a rack with a quote": rack('r1"', f"'r1\"' {LABEL}"),
    "a rack with a new line": rack("r1\nnode: x", f"'r1\\nnode: x' {LABEL}"),
    "a rack with a place": rack("${node}", f"'${{node}}' {LABEL}"),
    "a rack of 64 letters": rack("r" * 64, f"'{'r' * 57}…' {LABEL}"),
    "a rack that ends in a dash": rack("r1-", f"'r1-' {LABEL}"),
    "no rack": rack("", f"'' {LABEL}"),
    "a rack in another alphabet": rack("ряд1", f"'ряд1' {LABEL}"),
    "a rack that runs backwards": rack("r[3-1]", "'[3-1]' in 'r[3-1]' matches nothing, it runs backwards; write [1-3]"),
    "a pool with a comma": Bad(one_more(pool={"a,b": None}), f"quorate:servers[4].pool (x1): 'a,b' {LABEL}"),
    "a pool with an equals sign": Bad(one_more(pool="a=b"), f"quorate:servers[4].pool (x1): 'a=b' {LABEL}"),
    "a pool of a number": Bad(one_more(pool={"mysqld": 1}), "quorate:servers[4].pool.mysqld (x1): 1 does not fit"),
    "a name with an option": name("--root=/", "'--root=/' cannot name a node; write lower-case letters"),
    "a name with a path": name("../x", "'../x' cannot name a node"),
    "a name in capitals": name("Ctl9", "'Ctl9' cannot name a node"),
    "a name with a new line": Bad(one_more(name="x\ny"), "quorate:servers[4].name (x\\ny): 'x\\ny' cannot name"),
    "no name": Bad(one_more(name=""), "quorate:servers[4].name: '' cannot name a node"),
    "a name of 64 letters": name("a" * 64, f"'{'a' * 57}…' cannot name a node"),
    "a Cyrillic letter": name("ctl\u043e1", "'ctl\u043e1' (has U+043E CYRILLIC SMALL LETTER O) cannot name a node"),
    "Arabic digits": name("x[\u0661-\u0663]", "'[\u0661-\u0663]' in 'x[\u0661-\u0663]' is not a valid range"),
    "a bracket that stays open": name("x[1-3", "'x[1-3' has a bracket without its partner"),
    "a million names": name("x[1-1000000]", "'[1-1000000]' in 'x[1-1000000]' stands for more than 10000 names"),
    "a million names by parts": Bad(
        one_more(name="x[" + "1-9999," * 50_000 + "1]"), "quorate:servers[4].name (x[1-9999,1-9999,"
    ),
    "many brackets": name("x[1][1][1][1][1]", "'x[1][1][1][1][1]' has 5 brackets; write at most 4"),
    "two brackets": Bad(
        one_more(name="x[1-2]s[1-2]"),
        "quorate:servers[4] (x[1-2]s[1-2]).name: 'x[1-2]s[1-2]' has 2 brackets; a server's",
    ),
    "a number of 5000 digits": Bad(one_more(name=f"x[{'9' * 5000}]"), "quorate:servers[4].name (x[999"),
    "a name twice in a pattern": Bad(
        one_more(name="x[1-9,1]"),
        "quorate:servers[4] (x[1-9,1]).name: 'x[1-9,1]' names x1 twice; write each number once",
    ),
    "a name of a virtual machine": Bad(
        with_vm(name="VM_1"), "quorate:servers[4].vms[0].name (v1): 'VM_1' cannot name a node"
    ),
    "an image with a space": image("a b", "'a b' is not a valid image reference; write one such as quay.io/"),
    "an image as an address": image("https://quay.io/x", "'https://quay.io/x' is not a valid image reference"),
    "an image in capitals": image("quay.io/Kolla/x", "'quay.io/Kolla/x' is not a valid image reference"),
    "an image with a new line": image("x\ny", "'x\\ny' is not a valid image reference"),
    "an image with a short digest": image("x@sha256:12", "'x@sha256:12' is not a valid image reference"),
    "no image": image("", "'' is not a valid image reference"),
    "a tag of 129 letters": image("x:" + "a" * 129, "'x:aaaaaaaaaaaaaaaaaaaa"),
    "a registry with a path and a space": images("'a b' is not a valid registry; write a host", registry="a b"),
    "a registry with a command": images("'x;id' is not a valid registry", registry="x;id"),
    "a namespace with two slashes": images(
        "'a//b' is not a valid namespace; write lower-case letters", namespace="a//b"
    ),
    "a namespace that leaves": images("'../x' is not a valid namespace", namespace="../x"),
    "a digest of another kind": Bad(
        stack(images={"digests": {"keystone": "md5:00"}}),
        "quorate:images.digests.keystone: 'md5:00' does not fit; write sha256: and 64 hexadecimal digits",
    ),
    "a digest in capitals": Bad(
        stack(images={"digests": {"keystone": "sha256:" + "A" * 64}}), "quorate:images.digests.keystone: 'sha256:AAA"
    ),
    "a digest of a whole reference": images(
        "'a:b' is not the name of an image; write one such", digests={"a:b": DIGEST}
    ),
    "a value of a list": Bad(
        with_vm(values={"x": [1]}), "quorate:servers[4].vms[0].values.x (v1): is not a plain value"
    ),
    "a value of nothing": Bad(
        with_vm(values={"x": None}), "quorate:servers[4].vms[0].values.x (v1): is not a plain value"
    ),
    "one fault of 144 servers": Bad(
        stack(
            servers=[{"name": f"y{n}", "address": "10.20.0.1", "cpu": 1, "memory": 1, "memroy": 1} for n in range(144)]
        ),
        "quorate:servers[0].memroy (y0): unknown key (did you mean 'memory'?); write one of: name, address, countFrom, "
        "addresses, roles, pool, hostKey, cpu, memory, disks, rack, hypervisor, vms (143 more entries have this error)",
    ),
    "a role in another alphabet": Bad(
        one_more(roles=["сompute"]),
        "quorate:servers[4].roles[0] (x1): 'сompute' is not known (has U+0441 CYRILLIC SMALL",
    ),
    "a key of 100,000 letters": Bad(stack(**{"x" * 100_000: 1}), f"quorate:{'x' * 200}"),
}
