"""Ports of metrics that one part of the cloud serves and another reads."""

ETCD = 2381
"""etcd serves metrics and health there without certificates, and nothing else. The number is kubeadm's."""
