"""Bad inputs: invalid kubeconfigs, and kubeconfigs with files or credentials that cannot be used."""

from __future__ import annotations

import os
from typing import Any

import yaml

from tests.blueprint.stackfile.bad_inputs.case import Bad

PREFIX = "kubeconfig is not a kubeconfig with a current context: "


def kubeconfig(said: str, user: dict[str, Any] | None = None, /, **cluster: Any) -> Bad:
    return Bad(document(user, cluster), f"{PREFIX}{said}", "kubeconfig")


def plugin(said: str, **asked: Any) -> Bad:
    return Bad(document({"exec": asked}, {}), f"kubeconfig: credential plugin {said}", "kubeconfig")


def document(user: dict[str, Any] | None, cluster: dict[str, Any]) -> str:
    found = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        "clusters": [{"name": "one", "cluster": {"server": "https://10.0.0.1:6443", **cluster}}],
        "users": [{"name": "one", "user": user or {}}],
    }
    return yaml.safe_dump(found)


def text(content: str, said: str) -> Bad:
    return Bad(content, said, "kubeconfig")


CASES = {
    "a directory": Bad(os.mkdir, "kubeconfig cannot be read: it is a directory", "kubeconfig"),
    "a named pipe": Bad(os.mkfifo, "kubeconfig cannot be read: it is a named pipe", "kubeconfig"),
    "bytes": Bad(b"\xff", "kubeconfig cannot be read: it is not UTF-8 text: line 1", "kubeconfig"),
    "nothing": text("", f"{PREFIX}it is not a mapping; name a file that kubectl can use"),
    "one word": text("hunter2", f"{PREFIX}it is not a mapping"),
    "no YAML": text("a: [", "kubeconfig is not valid YAML: line 2, column 1: did not find"),
    "no context": text("clusters: []\n", f"{PREFIX}current-context is missing; run 'kubectl config use-context NAME'"),
    "an unknown context": text(
        "current-context: x\n", f"{PREFIX}contexts has no entry named 'x'; add it, or name another"
    ),
    "contexts of text": text("{current-context: x, contexts: x}\n", f"{PREFIX}contexts has no entry named 'x'"),
    "contexts of words": text("{current-context: x, contexts: [x]}\n", f"{PREFIX}contexts has no entry named 'x'"),
    "a context of a list": text("{current-context: [x]}\n", f"{PREFIX}contexts has no entry named"),
    "an unknown cluster": text(
        "{current-context: x, contexts: [{name: x, context: {cluster: y}}]}\n",
        f"{PREFIX}clusters has no entry named 'y'",
    ),
    "a provider of credentials": kubeconfig(
        "auth-provider would be ignored; name a", {"auth-provider": {"name": "gcp"}}
    ),
    "a proxy of another kind": kubeconfig(
        "proxy-url is 'https://127.0.0.1:3128', which is not supported; write one such as http://",
        **{"proxy-url": "https://127.0.0.1:3128"},
    ),
    "a proxy with a path": kubeconfig("proxy-url is 'http://a/b', which", **{"proxy-url": "http://a/b"}),
    "a proxy without an address": kubeconfig("proxy-url is 'http://', which", **{"proxy-url": "http://"}),
    "a port of a proxy": kubeconfig("proxy-url is not a valid address", **{"proxy-url": "http://a:99999"}),
    "a name of a proxy": kubeconfig("proxy-url is not a valid address", **{"proxy-url": f"http://{'a' * 64}"}),
    "a login of a SOCKS proxy": kubeconfig("proxy-url has a login, which", **{"proxy-url": "socks5://u:hunter2@a"}),
    "a name in the certificate": kubeconfig("tls-server-name is 'a b'; write", **{"tls-server-name": "a b"}),
    "groups of nobody": kubeconfig("as-uid, as-groups and as-user-extra need as", {"as-groups": ["a"]}),
    "a user of two lines": kubeconfig("as or a key beside it has a character", {"as": "a\nb"}),
    "a group of two lines": kubeconfig(
        "as or a key beside it has a character", {"as": "a", "as-groups": ["a\r\nb: c"]}
    ),
    "a name of a server that is too long": kubeconfig("server is not a valid", server=f"https://{'a' * 64}"),
    "plain HTTP": kubeconfig("server is 'http://10.0.0.1'; only https:// is supported", server="http://10.0.0.1"),
    "no server": kubeconfig("server is ''; only https:// is supported", server=None),
    "a port of letters": kubeconfig("server is not a valid address; write one such as", server="https://10.0.0.1:x"),
    "a port beyond all": kubeconfig("server is not a valid address", server="https://10.0.0.1:99999"),
    "a bracket in the address": kubeconfig("server is not a valid address", server="https://[::1"),
    "a password in the address": kubeconfig(
        "server is a value that holds a secret;", server="http://u:hunter2@10.0.0.1"
    ),
    "an authority that is not base64": kubeconfig(
        "certificate-authority-data is not base64; copy it again", **{"certificate-authority-data": "%%%"}
    ),
    "an empty authority": kubeconfig("certificate-authority-data is not base64", **{"certificate-authority-data": ""}),
    "an authority that is not a certificate": kubeconfig(
        "certificate-authority is not a PEM certificate; copy it again",
        **{"certificate-authority-data": "aHVudGVyMg=="},
    ),
    "an authority that is not there": kubeconfig(
        "the file of certificate-authority cannot be read: no such file", **{"certificate-authority": "no.pem"}
    ),
    "a certificate that is none": kubeconfig(
        "client-certificate and client-key are not a PEM pair; copy both again",
        {"client-certificate-data": "aHVudGVyMg==", "client-key-data": "aHVudGVyMg=="},
    ),
    "a token of two lines": kubeconfig(
        "the token or username has a character that no HTTP header", {"token": "a\nhunter2"}
    ),
    "a token's file that waits": kubeconfig(
        "the file of tokenFile cannot be read: it is a device", {"tokenFile": "/dev/zero"}
    ),
    "a plugin that is not there": plugin("'./no' cannot be run: no such file or directory", command="./no"),
    "a plugin that fails": plugin("'false' ended with 1", command="false"),
    "a plugin that prints text": plugin("'echo' printed no ExecCredential in JSON", command="echo", args=["hunter2"]),
}
