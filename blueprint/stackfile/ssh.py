"""Checks the public SSH host keys in a stack file, by which Quorate recognizes machines over SSH."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence

from blueprint.problems import Problem
from blueprint.stackfile.settings import Settings

ALGORITHMS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
)
"""Types of host keys that Pulumi's command provider and a current sshd both accept."""

RSA = "ssh-rsa"
"""With such a host key, the command provider 1.2.1 asks for signatures with SHA-1, which sshd refuses since 8.8."""

HOST_KEY_ADVICE = "write the line of /etc/ssh/ssh_host_ed25519_key.pub"


def host_key_error(key: str) -> str:
    """Returns why a public SSH host key is invalid, and the text to write instead; "" if it is valid.

    The returned text does not contain the key. For a private key, returns "", because reader.py reports it.
    """
    if "PRIVATE KEY" in key:
        return ""
    algorithm, _, rest = key.strip().partition(" ")
    if algorithm == RSA:
        return f"is an RSA key, with which Pulumi's command provider cannot log in; {HOST_KEY_ADVICE}"
    if algorithm not in ALGORITHMS:
        return f"is not a valid public host key; {HOST_KEY_ADVICE}, which begins with one of: {', '.join(ALGORITHMS)}"
    try:
        blob = base64.b64decode(rest.split(" ")[0], validate=True)
    except binascii.Error:
        blob = b""
    # The encoded key repeats its algorithm, with its length in four bytes before it (RFC 4253, section 6.6).
    if not blob.startswith(len(algorithm).to_bytes(4, "big") + algorithm.encode()):
        return f"is not a complete {algorithm} key; {HOST_KEY_ADVICE}"
    return ""


def host_keys(written: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Returns the public host keys of a stack file's entry by machine. `names`: the machines of the entry.

    `written`: keys by name; the name "" means the only machine. Raises ValueError for "" if the entry has several
    machines, and for a name that is not in the entry.
    """
    if "" in written:
        if len(names) > 1:
            raise ValueError(
                f"is one key for the {len(names)} machines from {names[0]} to {names[-1]}; "
                f"write a mapping of name to key, such as {{{names[0]}: …}}"
            )
        return {names[0]: written[""]}
    known = set(names)
    for name in written:
        if name not in known:
            raise ValueError(f"names {name}, which is not in this entry; write names of this entry only")
    return dict(written)


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields a problem for each invalid SSH host key in the stack file."""
    jump_host = settings.ssh.jump_host
    if jump_host and (error := host_key_error(jump_host.host_key)):
        yield Problem("quorate:ssh.jumpHost.hostKey", error)
    for index, server in enumerate(settings.servers):
        written = [("hostKey", server.host_key)]
        written += [(f"vms[{number}].hostKey", vm.host_key) for number, vm in enumerate(server.vms)]
        for key, keys in written:
            for name, public_key in keys.items():
                if error := host_key_error(public_key):
                    path = f"{key}.{name}" if name else key
                    yield Problem(f"quorate:servers[{index}].{path} ({server.name})", error)
