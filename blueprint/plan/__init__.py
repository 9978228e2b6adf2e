"""Computes the plan of a stack, which the components build.

The plan contains the pool of each node, the nodes on which each service may run, the resources of each pod, and one
assignment of instances to nodes that satisfies all placement rules.
"""
