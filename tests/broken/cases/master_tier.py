"""Masters and etcd on machines."""

from tests.broken.broken import Broken, on_server

CASES = [
    Broken(
        "two masters on one server",
        (("Machine", "cloud-masters-master2", on_server("master1")),),
        {"masters-apart": {"cloud-masters", "cloud-masters-etcd"}, "quorum-survives-host": {"cloud-masters-etcd"}},
    ),
]
