"""Kubernetes objects that affect placement: workloads, nodes, selectors, volumes and scheduling rules."""
