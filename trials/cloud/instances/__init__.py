"""Instances of the lab's OpenStack: a small guest, and what tenants do with it."""
