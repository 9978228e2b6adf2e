"""Kubernetes as far as placement goes: selectors, nodes, what the scheduler would allow."""
