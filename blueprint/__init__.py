"""Reads a stack's settings and the reference architectures, and plans which service runs where. Does not use Pulumi."""
