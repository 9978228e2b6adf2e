"""Checks the machines of a stack over SSH before they are changed. Reads only."""
