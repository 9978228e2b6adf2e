"""Connections to an API server with TLS: through proxies, by another name, and as another user."""

from __future__ import annotations

import http.server
import socket
import socketserver
import ssl
import struct
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cluster.api import Api, Unreachable
from cluster.kubeconfig import Access, ServerProxy, read_kubeconfig
from cluster.pod_exec import PodContainer, run_in_pod

NAME = "api.example.org"


@dataclass
class Served:
    """An API server that answers every request, and what it received."""

    port: int
    certificate: Path
    requests: list[tuple[str, Message]] = field(default_factory=list[tuple[str, Message]])


def certificate(folder: Path) -> Path:
    """Writes a certificate for the name and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    begin = datetime(2026, 1, 1)  # noqa: DTZ001 - the builder takes UTC without a zone
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(made.public_bytes(Encoding.PEM) + private)
    return file


@pytest.fixture
def served(tmp_path: Path) -> Generator[Served]:
    file = certificate(tmp_path)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found.requests.append((self.path, self.headers))
            body = b'{"items": [], "metadata": {"resourceVersion": "7"}}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Prints nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    # The handshake is left to the thread of each connection: a client that does not finish it must not stop the server.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    found = Served(server.server_address[1], file)
    with running(server):
        yield found


@contextmanager
def running(server: socketserver.BaseServer) -> Generator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def proxied(answer: Callable[[socket.socket], tuple[str, int] | None], to: int) -> Generator[int]:
    """Runs a proxy that connects to a port, whatever host was asked for, and yields its own port.

    `answer`: reads the client's wish and answers it; returns it, or None to connect to nothing.
    """

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if answer(self.request):
                with socket.create_connection(("127.0.0.1", to)) as onward:
                    back = threading.Thread(target=copy, args=(onward, self.request), daemon=True)
                    back.start()
                    copy(self.request, onward)
                    back.join(5)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Relay) as server:
        server.daemon_threads = True
        with running(server):
            yield server.server_address[1]


def copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while part := source.recv(65536):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # one side has ended the connection


def access_to(served: Served, cluster: Mapping[str, str] | None = None, user: dict[str, Any] | None = None) -> Access:
    """Reads a kubeconfig for the server, by its address and the other name if `cluster` has nothing else."""
    document = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        "clusters": [
            {
                "name": "one",
                "cluster": {
                    "server": f"https://127.0.0.1:{served.port}",
                    "certificate-authority": str(served.certificate),
                    "tls-server-name": NAME,
                    **(cluster or {}),
                },
            }
        ],
        "users": [{"name": "one", "user": {"token": "t", **(user or {})}}],
    }
    file = served.certificate.parent / "config"
    file.write_text(yaml.safe_dump(document))
    return read_kubeconfig(file)


def test_the_certificate_has_the_other_name(served: Served) -> None:
    assert Api(access_to(served)).items("/api/v1/nodes") == ([], "7")
    with pytest.raises(Unreachable, match="IP address mismatch"):
        Api(access_to(served, {"tls-server-name": ""})).items("/api/v1/nodes")
    with pytest.raises(Unreachable, match="Hostname mismatch"):
        Api(access_to(served, {"tls-server-name": "other.example.org"})).items("/api/v1/nodes")


def test_requests_watches_and_commands_are_those_of_the_other_user(served: Served) -> None:
    user = {
        "as": "viewer",
        "as-uid": "7",
        "as-groups": ["one", "two"],
        "as-user-extra": {"Example.org/Scope": ["a", "b"]},
    }
    access = access_to(served, user=user)
    Api(access).items("/api/v1/nodes")
    Api(access).watch("/api/v1/pods", "7").close()
    with pytest.raises(Exception, match="200"):
        run_in_pod(access, PodContainer("n", "p", "c"), ["true"], 5)
    assert [path.partition("?")[0].rpartition("/")[2] for path, _ in served.requests] == ["nodes", "pods", "exec"]
    for _, headers in served.requests:
        assert [(name, value) for name, value in headers.items() if name.startswith("Impersonate")] == [
            ("Impersonate-User", "viewer"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Group", "one"),
            ("Impersonate-Group", "two"),
            ("Impersonate-Extra-example.org%2Fscope", "a"),
            ("Impersonate-Extra-example.org%2Fscope", "b"),
        ]
        assert headers["Authorization"] == "Bearer t"


def test_through_an_http_proxy(served: Served) -> None:
    heads: list[bytes] = []

    def answer(client: socket.socket) -> tuple[str, int]:
        heads.append(client.recv(65536))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return NAME, 1

    with proxied(answer, served.port) as port:
        proxy = {"proxy-url": f"http://me:a%40b@127.0.0.1:{port}", "server": f"https://{NAME}:6443"}
        access = access_to(served, proxy)
        assert Api(access).items("/api/v1/nodes") == ([], "7")
    (head,) = heads
    assert head.startswith(f"CONNECT {NAME}:6443 HTTP/1.".encode())
    assert b"\r\nProxy-Authorization: Basic bWU6YUBi\r\n" in head
    assert b"Bearer" not in head
    ((_, headers),) = served.requests
    assert headers["Host"] == f"{NAME}:6443"
    assert headers["Proxy-Authorization"] is None


def test_an_http_proxy_that_refuses_is_named(served: Served) -> None:
    def answer(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    with proxied(answer, served.port) as port:
        access = access_to(served, {"proxy-url": f"http://127.0.0.1:{port}"})
        with pytest.raises(Unreachable) as caught:
            Api(access).items("/api/v1/nodes")
    assert "407 Proxy Authentication Required" in str(caught.value)
    assert str(caught.value).endswith(f"(127.0.0.1:{served.port} through http://127.0.0.1:{port})")


@pytest.mark.parametrize(
    ("host", "asked"),
    [
        (NAME, b"\x05\x01\x00\x03\x0fapi.example.org"),
        ("192.0.2.7", b"\x05\x01\x00\x01\xc0\x00\x02\x07"),
    ],
)
@pytest.mark.parametrize("bound", [b"\x01" + b"\0" * 4, b"\x04" + b"\0" * 16, b"\x03\x02ab"])
def test_through_a_socks_proxy(served: Served, host: str, asked: bytes, bound: bytes) -> None:
    wishes: list[bytes] = []

    def answer(client: socket.socket) -> tuple[str, int]:
        assert client.recv(65536) == b"\x05\x01\x00"
        client.sendall(b"\x05\x00")
        wishes.append(client.recv(65536))
        client.sendall(b"\x05\x00\x00" + bound[:3])
        client.sendall(bound[3:] + b"\0\0")
        return host, 1

    with proxied(answer, served.port) as port:
        access = access_to(served, {"proxy-url": f"socks5://127.0.0.1:{port}", "server": f"https://{host}:6443"})
        assert Api(access).items("/api/v1/nodes") == ([], "7")
    assert wishes == [asked + struct.pack(">H", 6443)]
    ((_, headers),) = served.requests
    assert headers["Host"] == f"{host}:6443"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([b"\x05\xff"], "the proxy is no SOCKS5 proxy without a login"),
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "the proxy is no SOCKS5 proxy without a login"),
        ([b""], "the SOCKS5 proxy ended the connection"),
        ([b"\x05\x00", b"\x05\x05\x00\x01" + b"\0" * 6], "the SOCKS5 proxy does not connect: connection refused"),
        ([b"\x05\x00", b"\x05\x09\x00\x01" + b"\0" * 6], "the SOCKS5 proxy does not connect: its code is 9"),
    ],
)
def test_a_socks_proxy_that_refuses_is_named(served: Served, answers: list[bytes], said: str) -> None:
    def answer(client: socket.socket) -> None:
        for each in answers:
            client.recv(65536)
            client.sendall(each)

    with proxied(answer, served.port) as port:
        access = access_to(served, {"proxy-url": f"socks5://127.0.0.1:{port}"})
        with pytest.raises(Unreachable) as caught:
            Api(access).items("/api/v1/nodes")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://proxy.example.org", ServerProxy("http", "proxy.example.org", 80)),
        ("http://proxy.example.org:3128/", ServerProxy("http", "proxy.example.org", 3128)),
        ("socks5://[::1]", ServerProxy("socks5", "::1", 1080)),
    ],
)
def test_addresses_of_proxies(served: Served, url: str, proxy: ServerProxy) -> None:
    assert access_to(served, {"proxy-url": url}).proxy == proxy
