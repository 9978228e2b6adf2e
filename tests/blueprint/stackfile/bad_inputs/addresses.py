"""Bad inputs: addresses that no machine can have, and networks that do not contain the machines."""

from __future__ import annotations

from tests.blueprint.stackfile.bad_inputs.case import Bad, one_more, stack


def machine(address: str, said: str) -> Bad:
    return Bad(one_more(address=address), f"quorate:servers: x1 has {address}, {said}")


def text(address: object, said: str) -> Bad:
    return Bad(
        one_more(address=address), f"quorate:servers[4].address (x1): {said} does not fit; write an IPv4 address"
    )


def network(name: str, value: str, said: str) -> Bad:
    return Bad(stack(networks={name: value}), f"quorate:networks.{name}: {said}")


CASES = {
    "no host": machine("0.0.0.0", "which stands for no host; write an address of a host"),  # noqa: S104 - refused
    "this network": machine("0.1.2.3", "which stands for no host"),
    "loopback": machine("127.0.0.1", "which is a loopback address"),
    "link-local": machine("169.254.169.254", "which is a link-local address"),
    "multicast": machine("224.0.0.1", "which is a multicast address"),
    "broadcast": machine("255.255.255.255", "which is a reserved or broadcast address"),
    "reserved": machine("240.0.0.1", "which is a reserved or broadcast address"),
    "inside of the pods": machine("172.16.0.9", "inside of the pods network 172.16.0.0/13; write another"),
    "inside of the services": machine("172.24.0.9", "inside of the services network 172.24.0.0/16"),
    "the last of management": Bad(
        one_more(address="10.20.255.255").replace("config:", "config:\n  quorate:networks: {management: 10.20.0.0/16}"),
        "quorate:servers: x1 has 10.20.255.255, the first or last address of management 10.20.0.0/16",
    ),
    "all outside of management": Bad(
        stack(networks={"management": "10.30.0.0/16"}),
        "quorate:servers: master1 has 10.20.0.11, outside of management 10.30.0.0/16; write one inside (14 more machin",
    ),
    "a pattern beyond the last address": Bad(
        one_more(name="x[1-9]", address="255.255.255.250"),
        "quorate:servers[4] (x[1-9]).address: 255.255.255.250 and 6 further on is beyond the last IPv4 address",
    ),
    "IPv6": text("fd00::1", "'fd00::1'"),
    "a name": text("x1.example.org", "'x1.example.org'"),
    "octets with zeros": text("10.020.9.9", "'10.020.9.9'"),
    "a number": text(169090600, "169090600"),
    "with its prefix": text("10.20.9.9/16", "'10.20.9.9/16'"),
    "pods too small": network("pods", "172.16.0.0/22", "172.16.0.0/22 has 1024 addresses, and 15 machines need 3840"),
    "services too small": network(
        "services", "172.24.0.0/28", "172.24.0.0/28 is too large or too small; write a prefix"
    ),
    "services too large": network("services", "11.0.0.0/8", "11.0.0.0/8 is too large or too small"),
    "pods of multicast": network("pods", "224.0.0.0/8", "224.0.0.0/8 is a multicast address; write a private network"),
    "pods of everything": network("pods", "0.0.0.0/0", "0.0.0.0/0 stands for no host; write a private network"),
    "services of loopback": network("services", "127.0.0.0/16", "127.0.0.0/16 is a loopback address"),
    "a network with a host": network("pods", "172.16.0.1/13", "'172.16.0.1/13' does not fit; write an IPv4 network"),
    "a network of nothing": network("pods", "", "'' does not fit; write an IPv4 network"),
    "services inside of pods": network("services", "172.16.0.0/16", "172.16.0.0/16 overlaps pods 172.16.0.0/13"),
}
