"""Creates a vhost of RabbitMQ and its user, or sets the current password of an existing user.

Runs in a Job, with the standard library only. Argument: a JSON file with `user`, `vhost`, `members` and the
`removed` users, and a `policy` if the vhost's queues are limited. Environment: ADMIN_PASSWORD, of RabbitMQ's
administrator, and PASSWORD, of the user.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MANAGEMENT = 15672
TIMEOUT = 10


def main() -> None:
    """Creates the vhost, the user and the policy of the JSON file, and removes users that are no longer valid."""
    account: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    user, vhost = urllib.parse.quote(account["user"], safe=""), urllib.parse.quote(account["vhost"], safe="")
    member = first_that_answers(account["members"])
    send(member, f"vhosts/{vhost}", {"default_queue_type": "quorum"})
    send(member, f"users/{user}", {"password": os.environ["PASSWORD"], "tags": ""})
    send(member, f"permissions/{vhost}/{user}", {"configure": ".*", "write": ".*", "read": ".*"})
    if policy := account.get("policy"):
        send(member, f"policies/{vhost}/{policy['name']}", {key: policy[key] for key in policy if key != "name"})
    for name in account["removed"]:
        remove(member, f"users/{urllib.parse.quote(name, safe='')}")
    print(f"vhost {account['vhost']} belongs to user {account['user']}")


def first_that_answers(members: Sequence[str]) -> str:
    """Returns the first member that answers. Any member accepts changes for the whole cluster."""
    reasons: list[str] = []
    for member in members:
        try:
            send(member, "overview")
        except OSError as reason:
            reasons.append(f"{member}: {reason}")
        else:
            return member
    sys.exit("no member of RabbitMQ answers: " + "; ".join(reasons))


def send(member: str, path: str, document: dict[str, Any] | None = None) -> None:
    """Writes a document to a path of the management API, or reads the path without one.

    Raises OSError if the member does not answer or rejects the request.
    """
    body = None if document is None else json.dumps(document).encode()
    _request(member, path, "PUT" if body else "GET", body)


def remove(member: str, path: str) -> None:
    """Removes the object at a path of the management API, if it exists. Raises OSError if that fails."""
    try:
        _request(member, path, "DELETE")
    except urllib.error.HTTPError as refusal:
        if refusal.code != 404:
            raise


def _request(member: str, path: str, method: str, body: bytes | None = None) -> None:
    credentials = base64.b64encode(f"admin:{os.environ['ADMIN_PASSWORD']}".encode()).decode()
    headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
    url = f"http://{member}:{MANAGEMENT}/api/{path}"
    request = urllib.request.Request(url, body, headers, method=method)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        answer.read()


if __name__ == "__main__":
    main()
