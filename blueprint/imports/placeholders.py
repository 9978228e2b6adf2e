"""Values of servers in a stack file that its source does not have: the operator writes their own."""

from __future__ import annotations

from ipaddress import IPv4Address

FIRST_ADDRESS = IPv4Address("198.18.0.1")
"""Address of the first placeholder, in the network for benchmarks (RFC 2544), which no site routes."""
MASTERS = ("master1", "master2", "master3")
HARDWARE = {"cpu": 24, "memory": 256}
"""Cores and GiB of the reference hardware (004, 5.3.3)."""
