"""Secrets in clear text: found wherever they are written, and never repeated. Most of them are hunter2."""

from __future__ import annotations

from tests.blueprint.stackfile.bad_inputs.case import Bad, one_more, stack, with_vm

SAID = "holds a secret in clear text; remove it from the file (and from its history), then write it with 'pulumi config"


def config(text: str) -> Bad:
    key = "quorate:services.mysqld.config.x.conf"
    return Bad(stack(services={"mysqld": {"config": {"x.conf": text}}}), f"{key}: {SAID}")


def other(key: str, value: str) -> Bad:
    text = stack().replace("config:", f"config:\n  {key}: {value}", 1)
    return Bad(text, f"{key}: {SAID} set --secret {key}'")


CASES = {
    "the root secret": Bad(stack(rootSecret="hunter2"), f"quorate:rootSecret: {SAID} set --secret quorate:rootSecret'"),
    "the root secret as a list": Bad(stack(rootSecret=["hunter2"]), f"quorate:rootSecret: {SAID}"),
    "an unknown key": Bad(stack(dbPassword="hunter2"), f"quorate:dbPassword: {SAID}"),
    "a number": Bad(stack(dbPassword=20212223), f"quorate:dbPassword: {SAID}"),
    "a section": config("[db]\nadmin_password = hunter2\n"),
    "JSON": config('{"db": {"user": "nova", "password": "hunter2"}}'),
    "JSON without spaces": config('{"a":1,"api_key":"hunter2"}'),
    "an address": config("connection = mysql://nova:hunter2@db/nova"),
    "an address without a user": config("cache = redis://:hunter2@cache:6379"),
    "a private key": config("-----BEGIN RSA PRIVATE KEY-----\nhunter2\n"),
    "an option": config("run --bootstrap-password hunter2"),
    "a value of a virtual machine": Bad(
        with_vm(values={"rootPassword": "hunter2"}), f"quorate:servers[4].vms[0].values.rootPassword: {SAID}"
    ),
    "JSON in a value": Bad(
        with_vm(values={"userData": '{"token": "hunter2"}'}), f"quorate:servers[4].vms[0].values.userData: {SAID}"
    ),
    "an address in a value": Bad(
        with_vm(values={"proxy": "http://u:hunter2@proxy"}), f"quorate:servers[4].vms[0].values.proxy: {SAID}"
    ),
    "in a free key of a virtual machine": Bad(
        with_vm(vnc_password=123456), f"quorate:servers[4].vms[0].vnc_password: {SAID}"
    ),
    "a number in a value": Bad(
        with_vm(values={"vnc_password": 123456}), f"quorate:servers[4].vms[0].values.vnc_password: {SAID}"
    ),
    "a registry's address": Bad(
        stack(images={"registry": "https://u:hunter2@quay.io"}), f"quorate:images.registry: {SAID}"
    ),
    "a registry with a password": Bad(
        stack(images={"registry": "u:hunter2@quay.io"}),
        "quorate:images.registry: a value that holds a secret is not a valid registry; write a host",
    ),
    "a registry's password": Bad(
        stack(images={"accounts": {"quay.io": {"user": "u", "password": "hunter2"}}}),
        "quorate:images.accounts.quay.io.password: holds a secret in clear text; remove it from the file (and from its "
        "history), and write {environment: NAME}, {file: path}",
    ),
    "a registry's password at a place that is none": Bad(
        stack(images={"accounts": {"quay.io": {"user": "u", "password": {"vault": "a/b"}}}}),
        "quorate:images.accounts.quay.io.password: is not the place of a secret; write {environment: NAME}",
    ),
    "a registry's user with a password": Bad(
        stack(images={"accounts": {"quay.io": {"user": "u:hunter2", "password": {"environment": "A"}}}}),
        "quorate:images.accounts.quay.io.user: is not the name of a user; write up to 255 characters",
    ),
    "an image with a password": Bad(
        stack(services={"mysqld": {"image": "u:hunter2@quay.io/x:1"}}),
        "quorate:services.mysqld.image: a value that holds a secret is not a valid image reference",
    ),
    "a private host key": Bad(
        one_more(hostKey="-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2"), f"quorate:servers[4].hostKey: {SAID}"
    ),
    "where a number belongs": Bad(one_more(cpu="password=hunter2"), f"quorate:servers[4].cpu: {SAID}"),
    "where an address belongs": Bad(
        one_more(address="ssh://root:hunter2@10.20.9.9"), f"quorate:servers[4].address: {SAID}"
    ),
    "another namespace": other("aws:secretKey", "hunter2"),
    "a token of another namespace": other("kubernetes:token", "hunter2"),
    "an address of another namespace": other("other:url", "redis://:hunter2@cache"),
    "an access key of another namespace": other("aws:accessId", "AKIAABCDEFGHIJKLMNOP"),
    "encrypted where nothing is secret": Bad(
        stack(profile={"secure": "v1:hunter2"}),
        "quorate:profile: is encrypted, but is not a secret; write it in clear text",
    ),
}
