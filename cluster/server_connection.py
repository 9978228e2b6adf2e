"""Connections to an API server: by its own name or another one in its certificate, also through a proxy.

A proxy is one of HTTP (the method CONNECT, RFC 9110) or of SOCKS5 (RFC 1928), such as `ssh -D 1080 host`. TLS goes
through both to the API server, so that a proxy sees neither credentials nor requests.
"""

from __future__ import annotations

import http.client
import socket
import struct
from ipaddress import AddressValueError, IPv4Address

from cluster.kubeconfig import Access, ServerProxy

_SOCKS5, _CONNECT, _NO_LOGIN = 5, 1, 0
_IPV4, _NAME, _IPV6 = 1, 3, 4
_REASONS = {
    2: "its rules do not allow it",
    3: "the network is unreachable",
    4: "the host is unreachable",
    5: "connection refused",
    6: "the connection took too long",
}


class ServerConnection(http.client.HTTPSConnection):
    """A connection to an API server. Its requests have the headers of the user as whom they are made."""

    def __init__(self, access: Access, timeout: float) -> None:
        proxy = access.proxy
        is_tunnel = proxy is not None and proxy.scheme == "http"
        host, port = (proxy.host, proxy.port) if proxy and is_tunnel else (access.host, access.port)
        super().__init__(host, port, timeout=timeout, context=access.tls)
        if proxy and is_tunnel:
            self.set_tunnel(access.host, access.port, headers=proxy.headers)
        self._access = access

    def connect(self) -> None:
        """Connects to the API server, through the proxy if there is one. Raises OSError if that fails."""
        access = self._access
        if access.proxy and access.proxy.scheme != "http":
            self.sock = _through_socks(access.proxy, access.host, access.port, self.timeout)
        else:
            http.client.HTTPConnection.connect(self)
        self.sock = access.tls.wrap_socket(self.sock, server_hostname=access.server_name or access.host)

    def endheaders(self, message_body: object = None, *, encode_chunked: bool = False) -> None:
        """Ends the headers of a request with those of the user. A header may repeat, as that of groups does."""
        for name, value in self._access.impersonation:
            self.putheader(name, value)
        super().endheaders(message_body, encode_chunked=encode_chunked)  # pyright: ignore[reportArgumentType]


def _through_socks(proxy: ServerProxy, host: str, port: int, timeout: float | None) -> socket.socket:
    """Returns a socket to a host that a SOCKS5 proxy has connected to. The proxy looks its name up."""
    connected = socket.create_connection((proxy.host, proxy.port), timeout)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as http.client does
    try:
        connected.sendall(bytes([_SOCKS5, 1, _NO_LOGIN]))
        version, method = _received(connected, 2)
        if version != _SOCKS5 or method != _NO_LOGIN:
            raise OSError("the proxy is no SOCKS5 proxy without a login")
        connected.sendall(bytes([_SOCKS5, _CONNECT, 0]) + _destination(host) + struct.pack(">H", port))
        _, answer, _, kind = _received(connected, 4)
        if answer:
            raise OSError(f"the SOCKS5 proxy does not connect: {_REASONS.get(answer, f'its code is {answer}')}")
        length = {_IPV4: 4, _IPV6: 16}.get(kind) or _received(connected, 1)[0]
        _received(connected, length + 2)  # the address and port that the proxy uses
    except BaseException:
        connected.close()
        raise
    return connected


def _destination(host: str) -> bytes:
    try:
        return bytes([_IPV4]) + IPv4Address(host).packed
    except AddressValueError:
        name = host.encode("idna")
        return bytes([_NAME, len(name)]) + name


def _received(connected: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        part = connected.recv(length - len(found))
        if not part:
            raise OSError("the SOCKS5 proxy ended the connection")
        found += part
    return found
