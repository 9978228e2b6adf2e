"""Replacement of a machine that is dead for good: what is left of it is removed, and the new one is awaited."""
