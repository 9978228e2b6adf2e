"""Computes the plan of a stack: the pool of each machine, and the nodes on which each service may run."""
