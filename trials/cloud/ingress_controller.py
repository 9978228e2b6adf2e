"""The lab's ingress controller: an nginx in the switch's namespace, through which clients reach the services with TLS.

A cluster of an operator has a controller of its own. The lab's is outside of all machines, as a load balancer in front
of a cluster is. It reads the Ingress objects and their Secrets once, and serves them on the switch's address.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cluster.objects import Object, listed, name, number, text, words
from console.errors import UserError
from files import atomic
from trials.cloud import masters, network
from trials.cloud.lab_machines import DIRECTORY, Lab

DOMAIN = "cloud.test"
"""Domain of the lab's services. No DNS resolves names below `test` (RFC 6761, 6.2)."""
CLASS = "quorate-lab"
CERTIFICATE = "openstack-tls"
"""The Secret that the stack file's default names."""
VALID = timedelta(days=365)
"""Validity of the lab's certificate."""
_PLACE = DIRECTORY / "ingress"
_PROGRAM = "nginx"
_SCRIPT = (
    'mount -t tmpfs -o mode=0755 tmpfs "$1/run" && cp -a "$2/." "$1/run/" && mount --rbind /dev "$1/dev" && '
    'exec chroot "$1" /usr/sbin/nginx -c /run/nginx.conf'
)
"""Runs nginx of a Debian root, which stays as it is. It ends when nginx has bound its address, or with an error.
Arguments: the root, the directory with the configuration."""
_GLOBAL = """\
pid /run/nginx.pid;
error_log /run/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_max_body_size 0;
  client_body_temp_path /run/body;
  proxy_temp_path /run/proxy;
  fastcgi_temp_path /run/fastcgi;
  uwsgi_temp_path /run/uwsgi;
  scgi_temp_path /run/scgi;
  proxy_request_buffering off;
  proxy_http_version 1.1;
  proxy_connect_timeout 3s;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  proxy_set_header Host $http_host;
  proxy_set_header X-Forwarded-Proto https;
  proxy_set_header Upgrade $http_upgrade;
  proxy_set_header Connection $connection_upgrade;
"""
"""nginx's settings, but for the servers. Uploads are passed on as they come, and consoles are WebSockets."""


@dataclass(frozen=True)
class Route:
    """A host name of an Ingress, the Service behind it as `address:port`, and the Secret with the certificate."""

    host: str
    backend: str
    certificate: str


def provide_certificate(lab: Lab, namespace: str, path: Path) -> None:
    """Creates the Secret with a certificate for the domain, as an operator does, and writes the certificate to `path`.

    Keeps both if they exist.
    """
    if (
        path.is_file()
        and masters.kubectl(lab, "get", "secret", CERTIFICATE, f"--namespace={namespace}").returncode == 0
    ):
        return
    certificate, key = self_signed()
    data = {"tls.crt": certificate, "tls.key": key}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": CERTIFICATE, "namespace": namespace},
        "data": {file: base64.b64encode(content.encode()).decode() for file, content in data.items()},
    }
    done = masters.kubectl(lab, "apply", "--server-side", "--force-conflicts", "--filename=-", stdin=json.dumps(secret))
    if done.returncode:
        raise UserError(f"Secret {CERTIFICATE} could not be created: {done.stderr.strip()[-300:]}")
    atomic.write(path, certificate)


def serve(lab: Lab, namespace: str, root: Path) -> dict[str, str]:
    """Starts nginx for the Ingress objects of a namespace, in place of one that runs.

    `root`: a Debian root with nginx. Returns the URL of each Service that has a host. Raises UserError if nginx fails.
    """
    services = {name(each): each for each in masters.objects(lab, "services", namespace)}
    routes: dict[str, Route] = {}
    for each in masters.objects(lab, "ingresses", namespace):
        if text(each, "spec", "ingressClassName") == CLASS:
            routes |= routes_of(each, services)
    if not routes:
        raise UserError(f"Namespace {namespace} has no Ingress of class {CLASS}.")
    stop()
    _write(lab, namespace, list(routes.values()))
    network.set_hosts(str(lab.gateway), [route.host for route in routes.values()])
    script = ["unshare", "--mount", "--propagation=private", "sh", "-c", _SCRIPT, "sh", str(root), str(_PLACE)]
    log = _PLACE / "start.log"
    with log.open("wb") as output:  # not a pipe, which the running nginx would keep open
        done = subprocess.run(network.in_switch(script), stdout=output, stderr=output, check=False)
    if done.returncode:
        raise UserError(f"The lab's nginx did not start: {log.read_text(errors='replace').strip()[-500:]}")
    return {service: f"https://{route.host}/" for service, route in routes.items()}


def stop() -> None:
    """Ends nginx, if it runs, and removes its files."""
    network.end_programs(_PROGRAM)
    shutil.rmtree(_PLACE, ignore_errors=True)


def routes_of(ingress: Object, services: Mapping[str, Object]) -> dict[str, Route]:
    """Returns the routes of an Ingress by Service. `services`: the Services of its namespace by name."""
    secrets = {
        host: text(each, "secretName") for each in listed(ingress, "spec", "tls") for host in words(each, "hosts")
    }
    found: dict[str, Route] = {}
    for rule in listed(ingress, "spec", "rules"):
        host = text(rule, "host")
        for path in listed(rule, "http", "paths"):
            service = text(path, "backend", "service", "name")
            address = text(services[service], "spec", "clusterIP")
            port = number(path, "backend", "service", "port", "number")
            found[service] = Route(host, f"{address}:{port}", secrets[host])
    return found


def configuration(address: str, routes: Sequence[Route]) -> str:
    """Returns nginx.conf. `address`: where nginx listens. Certificates are files of their Secrets' names."""
    servers = "".join(
        f"  server {{ listen {address}:443 ssl; server_name {route.host};"
        f" ssl_certificate /run/{route.certificate}.crt; ssl_certificate_key /run/{route.certificate}.key;"
        f" location / {{ proxy_pass http://{route.backend}; }} }}\n"
        for route in routes
    )
    return f"{_GLOBAL}{servers}}}\n"


def _write(lab: Lab, namespace: str, routes: Sequence[Route]) -> None:
    _PLACE.mkdir(mode=0o700)
    atomic.write_private(_PLACE / "nginx.conf", configuration(str(lab.gateway), routes))
    for secret in {route.certificate for route in routes}:
        for kind, content in masters.secret(lab, secret, namespace).items():
            atomic.write_private(_PLACE / f"{secret}.{kind.removeprefix('tls.')}", content)


def self_signed() -> tuple[str, str]:
    """Returns a certificate for all names of the domain, and its private key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, DOMAIN)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(f"*.{DOMAIN}")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), private.decode()
