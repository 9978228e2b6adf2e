"""Bad inputs: numbers larger than those of real servers, and values of a wrong type."""

from __future__ import annotations

from typing import Any

from tests.blueprint.stackfile.bad_inputs.case import Bad, one_more, stack, with_vm


def server(said: str, **facts: Any) -> Bad:
    (key,) = facts
    return Bad(one_more(**facts), f"quorate:servers[4].{key} (x1): {said}")


def vm(said: str, **facts: Any) -> Bad:
    (key,) = facts
    return Bad(with_vm(**facts), f"quorate:servers[4].vms[0].{key} (v1): {said}")


CASES = {
    "10^30 cores": server(f"1{'0' * 30} does not fit; write 4096 or less", cpu=10**30),
    "10^18 GiB": server(f"1{'0' * 18} does not fit; write 65536 or less", memory=10**18),
    "no cores": server("0 does not fit; write a number above 0", cpu=0),
    "cores below nothing": server("-1 does not fit; write a number above 0", cpu=-1),
    "half a core": server("1.5 does not fit; write a whole number", cpu=1.5),
    "cores as text": server("'24' does not fit; write a whole number without quotes", cpu="24"),
    "cores of true": server("true does not fit; write a whole number without quotes", cpu=True),
    "memory with its unit": server("'256Gi' does not fit; write a whole number without quotes", memory="256Gi"),
    "no memory": server("nothing does not fit; write a whole number", memory=None),
    "a first number beyond all": server(f"1{'0' * 12} does not fit; write 999999999 or less", countFrom=10**12),
    "a first number below nothing": server("-1 does not fit; write 0 or more", countFrom=-1),
    "disks beyond all": Bad(
        one_more(disks=[{"size": 10**9}]),
        "quorate:servers[4].disks[0].size (x1): 1000000000 does not fit; write 1000000",
    ),
    "a million disks": Bad(
        one_more(disks=[{"size": 1, "count": 10**6}]), "quorate:servers[4].disks[0].count (x1): 1000000 does not fit"
    ),
    "10^30 virtual CPUs": vm(f"1{'0' * 30} does not fit; write 4096 or less", cpu=10**30),
    "10^18 GiB of a virtual machine": vm(f"1{'0' * 18} does not fit; write 65536 or less", ram=10**18),
    "a disk beyond all": vm("10000000 does not fit; write 1000000 or less", disk=10**7),
    "a number of a machine below nothing": vm("-1 does not fit; write 0 or more", id=-1),
    "a million instances": Bad(
        stack(services={"mysqld": {"replicas": 10**6}}),
        "quorate:services.mysqld.replicas: 1000000 does not fit; write 10000 or less",
    ),
    "no instances": Bad(
        stack(services={"mysqld": {"replicas": 0}}),
        "quorate:services.mysqld.replicas: 0 does not fit; write a number above",
    ),
    "a port of nothing": Bad(stack(ssh={"port": 0}), "quorate:ssh.port: 0 does not fit; write a number above 0"),
    "a release of Arabic digits": Bad(
        stack(release="20\u0662\u0666.1"),
        "quorate:release: '20\u0662\u0666.1' does not fit; write an OpenStack release",
    ),
    "a profile of a number": Bad(stack(profile=1), "quorate:profile: 1 is not known; write one of: lab, production"),
    "a profile of a list": Bad(stack(profile=["lab"]), "quorate:profile: a list is not known"),
    "servers of text": Bad(
        stack(servers="x"), "quorate:servers: x cannot be read: no such file or directory; write a list of servers"
    ),
    "servers of a number": Bad(stack(servers=1), "quorate:servers: 1 does not fit; write a list"),
    "no servers": Bad(stack(servers=[]), "quorate:servers: an empty list does not fit; write at least 1 of them"),
    "a server of text": Bad(stack(servers=["x"]), "quorate:servers[0]: 'x' does not fit; write a mapping"),
    "roles of text": server("'compute' does not fit; write a list", roles="compute"),
    "networks of a list": Bad(stack(networks=[]), "quorate:networks: an empty list does not fit; write a mapping"),
    "more machines than a stack carries": Bad(
        stack(
            servers=[
                {"name": f"x{n}-[1-9000]", "address": f"10.{n}.0.1", "roles": ["compute"], "cpu": 1, "memory": 1}
                for n in range(3)
            ]
        ),
        "quorate:servers: stand for more than 20000 machines; divide them over several stacks",
    ),
}
