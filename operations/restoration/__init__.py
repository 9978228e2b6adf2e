"""Restores etcd from a copy or from one member's data, by `quorate restore`."""
