"""Restores etcd or a Galera by `quorate restore`, and tests copies that were fetched from an object store."""
