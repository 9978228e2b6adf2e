"""Ports of metrics that the master tier serves and Prometheus reads."""

ETCD = 2381
"""Port at which etcd serves only metrics and health, without TLS. The number is kubeadm's."""
