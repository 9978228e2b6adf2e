"""Bad inputs: contents of a new cloud (quorate:bootstrap) that OpenStack's services would reject."""

from __future__ import annotations

from typing import Any

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack

POOL = {"start": "10.90.2.10", "end": "10.90.2.250"}
EXTERNAL: dict[str, Any] = {"network": "10.90.2.0/24", "gateway": "10.90.2.1", "pool": POOL}
FLAVOR = {"name": "big", "id": 42, "ram": 1024, "disk": 10, "vcpus": 2}
SHA256 = "0" * 64


def content(key: str, said: str, **settings: Any) -> Bad:
    """A stack with this content; the message begins with the key below `quorate:bootstrap`."""
    return Bad(stack(bootstrap=settings), f"quorate:bootstrap{key}: {said}")


def zones(key: str, said: str, messages: int, **racks: list[str]) -> Bad:
    """A stack with these availability zones. Its computes have no rack, which is one of the `messages`."""
    key = f"quorate:bootstrap.availabilityZones{key}"
    return Bad(stack(bootstrap={"availabilityZones": racks}), f"{key}: {said}", messages=messages)


def network(key: str, said: str, **changes: Any) -> Bad:
    return content(f".networks.external.{key}", said, networks={"external": {**EXTERNAL, **changes}})


CASES = {
    "a bootstrap that is not a mapping": Bad(stack(bootstrap=True), "quorate:bootstrap: "),
    "an unknown part of the bootstrap": content(".flavours", "unknown key (did you mean 'flavors'?)", flavours=[]),
    "an external network without its gateway": content(
        ".networks.external.gateway", "is missing", networks={"external": {"network": "10.90.2.0/24", "pool": POOL}}
    ),
    "a gateway outside of the internal network": content(
        ".networks.internal.gateway",
        "10.0.1.1 is not an address for a host in 10.8.0.0/24; write one such as 10.8.0.1",
        networks={"internal": {"network": "10.8.0.0/24"}},
    ),
    "a gateway that is the network's own address": network(
        "gateway", "10.90.2.0 is not an address for a host", gateway="10.90.2.0"
    ),
    "a pool outside of the external network": network(
        "pool", "10.90.3.1 to 10.90.3.9 is not a range", pool={"start": "10.90.3.1", "end": "10.90.3.9"}
    ),
    "a pool that ends before it starts": network(
        "pool", "10.90.2.9 to 10.90.2.5 is not a range", pool={"start": "10.90.2.9", "end": "10.90.2.5"}
    ),
    "a pool with the gateway in it": network("pool", "contains the gateway 10.90.2.20", gateway="10.90.2.20"),
    "an external network over the internal one": content(
        ".networks.external.network",
        "10.0.0.0/16 overlaps internal 10.0.1.0/24",
        networks={
            "external": {
                "network": "10.0.0.0/16",
                "gateway": "10.0.0.1",
                "pool": {"start": "10.0.2.1", "end": "10.0.2.9"},
            }
        },
    ),
    "two networks of one name": network("name", "'int-net' is the internal network's; write another", name="int-net"),
    "two flavors of one name": content(
        ".flavors", "several flavors have the name 'big'; write each once", flavors=[FLAVOR, {**FLAVOR, "id": 43}]
    ),
    "two flavors of one id": content(
        ".flavors", "several flavors have the id '42'; write each once", flavors=[FLAVOR, {**FLAVOR, "name": "other"}]
    ),
    "a flavor whose name ends in a space": content(
        ".flavors[0].name",
        "'big ' does not fit; write a name of up to 255 printable",
        flavors=[{**FLAVOR, "name": "big "}],
    ),
    "an extra spec that Nova refuses": content(
        ".flavors[0].extraSpecs.a/b",
        "'a/b' does not fit; write up to 255 letters",
        flavors=[{**FLAVOR, "extraSpecs": {"a/b": "c"}}],
    ),
    "a VLAN beyond the last": network("vlan", "4095 does not fit; write 4094 or less", vlan=4095),
    "a flavor without memory": content(
        ".flavors[0].ram", "0 does not fit; write a number above 0", flavors=[{**FLAVOR, "ram": 0}]
    ),
    "an image of one's own without its checksum": content(
        ".image.sha256", "is missing; write it with url", image={"url": "https://images.example/disk.img"}
    ),
    "a checksum without its image": content(".image.url", "is missing; write it with sha256", image={"sha256": SHA256}),
    "a checksum that is none": content(
        ".image.sha256",
        "'abc' does not fit; write 64 hexadecimal digits",
        image={"url": "https://images.example/disk.img", "sha256": "abc"},
    ),
    "an image from a file": content(
        ".image.url",
        "'file:///etc/passwd' does not fit; write an address that begins with http://",
        image={"url": "file:///etc/passwd", "sha256": SHA256},
    ),
    "a network's name in two lines": content(
        ".networks.internal.name",
        "'a\\nb' does not fit; write a name of up to",
        networks={"internal": {"name": "a\nb"}},
    ),
    "a zone without racks": zones(".az1", "an empty list does not fit; write at least 1 of them", 1, az1=[]),
    "a zone whose rack is not a label": zones(".az1[0]", "'row 1' is not a valid label of a node", 1, az1=["row 1"]),
    "a zone with a colon, which separates zone and host": zones(
        ".az:1", "'az:1' does not fit; write a name of up to", 1, **{"az:1": ["r1"]}
    ),
    "a zone of Nova's own": zones(".nova", "is a zone of Nova's own; write another name", 2, nova=["r1"]),
    "a rack in two zones": zones(
        "", "has the rack 'r2' several times; write each in one zone", 2, az1=["r[1-2]"], az2=["r2"]
    ),
    "an image with a password in its address": content(
        ".image.url",
        "holds a secret in clear text",
        image={"url": "https://me:hunter2@images.example/disk.img", "sha256": SHA256},
    ),
}
