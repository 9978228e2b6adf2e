#!/usr/bin/python3
"""Stands in for ProxySQL, which is in no registry of packages: HAProxy, configured from ProxySQL's own file.

Reads members, weights, the port and the monitor's account. One member takes all connections: the heaviest that is
Synced in a primary component, as with ProxySQL's max_writers=1. A second process asks the members, tells
HAProxy their addresses, which it cannot look up in the pod's search domains, and answers its agent checks. HAProxy does
not authenticate clients, pool connections or read SQL.
"""

from __future__ import annotations

import os
import re
import resource
import socket
import socketserver
import sys
import threading
import time
from pathlib import Path

import pymysql  # pyright: ignore[reportMissingModuleSource, reportMissingImports]

AGENTS = 7000
"""Port on the loopback address of the first member's agent."""
LIMIT = 2
"""Seconds until a member that does not answer counts as down."""
CONFIGURATION = """\
global
  maxconn {connections}
  stats socket {directory}/haproxy.sock mode 600 level admin
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen mysql
  bind {address}
{servers}
"""
SERVER = (
    "  server {name} 127.0.0.1:{port} agent-check agent-addr 127.0.0.1 agent-port {agent} agent-inter 1s "
    "on-marked-down shutdown-sessions{backup}"
)


def main() -> None:
    """Starts HAProxy in place of this process, and the agents in a child."""
    text = Path(value_of("-c", sys.argv)).read_text(encoding="utf-8")
    directory = value_of("-D", sys.argv)
    members = read_members(text)
    configuration = Path(directory) / "haproxy.cfg"
    configuration.write_text(rendered(text, members, directory), encoding="utf-8")
    if os.fork() == 0:
        serve(members, option(text, "monitor_username"), option(text, "monitor_password"), directory)
    os.execv("/usr/sbin/haproxy", ["haproxy", "-db", "-f", str(configuration)])  # noqa: S606


def value_of(flag: str, words: list[str]) -> str:
    """Returns the argument after a flag."""
    return words[words.index(flag) + 1]


def option(text: str, name: str) -> str:
    """Returns a quoted option of ProxySQL's file."""
    found = re.search(rf'\b{name}\s*=\s*"([^"]*)"', text)
    if found is None:
        raise SystemExit(f"proxysql.cnf has no {name}")
    return found[1]


def read_members(text: str) -> list[tuple[str, int]]:
    """Returns address and port of each member, the heaviest first."""
    pattern = r'address\s*=\s*"([^"]+)"\s*,\s*port\s*=\s*(\d+)[^}]*?weight\s*=\s*(\d+)'
    found = [(int(weight), host, int(port)) for host, port, weight in re.findall(pattern, text)]
    return [(host, port) for _, host, port in sorted(found, key=lambda each: -each[0])]


def rendered(text: str, members: list[tuple[str, int]], directory: str) -> str:
    """Returns HAProxy's configuration."""
    lines = [
        SERVER.format(name=f"member{number}", port=port, agent=AGENTS + number, backup=" backup" * (number > 0))
        for number, (_, port) in enumerate(members)
    ]
    limit = re.search(r"mysql_variables\s*=\s*\{[^}]*?max_connections\s*=\s*(\d+)", text)
    # HAProxy opens two files for a connection, and refuses to start if the system allows it fewer.
    allowed = (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 100) // 2
    return CONFIGURATION.format(
        connections=min(int(limit[1]) if limit else 2000, allowed),
        directory=directory,
        address=option(text, "interfaces"),
        servers="\n".join(lines),
    )


def is_synced(host: str, port: int, user: str, password: str) -> bool:
    """Whether a member is Synced in a primary component."""
    try:
        connection = pymysql.connect(
            host=host, port=port, user=user, password=password, connect_timeout=LIMIT, read_timeout=LIMIT
        )
        with connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_local_state', 'wsrep_cluster_status')")
            return dict(cursor.fetchall()) == {"wsrep_local_state": "4", "wsrep_cluster_status": "Primary"}
    except (pymysql.MySQLError, OSError):
        return False


def set_address(directory: str, number: int, address: str) -> None:
    """Tells HAProxy the address of a member. Raises OSError if HAProxy does not answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT)
        connection.connect(f"{directory}/haproxy.sock")
        connection.sendall(f"set server mysql/member{number} addr {address}\n".encode())
        while connection.recv(4096):
            pass


def serve(members: list[tuple[str, int]], user: str, password: str, directory: str) -> None:
    """Asks every member each second, and answers HAProxy with `up` or `down`. Ends with HAProxy, its parent."""
    parent = os.getppid()
    states = dict.fromkeys(members, False)

    def ask(number: int, member: tuple[str, int]) -> None:
        host, port = member
        known = ""
        while True:
            try:
                address = socket.gethostbyname(host)
                if address != known:
                    states[member] = False
                    set_address(directory, number, address)
                    known = address
                states[member] = is_synced(address, port, user, password)
            except OSError:
                states[member] = False
            time.sleep(1)

    for number, member in enumerate(members):

        class Answer(socketserver.BaseRequestHandler):
            asked = member

            def handle(self) -> None:
                self.request.sendall(b"up\n" if states[self.asked] else b"down\n")

        server = socketserver.ThreadingTCPServer(("127.0.0.1", AGENTS + number), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        threading.Thread(target=ask, args=(number, member), daemon=True).start()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


if __name__ == "__main__":
    main()
