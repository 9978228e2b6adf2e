"""Bad inputs: virtual machines that Quorate cannot make."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tests.blueprint.stackfile.bad_inputs.case import Bad, stack, with_vm
from tests.stacks import full_size, server

IMAGE = b"QFI\xfb and more"
ARCHIVE = b"\x1f\x8b of gzip"
DIGEST = hashlib.sha256(IMAGE).hexdigest()
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
GUEST = {"id": 0, "cpu": 4, "ram": 8, "address": "10.20.3.20", "roles": ["compute"]}
VIRT = {"image": {"source": "image.qcow2", "sha256": DIGEST}, "authorizedKeys": [HOST_KEY]}


def made(
    said: str,
    content: bytes = IMAGE,
    host: dict[str, Any] | None = None,
    vm: dict[str, Any] | None = None,
    virt: dict[str, Any] | None = None,
    **more: Any,
) -> Bad:
    """A live stack with a virtual machine on a fifth server, changed by these values."""
    guest = {**GUEST, **(vm or {})}
    extra = {**server("v1", ["virt"], "10.20.3.9", vms=[guest], hostKey=HOST_KEY), **(host or {})}
    servers: list[dict[str, Any]] = [{**each, "hostKey": keys(each["name"])} for each in full_size("100")["servers"]]
    changes = {
        "target": "live",
        "features": ["reduced-footprint"],
        "networks": {"management": "10.20.0.0/16"},
        "virt": {**VIRT, **(virt or {})},
        "servers": [*servers, extra],
        **more,
    }
    return Bad(stack(**changes), said, files={"image.qcow2": content, "root.tar": ARCHIVE})


def keys(pattern: str) -> Any:
    """A host key for each machine of a pattern such as ctl[01-06]."""
    name, bracket, numbers = pattern.partition("[")
    if not bracket:
        return HOST_KEY
    first, _, last = numbers.rstrip("]").partition("-")
    return {f"{name}{number:0{len(first)}}": HOST_KEY for number in range(int(first), int(last) + 1)}


def one(key: str, said: str, **facts: Any) -> Bad:
    """A stack whose virtual machine has a wrong value."""
    return Bad(with_vm(**facts), f"quorate:servers[4].vms[0].{key} (v1): {said}")


def free(key: str, said: str, value: object = 1) -> Bad:
    """A stack whose virtual machine has a key of its own."""
    return Bad(with_vm(**{key: value}), f"quorate:servers[4] (v1).vms[0].{key}: {said}")


def with_host(hypervisor: str, **facts: Any) -> dict[str, Any]:
    """A virt host with a virtual machine that has these keys."""
    guest = {**GUEST, **facts}
    return server("v1", ["virt"], "10.20.3.9", vms=[guest], hypervisor=hypervisor)


def on_lxc(key: str, value: object) -> Bad:
    """A virtual machine under lxc with a key that only kvm and qemu know."""
    host = with_host("lxc", **{key: value})
    return Bad(
        stack(features=["reduced-footprint"], servers=[*full_size("100")["servers"], host]),
        f"quorate:servers[4] (v1).vms[0].{key}: has no effect with hypervisor lxc; remove it, or write hypervisor: kvm "
        "or qemu",
    )


def with_list(path: str) -> str:
    """A stack file with a virt host whose virtual machines are in a file."""
    host = server("v1", ["virt"], "10.20.3.9", vms=path)
    return stack(servers=[*full_size("100")["servers"], host], features=["reduced-footprint"])


def listed(path: str, said: str, content: str | None = None) -> Bad:
    """A file with a list of virtual machines that cannot be used."""
    files = {} if content is None else {path: content}
    return Bad(with_list(path), f"quorate:servers[4].vms: {said}", files=files)


CASES = {
    "another image": made(
        f"quorate:virt.image.sha256: image.qcow2 has the digest {hashlib.sha256(b'QFI' + bytes([0xFB])).hexdigest()}; "
        "download it again",
        content=b"QFI\xfb",
    ),
    "an image of another format": made(
        "quorate:virt.image.source: image.qcow2 is not an image in the format qcow2", content=b"raw"
    ),
    "no image": made(
        "quorate:virt.image.source: none.qcow2 cannot be read: no such file or directory; write the path",
        virt={"image": {"source": "none.qcow2", "sha256": DIGEST}},
    ),
    "a private key": made(
        "quorate:virt.authorizedKeys[0]: is not a public SSH key; write a line of `ssh-add -L`",
        virt={"authorizedKeys": ["AAAA without a type"]},
    ),
    "no management network": made("quorate:networks.management: is missing; virtual machines", networks={}),
    "a gateway elsewhere": made(
        "quorate:virt.gateway: 10.99.0.1 is not in 10.20.0.0/16", virt={"gateway": "10.99.0.1"}
    ),
    "a host key of a machine that is made": made(
        "quorate:servers[4] (v1).vms[0].hostKey: Quorate makes this machine", vm={"hostKey": HOST_KEY}
    ),
    "an image that no machine starts from": made(
        "quorate:virt.image: no machine starts from it; add vms to a server with hypervisor kvm or qemu, or remove it",
        host={"hypervisor": "container"},
        vm={"hostKey": HOST_KEY},
    ),
    "a root file system that no machine starts from": made(
        "quorate:virt.rootFilesystem: no machine starts from it; add vms to a server with hypervisor lxc or container",
        virt={"rootFilesystem": {"source": "root.tar", "sha256": hashlib.sha256(ARCHIVE).hexdigest()}},
    ),
    "a root file system of another format": made(
        "quorate:virt.rootFilesystem.source: image.qcow2 is not a tar archive; write the path of an archive",
        host={"hypervisor": "lxc"},
        virt={"image": None, "rootFilesystem": {"source": "image.qcow2", "sha256": DIGEST}},
    ),
    "another root file system": made(
        "quorate:virt.rootFilesystem.sha256: root.tar has the digest",
        host={"hypervisor": "container"},
        virt={"image": None, "rootFilesystem": {"source": "root.tar", "sha256": DIGEST}},
    ),
    "nothing that machines start from": made(
        "quorate:virt: has nothing that machines start from; write image for hypervisor kvm and qemu, or ",
        virt={"image": None},
        vm={"hostKey": HOST_KEY},
    ),
    "a host key of a container that is made": made(
        "quorate:servers[4] (v1).vms[0].hostKey: Quorate makes this machine",
        host={"hypervisor": "container"},
        vm={"hostKey": HOST_KEY},
        virt={
            "image": None,
            "rootFilesystem": {"source": "root.tar", "sha256": hashlib.sha256(ARCHIVE).hexdigest()},
        },
    ),
    "emulation in production": made(
        "quorate:servers[4] (v1).hypervisor: qemu emulates every instruction", host={"hypervisor": "qemu"}
    ),
    "no room for the kernels": made(
        "quorate:servers[4] (v1).vms: take 252 GiB and their kernels 4.1 more, of the server's 256",
        vm={"ram": 252},
    ),
    "a range of CPUs that ends before it begins": made(
        "quorate:servers[4] (v1).vms[0].numa.cpus: 15-8 ends before it begins; write the smaller number first, such as "
        "8-15",
        vm={"numa": {"node": 0, "cpus": "0,15-8"}},
    ),
    "no numbers of CPUs": one(
        "numa.cpus",
        "'all' does not fit; write numbers and ranges of CPUs such as 0-15",
        numa={"node": 0, "cpus": "all"},
    ),
    "a NUMA node without CPUs": one("numa.cpus", "is missing; write it (CPUs of this NUMA node", numa={"node": 0}),
    "a size of huge pages": one("hugePages", "'1G' does not fit; write true or false", hugePages="1G"),
    "too many bridges": one(
        "bridges", "a list does not fit; write at most 16 of them", bridges=[f"br-{number}" for number in range(17)]
    ),
    "a bridge that Linux cannot name": one(
        "bridges[0]", "'-br' does not fit; write a name of up to 15 letters", bridges=["-br"]
    ),
    "a bridge twice": made(
        "quorate:servers[4] (v1).vms[0].bridges: 'br-ex' is listed twice; write it once",
        vm={"bridges": ["br-ex", "br-ex"]},
    ),
    "huge pages under lxc": on_lxc("hugePages", True),
    "pinning under lxc": on_lxc("numa", {"node": 0, "cpus": "0"}),
    "further bridges under lxc": on_lxc("bridges", ["br-ex"]),
    "a domain template for a container": Bad(
        stack(
            features=["reduced-footprint"],
            servers=[*full_size("100")["servers"], with_host("container", template="none.xml")],
        ),
        "quorate:servers[4] (v1).vms[0].template: has no effect with hypervisor container; remove it",
    ),
    "a template of one machine that is missing": made(
        "quorate:servers[4] (v1).vms[0].template: none.xml cannot be read: no such file or directory; write the path",
        vm={"template": "none.xml"},
    ),
    "a definition of a machine that exists": Bad(
        stack(
            features=["reduced-footprint"],
            machines="existing",
            servers=[*full_size("100")["servers"], with_host("kvm", hugePages=True)],
        ),
        "quorate:servers[4] (v1).vms[0].hugePages: defines a machine that Quorate makes; with machines: existing, "
        "remove it",
    ),
    "a misspelt key": free("rolse", "unknown key (did you mean 'roles'?); write roles; a value of your template"),
    "a key in another case": free("hugepages", "unknown key (did you mean 'hugePages'?)", True),
    "a key that is derived": free("memory", "Quorate derives this value; remove it"),
    "a key that no placeholder has": free(
        "new-value", "is not a valid name of a placeholder; write letters, digits and '_'"
    ),
    "a value twice": Bad(
        with_vm(note="a", values={"note": "b"}),
        "quorate:servers[4] (v1).vms[0].note: is under values too; write it once",
    ),
    "a list as a value": one("disks", "is not a plain value; write text, a finite number, true or false", disks=[1]),
    "a misspelt key that is required": Bad(
        with_vm(adress="10.20.9.20").replace("      address: 10.20.9.20\n", ""),
        "quorate:servers[4].vms[0].address (v1): is missing, and 'adress' is not a known key; write it",
    ),
    "a list of machines elsewhere": listed(
        "../vms.json", "'../vms.json' leads out of the project; write a path inside"
    ),
    "a list of machines that is missing": listed(
        "vms.json",
        "vms.json cannot be read: no such file or directory; write a list of virtual machines such as [{id: 0",
    ),
    "a list of machines that is none": listed("vms.json", "vms.json is not a list; write a list of", "{}"),
    "a list of machines with a key twice": listed(
        "vms.json", "vms.json line 1: the key '[0].id' is there twice; keep one", '[{"id": 0, "id": 1}]'
    ),
    "a list of machines that is not JSON": listed("vms.json", "vms.json is not valid YAML: ", "[{"),
    "a wrong machine in a file": Bad(
        with_list("vms.json"),
        "quorate:servers[4].vms[0].cpu (v1): 'two' does not fit; write a whole number without quotes",
        files={"vms.json": json.dumps([{**GUEST, "cpu": "two"}])},
    ),
    "a secret in a file": Bad(
        with_list("vms.json"),
        "quorate:servers[4].vms[0].vncPassword: holds a secret in clear text; remove it",
        files={"vms.json": json.dumps([{**GUEST, "vncPassword": "hunter2"}])},
    ),
}
