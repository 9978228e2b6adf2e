"""Runs real programs with the rendered configuration, makes them fail, and checks every acknowledged write."""
